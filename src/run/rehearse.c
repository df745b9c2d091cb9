/*
 * rehearse.c - report every act of a run in order, with planned times, without doing it; see
 * heshare/run.h. admit.c decides the order.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/visible.h"
#include "heshare/mps.h"
#include "heshare/run.h"
#include "run/admit.h"
#include "run/environment.h"

#define TEXT_MAX 1024

/* A GPU as the rehearsal has it. Tasks are places. */
struct stage {
	size_t gpu;
	struct hes_device_info info;
	struct run_queue queue;
	const struct hes_placement **placements; /* by place */
	int64_t *end_us;                         /* by place, valid while it runs */
	struct hes_mps mps;
	bool shares, closed;
	uint32_t clock_mhz; /* locked; 0: none */
};

static void stage_act(const struct hes_run_request *q, int64_t at_us, const struct stage *s,
		      const struct hes_job *job, const char *fmt, ...) HES_PRINTF(5, 6);

static void stage_act(const struct hes_run_request *q, int64_t at_us, const struct stage *s,
		      const struct hes_job *job, const char *fmt, ...)
{
	char text[TEXT_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (q->listener.act)
		q->listener.act(q->listener.ctx, at_us, q->fleet->gpus[s->gpu].name,
				job ? job->id : NULL, text);
}

static void stage_add_place(const struct hes_run_request *q, struct stage *s,
			    const struct hes_batch *batch, size_t index,
			    const struct hes_placement *p)
{
	s->placements[s->queue.n] = p;
	s->queue.v[s->queue.n] = (struct run_place){
		.batch = (uint32_t)index,
		.sm_pct = p->sm_pct,
		.clock_mhz = batch->unlocked ? RUN_UNLOCKED : batch->clock_mhz,
		.memory_mib = hes_memory_on(q->fleet->gpus[s->gpu].type,
					    hes_job_memory_mib(&q->jobs->v[p->job])),
		.alone = batch->unknown,
		.user = s->shares ? run_user(q->jobs->v[p->job].user) : 0,
	};
	s->queue.n++;
}

static int stage_make(const struct hes_run_request *q, size_t gpu, struct stage *s,
		      struct hes_err *err)
{
	const struct hes_queue *queue = &q->plan->queues[gpu];
	size_t n = 0;
	int rc = 0;

	if (q->devices)
		rc = hes_device_info(q->devices, (size_t)q->gpus[gpu], &s->info, err);
	else
		snprintf(s->info.uuid, sizeof(s->info.uuid), "%s", q->fleet->gpus[gpu].name);
	if (rc)
		return rc;
	s->gpu = gpu;
	for (size_t i = 0; i < queue->n; i++)
		n += queue->batches[i].n;
	s->queue = (struct run_queue){
		.v = calloc(n + 1, sizeof(*s->queue.v)),
		.together = queue->together,
		.shares_pct = hes_queue_shares_pct(queue),
		.memory_mib = q->fleet->gpus[gpu].type->memory_mib,
	};
	s->placements = calloc(n + 1, sizeof(*s->placements));
	s->end_us = calloc(n + 1, sizeof(*s->end_us));
	if (!s->queue.v || !s->placements || !s->end_us)
		return hes_fail(err, -ENOMEM, "out of memory for %zu jobs", n);
	s->shares = !q->no_mps && run_shares(queue);
	for (size_t i = 0; i < queue->n; i++)
		for (uint32_t k = 0; k < queue->batches[i].n; k++)
			stage_add_place(q, s, &queue->batches[i], i, &queue->batches[i].jobs[k]);
	snprintf(s->mps.pipe_dir, sizeof(s->mps.pipe_dir), "%.400s/%ld/pipe", q->mps_folder,
		 q->gpus[gpu]);
	snprintf(s->mps.log_dir, sizeof(s->mps.log_dir), "%.400s/%ld/log", q->mps_folder,
		 q->gpus[gpu]);
	return 0;
}

static void stage_set_clock(const struct hes_run_request *q, struct stage *s, int64_t now_us)
{
	uint32_t mhz = run_admit_clock(&s->queue);

	if (q->no_clocks || !mhz || (mhz == RUN_UNLOCKED ? !s->clock_mhz : mhz == s->clock_mhz))
		return;
	s->clock_mhz = mhz == RUN_UNLOCKED ? 0 : mhz;
	if (s->clock_mhz)
		stage_act(q, now_us, s, NULL, "lock the clock at %" PRIu32 " MHz", mhz);
	else
		stage_act(q, now_us, s, NULL, "unlock the clock");
}

/* A line for the start, then one for each variable of CUDA: the line says what the HESHARE_ ones
 * hold. What came from outside cannot end a line. */
static void stage_put_start(FILE *f, const struct hes_run_request *q, const struct stage *s,
			    size_t place)
{
	const struct hes_placement *p = s->placements[place];
	const struct hes_job *job = &q->jobs->v[p->job];
	const bool mps = s->shares && !run_admit_alone(&s->queue, &s->queue.v[place]);
	const char *user = job->user[0] ? job->user : q->user;
	struct run_environment e = { .v = { NULL } };

	run_environment_set(
		&e, &(struct run_environment_of){
			    .job = job,
			    .attempt = 1,
			    .gpu = q->fleet->gpus[s->gpu].name,
			    .uuid = s->info.uuid,
			    .sm_pct = p->sm_pct,
			    .limit_mib = mps ? run_memory_limit(job, s->queue.memory_mib) : 0,
			    .mps = mps ? &s->mps : NULL,
			    .mps_folder = q->mps_folder });
	fputs("start attempt 1", f);
	if (user) {
		fputs(" as ", f);
		hes_visible_put(f, 0, user);
	}
	fprintf(f, " with %" PRIu32 " %% of the SMs: ", p->sm_pct);
	hes_visible_put(f, 0, q->jobs->v[p->job].command);
	for (const char *const *v = e.v; *v; v++) {
		if (strncmp(*v, "HESHARE_", 8) == 0)
			continue;
		fputc('\n', f);
		hes_visible_put(f, 0, *v);
	}
}

static int stage_start(const struct hes_run_request *q, struct stage *s, size_t place,
		       int64_t now_us, struct hes_err *err)
{
	const struct hes_placement *p = s->placements[place];
	const struct hes_job *job = &q->jobs->v[p->job];
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	int rc = -ENOMEM;

	if (f) {
		stage_put_start(f, q, s, place);
		rc = fclose(f) ? -ENOMEM : 0;
	}
	if (__builtin_add_overflow(now_us, p->end_us - p->start_us, &s->end_us[place])) {
		free(text);
		return hes_fail(err, -ERANGE, "job %s: planned times sum to more than 2^63 us",
				job->id);
	}
	if (rc)
		hes_fail(err, rc, "job %s: no memory for its command", job->id);
	else if (q->listener.act)
		q->listener.act(q->listener.ctx, now_us, q->fleet->gpus[s->gpu].name, job->id,
				text);
	free(text);
	return rc;
}

/* Start what may; the clock comes first. */
static int stage_admit(const struct hes_run_request *q, struct stage *s, int64_t now_us,
		       struct hes_err *err)
{
	size_t places[HES_MAX_SHARING], n = 0;
	long next;
	int rc = 0;

	while (n < HES_MAX_SHARING && run_admit_running(&s->queue) < HES_MAX_SHARING &&
	       (next = run_admit_next(&s->queue)) >= 0) {
		s->queue.v[next].state = RUN_STARTED;
		places[n++] = (size_t)next;
	}
	stage_set_clock(q, s, now_us);
	for (size_t i = 0; i < n && !rc; i++)
		rc = stage_start(q, s, places[i], now_us, err);
	return rc;
}

static void close_stage(const struct hes_run_request *q, struct stage *s, int64_t now_us)
{
	if (s->closed || !run_admit_over(&s->queue))
		return;
	s->closed = true;
	if (s->clock_mhz)
		stage_act(q, now_us, s, NULL, "unlock the clock");
	if (s->shares)
		stage_act(q, now_us, s, NULL, "end the MPS daemon of %s", s->info.uuid);
}

/* The next job to end, on any GPU; of several at a time, the first in order. @return NULL: nothing
 * runs */
static struct stage *next_end(struct stage *v, size_t n, size_t *place)
{
	struct stage *found = NULL;

	for (size_t i = 0; i < n; i++) {
		const struct run_queue *q = &v[i].queue;

		for (size_t k = q->over; k < q->reach; k++) {
			if (q->v[k].state != RUN_STARTED ||
			    (found && v[i].end_us[k] >= found->end_us[*place]))
				continue;
			found = &v[i];
			*place = k;
		}
	}
	return found;
}

static void stage_tell_end(const struct hes_run_request *q, const struct stage *s, size_t place,
			   int64_t now_us)
{
	const struct hes_placement *p = s->placements[place];
	const struct hes_batch *b = &q->plan->queues[s->gpu].batches[s->queue.v[place].batch];

	if (b->unknown)
		stage_act(q, now_us, s, &q->jobs->v[p->job],
			  "ends, if it takes %.0f s: how long it takes is not known",
			  (double)(p->end_us - p->start_us) * 1e-6);
	else
		stage_act(q, now_us, s, &q->jobs->v[p->job], "ends, as planned");
}

static int stages_play(const struct hes_run_request *q, struct stage *v, size_t n,
		       struct hes_err *err)
{
	struct stage *s;
	size_t place = 0;
	int rc = 0;

	for (size_t i = 0; i < n; i++)
		if (v[i].shares)
			stage_act(q, 0, &v[i], NULL, "start the MPS daemon of %s in %s/%ld",
				  v[i].info.uuid, q->mps_folder, q->gpus[v[i].gpu]);
	for (size_t i = 0; i < n && !rc; i++)
		rc = stage_admit(q, &v[i], 0, err);
	while (!rc && (s = next_end(v, n, &place))) {
		int64_t now_us = s->end_us[place];

		s->queue.v[place].state = RUN_OVER;
		stage_tell_end(q, s, place, now_us);
		rc = stage_admit(q, s, now_us, err);
		close_stage(q, s, now_us);
	}
	return rc;
}

int hes_run_rehearse(const struct hes_run_request *q, struct hes_err *err)
{
	struct stage *v = calloc(q->fleet->n + 1, sizeof(*v));
	size_t n = 0;
	int rc = v ? 0 : hes_fail(err, -ENOMEM, "out of memory for %zu GPUs", q->fleet->n);

	for (size_t g = 0; !rc && g < q->fleet->n; g++)
		if (q->gpus[g] >= 0 && q->plan->queues[g].n)
			rc = stage_make(q, g, &v[n++], err);
	if (!rc)
		rc = stages_play(q, v, n, err);
	for (size_t i = 0; i < n; i++) {
		free(v[i].queue.v);
		free(v[i].placements);
		free(v[i].end_us);
	}
	free(v);
	return rc;
}
