/*
 * run_view.c - what is known of a run from outside; see run_view.h.
 *
 * The journal says what is done and what was begun. Power, progress and times left come from the
 * runner's live.json. Rows are read one table after the other while the runner writes: a job counts
 * as running if it waits for its result and has an open attempt, so that all counts sum to the
 * number of jobs.
 */
#include "app/run_view.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash_map.h"
#include "app/run_identity.h"

#define LEAST_BYTES 65536 /* less is a full disk */

static enum run_view_runner runner_of(const struct hes_run *run)
{
	char host[sizeof(run->host)] = "";

	if (run->state != HES_RUN_GOING)
		return RUN_VIEW_NONE;
	if (run_is_alive(run))
		return RUN_VIEW_ALIVE;
	gethostname(host, sizeof(host) - 1);
	host[strcspn(host, ".")] = '\0';
	return strcmp(host, run->host) == 0 ? RUN_VIEW_DEAD : RUN_VIEW_ELSEWHERE;
}

static const struct hes_run_live_job *live_job(const struct run_view *v, const char *name)
{
	for (size_t i = 0; v->has_live && i < v->live.n_jobs; i++)
		if (strcmp(v->live.jobs[i].job, name) == 0)
			return &v->live.jobs[i];
	return NULL;
}

/* What the runner wrote some time ago, as it is now. */
static void job_runs(struct run_view *v, const struct hes_run_job *job, const struct hes_attempt *a)
{
	const struct hes_run_live_job *live = live_job(v, job->job);
	struct run_view_job *r = &v->running[v->n_running++];

	*r = (struct run_view_job){
		.job = job,
		.attempt = a,
		.done = live ? live->done : -1,
		.iterations = live ? live->iterations : 0,
		.held = live && live->held,
		.has_left = live && (live->done >= 0 || live->left_us > 0),
	};
	if (live)
		r->left_us = live->left_us > v->age_us ? live->left_us - v->age_us : 0;
}

/* An attempt that is open runs if the runner lives. */
static int find_running(struct run_view *v, struct hes_err *err)
{
	struct hes_text_map names = { 0 };
	int rc = hes_text_map_make(&names, v->jobs, sizeof(*v->jobs), v->n_jobs);

	v->running = calloc(v->n_attempts + 1, sizeof(*v->running));
	if (!v->running)
		rc = -ENOMEM;
	for (size_t i = 0; i < v->n_attempts && !rc &&
			   (v->runner == RUN_VIEW_ALIVE || v->runner == RUN_VIEW_ELSEWHERE);
	     i++) {
		const struct hes_attempt *a = &v->attempts[i];
		const uint32_t at = hes_text_map_find(&names, a->job);

		if (a->verdict == HES_VERDICT_OPEN && at != HES_HASH_NONE &&
		    v->jobs[at].state == HES_RUN_JOB_WAITING)
			job_runs(v, &v->jobs[at], a);
	}
	hes_hash_map_finish(&names.map);
	return rc ? hes_fail(err, rc, "out of memory for %zu jobs", v->n_jobs) : 0;
}

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static void count_jobs(struct run_view *v)
{
	for (size_t i = 0; i < v->n_jobs; i++) {
		v->done += v->jobs[i].state == HES_RUN_JOB_DONE;
		v->failed += v->jobs[i].state == HES_RUN_JOB_FAILED;
		v->early += v->jobs[i].state == HES_RUN_JOB_EARLY;
		v->added += v->jobs[i].arrival_us > 0;
		if (v->jobs[i].state != HES_RUN_JOB_WAITING)
			v->now_us = later(v->now_us, v->jobs[i].end_us);
	}
	v->waiting = v->n_jobs - v->done - v->failed - v->early - v->n_running;
	for (size_t i = 0; i < v->n_attempts; i++)
		v->now_us = later(v->now_us, v->attempts[i].verdict == HES_VERDICT_OPEN
						     ? v->attempts[i].started_us
						     : v->attempts[i].ended_us);
}

