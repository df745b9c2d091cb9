/*
 * node_part.c - copy the journals of the nodes into the journal of the run; see head_state.h.
 *
 * Rows of a node's journal are only added, in an order that stays. So attempts are known by their
 * index. Joules of a GPU are the sum over all parts that ran there. The times of a part count from
 * its own start, by the wall clock of its node.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/texts.h"
#include "cluster/head_state.h"
#include "app/run_identity.h"

#define STORE_WAIT_MS 5000
#define LIVE_S        20 /* a runner that has written nothing for so long is not alive */
#define END_WAIT_S    120

struct part *parts_add(struct nodes *s, const char *node, unsigned round)
{
	struct part *v = realloc(s->parts, (s->n_parts + 1) * sizeof(*v));

	if (!v)
		return NULL;
	s->parts = v;
	v += s->n_parts++;
	*v = (struct part){ .round = round };
	snprintf(v->node, sizeof(v->node), "%s", node);
	return v;
}

void parts_free(struct nodes *s)
{
	for (size_t i = 0; i < s->n_parts; i++) {
		free(s->parts[i].gpus);
		free(s->parts[i].attempts);
		free(s->parts[i].closed);
		free(s->parts[i].jobs);
	}
	free(s->parts);
}

void parts_over(struct nodes *s, struct part *p)
{
	const size_t at = (size_t)(p - s->parts);

	p->state = PART_OVER;
	for (size_t i = 0; i < s->q->jobs->n; i++)
		if (s->part_of[i] == at)
			s->part_of[i] = NO_PART;
}

/* --- one journal into the other --- */

/* A node's journal, as far as it was read. */
struct rows {
	struct hes_run_gpu *gpus;
	struct hes_run_job *jobs;
	struct hes_attempt *attempts;
	struct hes_run_meter *meters;
	size_t n_gpus, n_jobs, n_attempts, n_meters;
};

static void rows_free(struct rows *r)
{
	free(r->gpus);
	free(r->jobs);
	free(r->attempts);
	free(r->meters);
}

static int rows_read(struct hes_journal *j, int64_t run, struct rows *r, struct hes_err *err)
{
	int rc = hes_journal_gpus(j, run, &r->gpus, &r->n_gpus, err);

	if (!rc)
		rc = hes_journal_jobs(j, run, &r->jobs, &r->n_jobs, err);
	if (!rc)
		rc = hes_journal_attempts(j, run, &r->attempts, &r->n_attempts, err);
	return rc ? rc : hes_journal_meters(j, run, &r->meters, &r->n_meters, err);
}

static int part_room(struct part *p, const struct rows *r, struct hes_err *err)
{
	int64_t *attempts = realloc(p->attempts, (r->n_attempts + 1) * sizeof(*attempts));
	bool *closed = realloc(p->closed, (r->n_attempts + 1) * sizeof(*closed));
	enum hes_run_job_state *jobs = realloc(p->jobs, (r->n_jobs + 1) * sizeof(*jobs));

	p->attempts = attempts ? attempts : p->attempts;
	p->closed = closed ? closed : p->closed;
	p->jobs = jobs ? jobs : p->jobs;
	if (!attempts || !closed || !jobs)
		return hes_fail(err, -ENOMEM, "out of memory for %zu jobs of node %s", r->n_jobs,
				p->node);
	for (; p->n_jobs < r->n_jobs; p->n_jobs++)
		p->jobs[p->n_jobs] = HES_RUN_JOB_WAITING;
	return 0;
}

static int copy_attempt(struct nodes *s, struct part *p, size_t i, struct hes_attempt a,
			int64_t offset_us, struct hes_err *err)
{
	struct hes_journal *j = s->q->journal;
	const long job = nodes_find_job(s, a.job);
	int rc = 0;

	if (i == p->n_attempts) {
		struct hes_attempt new = a;

		new.number = job < 0 ? a.number : s->tries[job] + 1;
		new.started_us += offset_us;
		rc = hes_journal_attempt(j, s->run->id, &new, err);
		if (rc)
			return rc;
		if (job >= 0)
			s->tries[job]++;
		p->attempts[i] = new.id;
		p->closed[i] = false;
		p->n_attempts++;
	}
	if (p->closed[i])
		return 0;
	if (a.has_energy)
		rc = hes_journal_attempt_took(j, p->attempts[i], true, a.energy_mj, err);
	if (!rc && a.verdict != HES_VERDICT_OPEN) {
		rc = hes_journal_attempt_ended(j, p->attempts[i], a.ended_us + offset_us, a.status,
					       a.verdict, a.seen, err);
		p->closed[i] = !rc;
	}
	return rc;
}

