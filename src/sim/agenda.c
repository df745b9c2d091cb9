/*
 * agenda.c - the heap of coming changes; see agenda.h.
 */
#include "sim/agenda.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

int sim_agenda_init(struct sim_agenda *a, size_t n_gpus)
{
	a->n = 0;
	a->heap = calloc(n_gpus ? n_gpus : 1, sizeof(*a->heap));
	return a->heap ? 0 : -ENOMEM;
}

void sim_agenda_finish(struct sim_agenda *a)
{
	free(a->heap);
	a->heap = NULL;
	a->n = 0;
}

static bool before(const struct sim_event *a, const struct sim_event *b)
{
	return a->at_us != b->at_us ? a->at_us < b->at_us : a->gpu < b->gpu;
}

void sim_agenda_push(struct sim_agenda *a, int64_t at_us, uint32_t gpu)
{
	struct sim_event e = { at_us, gpu };
	size_t i = a->n++;

	for (; i > 0 && before(&e, &a->heap[(i - 1) / 2]); i = (i - 1) / 2)
		a->heap[i] = a->heap[(i - 1) / 2];
	a->heap[i] = e;
}

const struct sim_event *sim_agenda_peek(const struct sim_agenda *a)
{
	return a->n ? a->heap : NULL;
}

struct sim_event sim_agenda_pop(struct sim_agenda *a)
{
	struct sim_event top = a->heap[0], e = a->heap[--a->n];
	size_t i = 0;

	for (size_t child; (child = 2 * i + 1) < a->n; i = child) {
		if (child + 1 < a->n && before(&a->heap[child + 1], &a->heap[child]))
			child++;
		if (!before(&a->heap[child], &e))
			break;
		a->heap[i] = a->heap[child];
	}
	a->heap[i] = e;
	return top;
}
