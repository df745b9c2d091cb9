/*
 * fair_items.c - what the fair scheduler itself costs an item (submit, run, end) on an executor
 * that does nothing, by number of tenants with work all the time; see bench/fair.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "heshare/fair_scheduler.h"

#define RUNS    21
#define TURNS   2000 /* a run */
#define ITEM_NS 250  /* of a slice of 1000 or more */

static struct {
	uint64_t now_ns, began_ns;
	void *item;
} null;

struct client {
	struct hes_fair_stream *st;
	struct hes_fair_work w;
};

static uint64_t items;

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int client_run(void *arg, void *stream)
{
	(void)arg;
	(void)stream;
	return 0;
}

static void client_done(void *arg, int rc)
{
	struct client *c = arg;

	items++;
	if (!rc && hes_fair_stream_submit(c->st, &c->w, NULL))
		exit(1);
}

static int null_open(const void *config, void **self, struct hes_fair_depth *depth,
		     struct hes_err *err)
{
	(void)config;
	(void)err;
	*self = &null;
	*depth = (struct hes_fair_depth){ 1, 1 };
	return 0;
}

static void null_close(void *self)
{
	(void)self;
}

static uint64_t null_now_ns(void *self)
{
	(void)self;
	return null.now_ns;
}

static int null_begin(void *self, struct hes_err *err)
{
	(void)self;
	(void)err;
	null.began_ns = null.now_ns;
	return 0;
}

static int null_start(void *self, void *stream, const struct hes_fair_work *w, void *item,
		      struct hes_err *err)
{
	(void)self;
	(void)err;
	null.now_ns += ITEM_NS;
	null.item = item;
	return w->run(w->arg, stream);
}

static unsigned null_collect(void *self, struct hes_fair_ended *out, unsigned max)
{
	(void)self;
	(void)max;
	out->item = null.item;
	out->rc = 0;
	return 1;
}

static uint64_t null_end(void *self)
{
	(void)self;
	return null.now_ns - null.began_ns;
}

static const struct hes_fair_executor null_executor = {
	.name = "null",
	.runs_functions = true,
	.keeps_order = true,
	.open = null_open,
	.close = null_close,
	.now_ns = null_now_ns,
	.begin = null_begin,
	.start = null_start,
	.collect = null_collect,
	.end = null_end,
};

/* Two requests of each tenant, so that it never runs out of work. */
static struct client *clients_of(struct hes_fair_scheduler *s, size_t n)
{
	struct client *c = calloc(n, sizeof(*c));
	uint32_t tenant;

	for (size_t i = 0; c && i < n; i++) {
		const struct hes_fair_member m = { "tenant", 1, 100 + (double)(i % 200), 0 };

		c[i].w = (struct hes_fair_work){ .run = client_run,
						 .done = client_done,
						 .arg = &c[i] };
		if (hes_fair_scheduler_add(s, &m, &tenant, NULL) ||
		    hes_fair_stream_create(s, tenant, &c[i].st, NULL) ||
		    hes_fair_stream_submit(c[i].st, &c[i].w, NULL) ||
		    hes_fair_stream_submit(c[i].st, &c[i].w, NULL))
			exit(1);
	}
	return c;
}

static void measure(size_t n)
{
	const struct hes_fair_scheduler_config config = {
		.queue = { hes_fair_policy_find("etf", NULL), 0.7, n, 1000 },
		.executor = &null_executor,
		.manual = true,
	};
	struct hes_fair_scheduler *s;
	struct client *c;
	double took[RUNS];

	if (hes_fair_scheduler_create(&config, &s, NULL) || !(c = clients_of(s, n)))
		exit(1);
	for (int k = -5; k < RUNS; k++) { /* the first ones warm up, and spread the tenants */
		uint64_t before = items;
		double start = now_ns();

		for (int i = 0; i < TURNS; i++)
			if (hes_fair_scheduler_turn(s, NULL) != 1)
				exit(1);
		took[k < 0 ? 0 : k] = (now_ns() - start) / (double)(items - before);
	}
	qsort(took, RUNS, sizeof(took[0]), by_value);
	printf("{\"tenants\": %zu, \"scheduler_item_median_ns\": %.1f, \"scheduler_item_min_ns\": "
	       "%.1f}\n",
	       n, took[RUNS / 2], took[0]);
	hes_fair_scheduler_destroy(s);
	free(c);
}

int main(void)
{
	for (size_t n = 10; n <= 10000; n *= 10)
		measure(n);
	return 0;
}