static int copy_job(struct nodes *s, struct part *p, size_t i, struct hes_run_job r,
		    int64_t offset_us, struct hes_err *err)
{
	const long job = nodes_find_job(s, r.job);
	int rc;

	if (r.state == p->jobs[i] || r.state == HES_RUN_JOB_WAITING)
		return 0;
	r.start_us += offset_us;
	r.end_us += offset_us;
	rc = hes_journal_result(s->q->journal, s->run->id, &r, err);
	if (rc)
		return rc;
	p->jobs[i] = r.state;
	if (job >= 0)
		s->state[job] = r.state;
	return 0;
}

/* A GPU's joules over all parts. Of one that died before its first writing they are lost. */
static int copy_gpu(const struct nodes *s, const char *node, const char *gpu, struct hes_err *err)
{
	struct hes_run_gpu sum = { .measured = false };

	snprintf(sum.gpu, sizeof(sum.gpu), "%s", gpu);
	for (size_t i = 0; i < s->n_parts; i++)
		for (size_t g = 0; g < s->parts[i].n_gpus && strcmp(s->parts[i].node, node) == 0;
		     g++) {
			const struct hes_run_gpu *v = &s->parts[i].gpus[g];

			if (strcmp(v->gpu, gpu) != 0)
				continue;
			sum.measured |= v->measured;
			sum.busy_us += v->busy_us;
			sum.busy_mj += v->busy_mj;
			sum.idle_mj += v->idle_mj;
		}
	return hes_journal_gpu_took(s->q->journal, s->run->id, &sum, err);
}

/* GPUs that an earlier head did not get to write. */
static int copy_rows(struct nodes *s, struct part *p, struct rows *r, struct hes_err *err)
{
	const int64_t offset_us = p->run.started_us - s->run->started_us;
	struct hes_run_gpu *before = p->gpus;
	int rc = hes_journal_replan(s->q->journal, s->run->id, r->gpus, r->n_gpus, NULL, 0, err);

	for (size_t i = 0; i < r->n_attempts && !rc; i++)
		rc = copy_attempt(s, p, i, r->attempts[i], offset_us, err);
	for (size_t i = 0; i < r->n_jobs && !rc; i++)
		rc = copy_job(s, p, i, r->jobs[i], offset_us, err);
	p->gpus = r->gpus;
	p->n_gpus = r->n_gpus;
	r->gpus = before;
	for (size_t i = 0; i < p->n_gpus && !rc; i++)
		rc = copy_gpu(s, p->node, p->gpus[i].gpu, err);
	for (size_t i = 0; i < r->n_meters && !rc; i++) {
		r->meters[i].session = (uint32_t)(p - s->parts) + 1;
		rc = hes_journal_meter(s->q->journal, s->run->id, &r->meters[i], err);
	}
	return rc;
}

/* What is known of a part's rows, from before a transaction that may fail. */
struct known {
	size_t n_attempts;
	bool *closed;                 /* one an attempt */
	enum hes_run_job_state *jobs; /* one a job */
};

static int known_save(const struct part *p, struct known *k, struct hes_err *err)
{
	*k = (struct known){ .n_attempts = p->n_attempts,
			     .closed = malloc(p->n_attempts + 1),
			     .jobs = calloc(p->n_jobs + 1, sizeof(*k->jobs)) };
	if (!k->closed || !k->jobs)
		return hes_fail(err, -ENOMEM, "out of memory for %zu jobs of node %s", p->n_jobs,
				p->node);
	memcpy(k->closed, p->closed, p->n_attempts * sizeof(*k->closed));
	memcpy(k->jobs, p->jobs, p->n_jobs * sizeof(*k->jobs));
	return 0;
}

/* Nothing was written, so the next look finds all of it again. */
static void known_restore(struct nodes *s, struct part *p, const struct rows *r,
			  const struct known *k)
{
	for (size_t i = k->n_attempts; i < p->n_attempts; i++) {
		const long job = nodes_find_job(s, r->attempts[i].job);

		if (job >= 0)
			s->tries[job]--;
	}
	for (size_t i = 0; i < r->n_jobs; i++) {
		const long job = nodes_find_job(s, r->jobs[i].job);

		if (job >= 0 && p->jobs[i] != k->jobs[i])
			s->state[job] = k->jobs[i];
	}
	p->n_attempts = k->n_attempts;
	memcpy(p->closed, k->closed, k->n_attempts * sizeof(*k->closed));
	memcpy(p->jobs, k->jobs, p->n_jobs * sizeof(*k->jobs));
}

