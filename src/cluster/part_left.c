/*
 * part_left.c - the parts of earlier heads: found by the rounds' files and the nodes' folders, and
 * copied once their runners have ended; see part.h.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/run_identity.h"
#include "base/grow.h"
#include "base/plural.h"
#include "base/texts.h"
#include "cluster/node.h"
#include "cluster/part.h"

/* Nodes with a journal of this run. free() @out */
static int find_nodes(const struct head *h, slurm_name **out, size_t *n, struct hes_err *err)
{
	DIR *dir = opendir(h->run->folder);
	char path[HES_JOURNAL_PATH_MAX];
	slurm_name *v = NULL, *more;
	const struct dirent *e;
	int rc = dir ? 0 : hes_fail(err, -errno, "%s: %s", h->run->folder, strerror(errno));

	*n = 0;
	while (!rc && (e = readdir(dir))) {
		if (!slurm_name_is_good(e->d_name))
			continue;
		head_path(h, e->d_name, 0, ".db", path);
		if (access(path, F_OK))
			continue;
		more = hes_grow(v, *n, sizeof(*v));
		if (more)
			strcpy((v = more)[(*n)++], e->d_name);
		else
			rc = hes_fail(err, -ENOMEM, "out of memory for %zu nodes", *n);
	}
	if (dir)
		closedir(dir);
	if (*n)
		qsort(v, *n, sizeof(*v), hes_by_text);
	*out = v;
	return rc;
}

int part_find_left(struct head *h, struct hes_err *err)
{
	char path[HES_JOURNAL_PATH_MAX];
	slurm_name *names = NULL;
	uint64_t key;
	size_t n = 0;
	int rc = find_nodes(h, &names, &n, err);

	for (size_t i = 0; i < n && !rc; i++)
		node_request_stop(h, names[i]);
	while (!rc) {
		head_path(h, NULL, h->rounds + 1, ".json", path);
		if (access(path, F_OK))
			break;
		rc = run_round_key(path, &key, err);
		h->rounds += !rc;
		for (size_t i = 0; i < n && !rc; i++) {
			struct part *p =
				part_add(h, names[i], h->rounds, run_part_key(key, names[i]));

			if (p)
				p->state = PART_LEFT;
			else
				rc = hes_fail(err, -ENOMEM, "out of memory for %zu nodes", n);
		}
	}
	free(names);
	return rc;
}

/* The journal is this head's; what earlier heads copied is copied again. */
static int clear_journal(const struct head *h, struct hes_err *err)
{
	int rc = hes_journal_begin(h->q->journal, err);

	if (rc)
		return rc;
	rc = hes_journal_take_over(h->q->journal, h->run, err);
	if (!rc)
		rc = hes_journal_clear(h->q->journal, h->run->id, err);
	return hes_journal_end(h->q->journal, rc, err);
}

/* Whether the runner of a part may live, on a node that no query restored: the query of a node
 * waits for the end of the runner there. It was requested to stop. */
static bool part_goes_on(const struct head *h, struct part *p)
{
	const long node = launcher_find(h->q->launcher, p->node);

	return (node < 0 || !h->offers[node].good) && p->run.state == HES_RUN_GOING &&
	       part_lives(p);
}

static int take_left_part(struct head *h, struct part *p, struct hes_err *err)
{
	int rc = part_sync(h, p, false, err);

	if (!rc && part_goes_on(h, p))
		return hes_fail(err, -EBUSY,
				"node %s cannot be queried, and its runner, process %lld, goes on "
				"and writes to %s: end it there",
				p->node, (long long)p->run.runner.pid, p->run.folder);
	if (!rc)
		rc = part_sync(h, p, true, err);
	if (!rc)
		p->state = PART_OVER;
	return rc;
}

/* Jobs that were given up, or ended early and are not accepted, get another chance. */
static bool job_gets_chance(const struct head *h, size_t job)
{
	return h->state[job] == HES_RUN_JOB_FAILED ||
	       (h->state[job] == HES_RUN_JOB_EARLY && !h->q->early_ok);
}

static int resume_jobs(struct head *h, struct hes_err *err)
{
	const size_t n = h->q->launcher->n, n_jobs = h->q->jobs->n;
	size_t done = 0;
	int rc = hes_journal_begin(h->q->journal, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < n_jobs && !rc; i++) {
		struct hes_run_job waits = { .state = HES_RUN_JOB_WAITING };

		memcpy(waits.job, h->q->jobs->v[i].id, sizeof(waits.job));
		if (job_gets_chance(h, i))
			rc = hes_journal_result(h->q->journal, h->run->id, &waits, err);
	}
	rc = hes_journal_end(h->q->journal, rc, err);
	for (size_t i = 0; i < n_jobs && !rc; i++) {
		done += h->state[i] == HES_RUN_JOB_DONE;
		h->state[i] = job_gets_chance(h, i) ? HES_RUN_JOB_WAITING : h->state[i];
	}
	if (!rc)
		run_tell(&h->log, "run %lld is resumed on %zu node%s: done are %zu of %zu job%s",
			 (long long)h->run->id, n, hes_s(n), done, n_jobs, hes_s(n_jobs));
	return rc;
}

int part_take_left(struct head *h, struct hes_err *err)
{
	int rc = h->cleared ? 0 : clear_journal(h, err);

	h->cleared |= !rc;
	/* In order, as the attempts of a job are counted. */
	for (size_t i = 0; i < h->n_parts && !rc; i++)
		if (h->parts[i].state == PART_LEFT)
			rc = take_left_part(h, &h->parts[i], err);
	if (!rc)
		rc = resume_jobs(h, err);
	h->taken_over = !rc;
	return rc;
}
