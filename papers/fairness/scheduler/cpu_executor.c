/*
 * cpu_executor.c - functions in a pool of worker threads; see fair_executor.h.
 *
 * The scheduler starts no more jobs at a time than there are workers, so a job waits for its worker
 * to wake at most.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "fair_executor.h"

struct job {
	const struct hes_fair_work *w;
	void *item;
	int rc;
};

struct ring {
	struct job jobs[HES_FAIR_MAX_DEPTH];
	unsigned first, n;
};

struct pool {
	pthread_t *threads;
	unsigned n_threads;
	pthread_mutex_t lock;       /* guards what follows */
	pthread_cond_t work, ended; /* for workers; for collect */
	struct ring to_run, done;
	bool woken, closing;
	uint64_t from_ns,
		to_ns; /* of the turn: start of the first job, 0: none yet; end of the last one */
};

static uint64_t pool_now_ns(void *self)
{
	(void)self;
	return hes_monotonic_ns();
}

static void ring_push(struct ring *r, const struct job *j)
{
	r->jobs[(r->first + r->n++) % HES_FAIR_MAX_DEPTH] = *j;
}

static struct job ring_pop(struct ring *r)
{
	struct job j = r->jobs[r->first];

	r->first = (r->first + 1) % HES_FAIR_MAX_DEPTH;
	r->n--;
	return j;
}

/* Lock held, released while the job runs. */
static void pool_run_job(struct pool *p)
{
	struct job j = ring_pop(&p->to_run);
	uint64_t from_ns = pool_now_ns(NULL), to_ns;

	if (!p->from_ns)
		p->from_ns = from_ns;
	pthread_mutex_unlock(&p->lock);
	j.rc = j.w->run(j.w->arg, NULL);
	to_ns = pool_now_ns(NULL);
	pthread_mutex_lock(&p->lock);
	if (to_ns > p->to_ns)
		p->to_ns = to_ns;
	ring_push(&p->done, &j);
	pthread_cond_signal(&p->ended);
}

static void *pool_work(void *pool)
{
	struct pool *p = pool;

	pthread_mutex_lock(&p->lock);
	while (!p->closing)
		if (p->to_run.n)
			pool_run_job(p);
		else
			pthread_cond_wait(&p->work, &p->lock);
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

static void pool_close(void *self)
{
	struct pool *p = self;

	pthread_mutex_lock(&p->lock);
	p->closing = true;
	pthread_cond_broadcast(&p->work);
	pthread_mutex_unlock(&p->lock);
	for (unsigned i = 0; i < p->n_threads; i++)
		pthread_join(p->threads[i], NULL);
	pthread_cond_destroy(&p->ended);
	pthread_cond_destroy(&p->work);
	pthread_mutex_destroy(&p->lock);
	free(p->threads);
	free(p);
}

static int pool_start(struct pool *p, unsigned workers, struct hes_err *err)
{
	for (; p->n_threads < workers; p->n_threads++) {
		int rc = pthread_create(&p->threads[p->n_threads], NULL, pool_work, p);

		if (rc)
			return hes_fail(err, -rc, "no thread for worker %u of %u: %s",
					p->n_threads + 1, workers, strerror(rc));
	}
	return 0;
}

static int pool_open(const void *config, void **self, struct hes_fair_depth *depth,
		     struct hes_err *err)
{
	const struct hes_fair_cpu *c = config;
	unsigned workers = c && c->workers ? c->workers : 1;
	struct pool *p;
	int rc;

	if (workers > HES_FAIR_MAX_DEPTH)
		return hes_fail(err, -EINVAL, "%u workers are more than %d", workers,
				HES_FAIR_MAX_DEPTH);
	p = calloc(1, sizeof(*p));
	if (p)
		p->threads = calloc(workers, sizeof(*p->threads));
	if (!p || !p->threads) {
		free(p);
		return hes_fail(err, -ENOMEM, "out of memory for %u workers", workers);
	}
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->work, NULL);
	pthread_cond_init(&p->ended, NULL);
	rc = pool_start(p, workers, err);
	if (rc) {
		pool_close(p);
		return rc;
	}
	*self = p;
	*depth = (struct hes_fair_depth){ workers, workers };
	return 0;
}

static int pool_job(void *self, void *stream, const struct hes_fair_work *w, void *item,
		    struct hes_err *err)
{
	struct pool *p = self;

	(void)stream;
	(void)err;
	pthread_mutex_lock(&p->lock);
	ring_push(&p->to_run, &(struct job){ w, item, 0 });
	pthread_cond_signal(&p->work);
	pthread_mutex_unlock(&p->lock);
	return 0;
}

static unsigned pool_collect(void *self, struct hes_fair_ended *out, unsigned max)
{
	struct pool *p = self;
	unsigned n = 0;

	pthread_mutex_lock(&p->lock);
	while (!p->done.n && !p->woken)
		pthread_cond_wait(&p->ended, &p->lock);
	p->woken = false;
	while (n < max && p->done.n) {
		struct job j = ring_pop(&p->done);

		out[n].item = j.item;
		out[n].rc = j.rc;
		out[n++].err.msg[0] = '\0';
	}
	pthread_mutex_unlock(&p->lock);
	return n;
}

static void pool_wake(void *self)
{
	struct pool *p = self;

	pthread_mutex_lock(&p->lock);
	p->woken = true;
	pthread_cond_signal(&p->ended);
	pthread_mutex_unlock(&p->lock);
}

static uint64_t pool_end(void *self)
{
	struct pool *p = self;
	uint64_t used_ns;

	pthread_mutex_lock(&p->lock);
	used_ns = p->from_ns ? p->to_ns - p->from_ns : 0;
	p->from_ns = p->to_ns = 0;
	pthread_mutex_unlock(&p->lock);
	return used_ns;
}

const struct hes_fair_executor hes_fair_cpu_executor = {
	.name = "cpu",
	.runs_functions = true,
	.open = pool_open,
	.close = pool_close,
	.now_ns = pool_now_ns,
	.start = pool_job,
	.collect = pool_collect,
	.wake = pool_wake,
	.end = pool_end,
};