static int copy_journal(struct nodes *s, struct part *p, struct hes_journal *j, struct hes_err *err)
{
	struct known known = { 0 };
	struct rows r = { 0 };
	int rc = rows_read(j, p->run.id, &r, err);

	if (!rc)
		rc = part_room(p, &r, err);
	if (!rc)
		rc = known_save(p, &known, err);
	if (!rc)
		rc = hes_journal_begin_light(s->q->journal, err);
	if (!rc) {
		rc = copy_rows(s, p, &r, err);
		rc = hes_journal_end(s->q->journal, rc, err);
		if (rc)
			known_restore(s, p, &r, &known);
	}
	free(known.closed);
	free(known.jobs);
	rows_free(&r);
	return rc;
}

/* Samples that the runner measured. */
static int copy_samples(const struct nodes *s, const struct part *p, struct hes_store *node,
			struct hes_err *err)
{
	const struct hes_store_query all = { 0 };
	char name[HES_STORE_ORIGIN_NAME];
	struct hes_samples samples = { 0 };
	struct hes_delivery d = { .source = HES_SOURCE_MEASURED,
				  .at_us = p->run.ended_us,
				  .name = name,
				  .samples = &samples };
	struct hes_delivered done;
	int rc = hes_store_samples(node, &all, &samples, err);

	snprintf(name, sizeof(name), "run %lld on node %s", (long long)s->run->id, p->node);
	if (!rc && samples.n)
		rc = hes_store_add(s->q->store, &d, &done, err);
	hes_samples_free(&samples);
	return rc;
}

int parts_sync(struct nodes *s, struct part *p, bool settle, struct hes_err *err)
{
	struct hes_store *store = NULL;
	struct hes_journal *j = NULL;
	char path[HES_JOURNAL_PATH_MAX];
	int rc;

	nodes_path(s, p->node, 0, ".db", path);
	/* The runner has not begun. */
	if (access(path, F_OK))
		return 0;
	rc = hes_store_open(path, settle ? HES_STORE_WRITE : HES_STORE_READ, STORE_WAIT_MS, &store,
			    err);
	/* It is at its first words. */
	if (rc == -EINVAL && !settle)
		return 0;
	if (!rc)
		rc = hes_journal_open(store, &j, err);
	if (!rc)
		rc = hes_journal_last_run(j, p->key, &p->run, err);
	p->known |= !rc;
	if (!rc && settle)
		rc = hes_run_settle(j, &p->run, err);
	if (!rc)
		rc = copy_journal(s, p, j, err);
	if (!rc && settle)
		rc = copy_samples(s, p, store, err);
	hes_journal_close(j);
	hes_store_close(store);
	return rc == -ENOENT ? 0 : rc;
}

/* --- GPUs without work --- */

static bool has_part(const struct nodes *s, const char *gpu)
{
	for (size_t i = 0; i < s->n_parts; i++) {
		const size_t length = strlen(s->parts[i].node);

		if (s->parts[i].known && strncmp(gpu, s->parts[i].node, length) == 0 &&
		    gpu[length] == '/')
			return true;
	}
	return false;
}

int parts_note_idle(struct nodes *s, struct hes_err *err)
{
	struct hes_run_gpu *v = NULL;
	size_t n = 0, idle = 0;
	int rc = hes_journal_gpus(s->q->journal, s->run->id, &v, &n, err);

	for (size_t i = 0; i < n && !rc; i++) {
		struct hes_run_gpu none = { .measured = true };

		if (v[i].measured || has_part(s, v[i].gpu))
			continue;
		memcpy(none.gpu, v[i].gpu, sizeof(none.gpu));
		rc = hes_journal_gpu_took(s->q->journal, s->run->id, &none, err);
		idle++;
	}
	free(v);
	if (idle)
		nodes_tell(
			s,
			"%zu GPU%s on nodes where no job ran: not measured, and 0 J in the report",
			idle, idle == 1 ? " is" : "s are");
	return rc;
}

bool part_lives(const struct part *p, struct part_life *life)
{
	struct hes_run_live live;
	int64_t at_us = 0;
	int rc = p->known ? hes_run_live_load(&p->run, &live, NULL) : -ENOENT;

	if (!rc) {
		at_us = live.at_us;
		hes_run_live_free(&live);
	}
	if (rc == -ENOENT)
		return false;
	if (life->looked_s > 0 && at_us == life->at_us)
		return hes_monotonic_s() - life->looked_s < LIVE_S;
	*life = (struct part_life){ .at_us = at_us, .looked_s = hes_monotonic_s() };
	return true;
}

