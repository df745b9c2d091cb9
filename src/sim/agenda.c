/*
 * agenda.c - the heap of coming changes; see agenda.h.
 */
#include "sim/agenda.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

int sim_agenda_init(struct sim_agenda *a, size_t n_gpus)
{
	*a = (struct sim_agenda){ .n = 0 };
	a->heap = calloc(n_gpus ? n_gpus : 1, sizeof(*a->heap));
	a->where = calloc(n_gpus ? n_gpus : 1, sizeof(*a->where));
	if (a->heap && a->where)
		return 0;
	sim_agenda_finish(a);
	return -ENOMEM;
}

void sim_agenda_finish(struct sim_agenda *a)
{
	free(a->heap);
	free(a->where);
	*a = (struct sim_agenda){ .n = 0 };
}

static bool before(const struct sim_event *a, const struct sim_event *b)
{
	return a->at_us != b->at_us ? a->at_us < b->at_us : a->gpu < b->gpu;
}

static void set(struct sim_agenda *a, size_t i, struct sim_event e)
{
	a->heap[i] = e;
	a->where[e.gpu] = (uint32_t)i + 1;
}

static void sift_up(struct sim_agenda *a, size_t i, struct sim_event e)
{
	for (; i > 0 && before(&e, &a->heap[(i - 1) / 2]); i = (i - 1) / 2)
		set(a, i, a->heap[(i - 1) / 2]);
	set(a, i, e);
}

static void sift_down(struct sim_agenda *a, size_t i, struct sim_event e)
{
	for (size_t child; (child = 2 * i + 1) < a->n; i = child) {
		if (child + 1 < a->n && before(&a->heap[child + 1], &a->heap[child]))
			child++;
		if (!before(&a->heap[child], &e))
			break;
		set(a, i, a->heap[child]);
	}
	set(a, i, e);
}

void sim_agenda_put(struct sim_agenda *a, int64_t at_us, uint32_t gpu)
{
	struct sim_event e = { at_us, gpu };

	if (!a->where[gpu])
		sift_up(a, a->n++, e);
	else if (before(&e, &a->heap[a->where[gpu] - 1]))
		sift_up(a, a->where[gpu] - 1, e);
	else
		sift_down(a, a->where[gpu] - 1, e);
}

const struct sim_event *sim_agenda_peek(const struct sim_agenda *a)
{
	return a->n ? a->heap : NULL;
}

struct sim_event sim_agenda_pop(struct sim_agenda *a)
{
	struct sim_event top = a->heap[0], last = a->heap[--a->n];

	a->where[top.gpu] = 0;
	if (a->n)
		sift_down(a, 0, last);
	return top;
}