/* Joules that the journal has: up to the last end of a job on each GPU. */
static void sum_journal(struct run_view *v)
{
	v->has_energy = v->n_gpus > 0;
	for (size_t i = 0; i < v->n_gpus; i++) {
		v->has_energy &= v->gpus[i].measured;
		v->energy_j += (double)(v->gpus[i].busy_mj + v->gpus[i].idle_mj) * 1e-3;
	}
}

static void sum_live(struct run_view *v)
{
	const struct hes_run_live *l = &v->live;

	v->has_energy = l->n_gpus > 0;
	for (size_t i = 0; i < l->n_gpus; i++) {
		v->has_energy &= l->gpus[i].has_energy;
		v->has_power |= l->gpus[i].has_power;
		v->energy_j += l->gpus[i].energy_j;
		v->power_w += l->gpus[i].power_w;
	}
	v->has_power &= v->runner == RUN_VIEW_ALIVE;
	v->now_us = l->now_us + (v->runner == RUN_VIEW_ALIVE ? v->age_us : 0);
}

static void read_live(struct run_view *v)
{
	v->has_live = v->runner != RUN_VIEW_NONE && !hes_run_live_load(&v->run, &v->live, NULL);
	if (v->has_live)
		v->age_us = hes_wall_us() - v->live.at_us;
	v->age_us = v->age_us > 0 ? v->age_us : 0;
}

/* Whether the run's folder has one for the node of its first GPU. */
static bool has_node_folders(const struct run_view *v)
{
	const char *gpu = v->n_gpus ? v->gpus[0].gpu : "", *slash = strrchr(gpu, '/');
	char path[PATH_MAX];
	struct stat st;

	if (!slash)
		return false;
	snprintf(path, sizeof(path), "%s/%.*s", v->run.folder, (int)(slash - gpu), gpu);
	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

int run_view_load(struct hes_journal *j, const struct hes_run *run, struct run_view *out,
		  struct hes_err *err)
{
	struct run_view v = { .run = *run, .runner = runner_of(run) };
	int rc = hes_journal_gpus(j, run->id, &v.gpus, &v.n_gpus, err);

	if (!rc)
		rc = hes_journal_jobs(j, run->id, &v.jobs, &v.n_jobs, err);
	if (!rc)
		rc = hes_journal_attempts(j, run->id, &v.attempts, &v.n_attempts, err);
	read_live(&v);
	if (!rc)
		rc = find_running(&v, err);
	if (rc) {
		run_view_free(&v);
		return rc;
	}
	count_jobs(&v);
	v.by_node = has_node_folders(&v);
	if (v.has_live)
		sum_live(&v);
	else
		sum_journal(&v);
	*out = v;
	return 0;
}

/* @return whether nothing can be written at @path, and why */
static bool place_warning(const char *path, char out[RUN_VIEW_WARNING_MAX])
{
	struct statvfs disk;
	const char *why = "";
	char room[64];

	if (statvfs(path, &disk)) {
		why = errno == ENOENT ? "it was removed" : strerror(errno);
	} else if (disk.f_flag & ST_RDONLY) {
		why = "its disk is read-only";
	} else if (disk.f_files && !disk.f_favail) {
		why = "its disk has no inodes left";
	} else if (disk.f_bavail < LEAST_BYTES / disk.f_frsize) {
		snprintf(room, sizeof(room), "its disk is full: %lu KiB are free",
			 disk.f_bavail * disk.f_frsize >> 10);
		why = room;
	}
	if (*why)
		snprintf(out, RUN_VIEW_WARNING_MAX, "%s: %s", path, why);
	return *why;
}

void run_view_check(struct run_view *v, const char *store)
{
	size_t n = 0;

	if (v->runner != RUN_VIEW_ALIVE && v->runner != RUN_VIEW_DEAD)
		return;
	n += place_warning(v->run.folder, v->warnings[n]);
	place_warning(store, v->warnings[n]);
}

void run_view_free(struct run_view *v)
{
	free(v->gpus);
	free(v->jobs);
	free(v->attempts);
	free(v->running);
	hes_run_live_free(&v->live);
	*v = (struct run_view){ 0 };
}