/* --- of earlier heads --- */

/* Nodes with a journal of this run. free() @out */
static int find_nodes(const struct nodes *s, slurm_name **out, size_t *n, struct hes_err *err)
{
	DIR *dir = opendir(s->run->folder);
	char path[HES_JOURNAL_PATH_MAX];
	slurm_name *v = NULL, *more;
	const struct dirent *e;

	*n = 0;
	if (!dir)
		return hes_fail(err, -errno, "%s: %s", s->run->folder, strerror(errno));
	while ((e = readdir(dir))) {
		if (!slurm_name_is_good(e->d_name))
			continue;
		nodes_path(s, e->d_name, 0, ".db", path);
		if (access(path, F_OK))
			continue;
		more = realloc(v, (*n + 1) * sizeof(*v));
		if (!more) {
			free(v);
			closedir(dir);
			return hes_fail(err, -ENOMEM, "out of memory for %zu nodes", *n);
		}
		v = more;
		strcpy(v[(*n)++], e->d_name);
	}
	closedir(dir);
	if (*n)
		qsort(v, *n, sizeof(*v), hes_by_text);
	*out = v;
	return 0;
}

static int find_parts(struct nodes *s, slurm_name *names, size_t n, struct hes_err *err)
{
	char path[HES_JOURNAL_PATH_MAX];
	uint64_t key;
	int rc = 0;

	for (; !rc; s->rounds++) {
		nodes_path(s, NULL, s->rounds + 1, ".json", path);
		if (access(path, F_OK))
			return 0;
		rc = run_round_key(path, &key, err);
		for (size_t i = 0; i < n && !rc; i++) {
			struct part *p = parts_add(s, names[i], s->rounds + 1);

			if (!p)
				return hes_fail(err, -ENOMEM, "out of memory for %zu nodes", n);
			p->state = PART_OVER;
			p->key = run_part_key(key, names[i]);
			rc = parts_sync(s, p, false, err);
			/* The node had no work in this round. */
			if (!p->known)
				s->n_parts--;
		}
	}
	return rc;
}

/* Whether the runner of a part may live, on a node that no query restored. It was requested to
 * stop. */
static bool goes_on(const struct nodes *s, struct part *p, struct part_life *life)
{
	const long node = launcher_find(s->q->launcher, p->node);

	/* The query of a node waits for the end of the runner there. */
	return (node < 0 || !s->offers[node].good) && p->run.state == HES_RUN_GOING &&
	       part_lives(p, life);
}

/* @return 0; -EBUSY one goes on; -EINTR */
static int await_ends(struct nodes *s, struct part_life *lives, struct hes_err *err)
{
	static const struct timespec tenth = { 0, 100000000 };
	const double from_s = hes_monotonic_s();
	struct part *last;
	int rc = 0;

	do {
		last = NULL;
		for (size_t i = 0; i < s->n_parts && !rc; i++) {
			if (!goes_on(s, &s->parts[i], &lives[i]))
				continue;
			last = &s->parts[i];
			rc = parts_sync(s, last, false, err);
		}
		if (last && !rc && offer_is_stopped())
			rc = hes_fail(err, -EINTR,
				      "stopped while runners of an earlier head go on");
		else if (last && !rc && hes_monotonic_s() - from_s > END_WAIT_S)
			rc = hes_fail(err, -EBUSY,
				      "node %s cannot be queried, and its runner, process %lld, "
				      "goes on and writes to %s: end it there",
				      last->node, (long long)last->run.runner.pid,
				      last->run.folder);
		else if (last && !rc)
			nanosleep(&tenth, NULL);
	} while (last && !rc);
	return rc;
}

int parts_find(struct nodes *s, struct hes_err *err)
{
	struct part_life *lives = NULL;
	slurm_name *names = NULL;
	size_t n = 0;
	int rc = find_nodes(s, &names, &n, err);

	if (!rc)
		rc = find_parts(s, names, n, err);
	for (size_t i = 0; i < n; i++)
		nodes_stop(s, names[i]);
	if (!rc && !(lives = calloc(s->n_parts + 1, sizeof(*lives))))
		rc = hes_fail(err, -ENOMEM, "out of memory for %zu nodes", n);
	if (!rc)
		rc = await_ends(s, lives, err);
	for (size_t i = 0; i < s->n_parts && !rc; i++)
		rc = parts_sync(s, &s->parts[i], true, err);
	free(lives);
	free(names);
	return rc;
}
