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
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "app/run_identity.h"
#include "base/clock.h"
#include "base/hash_map.h"
#include "base/visible.h"
#include "launch/job_files.h"
#include "run/run_files.h"

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
		.has_left = live && !live->held && (live->done >= 0 || live->left_us > 0),
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

#define END_BYTES  4096 /* of the file */
#define LINE_BYTES 200  /* of a line; the rest is left out */

/* @return how many bytes of the file's end @out has */
static size_t read_end(const struct hes_job_folder *folder, const char *name, char out[END_BYTES])
{
	int fd = hes_job_file_read(folder, name, NULL);
	off_t size;
	ssize_t n = 0;

	if (fd < 0)
		return 0;
	size = lseek(fd, 0, SEEK_END);
	if (size > 0)
		n = pread(fd, out, END_BYTES, size > END_BYTES ? size - END_BYTES : 0);
	close(fd);
	return n > 0 ? (size_t)n : 0;
}

static char *safe_line(const char *text, size_t len)
{
	char *out = NULL;
	size_t size, part = len < LINE_BYTES ? len : LINE_BYTES;
	FILE *f = open_memstream(&out, &size);

	if (!f)
		return NULL;
	/* A character is not cut in two. */
	while (part < len && part > LINE_BYTES - 4 && ((unsigned char)text[part] & 0xc0) == 0x80)
		part--;
	hes_visible_put_part(f, text, part);
	if (part < len)
		fputs(" ...", f);
	if (!fclose(f))
		return out;
	free(out);
	return NULL;
}

static bool ends_line(char c)
{
	return c == '\n' || c == '\r' || c == '\0';
}

/* From the last line to the first. */
static void take_lines(char *text, size_t n, struct last_lines *out)
{
	char *found[LAST_LINES];
	size_t lines = 0;

	for (size_t end = n, at; end > 0 && lines < LAST_LINES; end = at ? at - 1 : 0) {
		bool blank = true;

		for (at = end; at > 0 && !ends_line(text[at - 1]); at--) {
			text[at - 1] = text[at - 1] == '\t' ? ' ' : text[at - 1];
			blank &= text[at - 1] == ' ';
		}
		found[lines] = blank ? NULL : safe_line(text + at, end - at);
		lines += found[lines] != NULL;
	}
	while (lines)
		out->v[out->n++] = found[--lines];
}

/* @return where the output of the last attempt begins in @text */
static size_t last_attempt(const char *text, size_t n)
{
	static const char line[] = "\n" RUN_OUTPUT_NEXT "\n";
	const char *at = text, *found;
	size_t from = 0;

	while ((found = memmem(at, n - (size_t)(at - text), line, sizeof(line) - 1))) {
		from = (size_t)(found - text) + sizeof(line) - 1;
		at = found + 1;
	}
	return from;
}

void last_lines_read(const char *folder, const char *job, struct last_lines *out)
{
	struct hes_job_folder f = { .fd = -1 };
	char name[RUN_FILE_NAME_MAX], text[END_BYTES];
	size_t n = 0, from;

	*out = (struct last_lines){ 0 };
	run_output_name(job, name);
	if (asprintf(&out->log, "%s/%s", folder, name) < 0)
		out->log = NULL;
	if (!hes_job_folder_open(&f, folder, NULL))
		n = read_end(&f, name, text);
	from = last_attempt(text, n);
	take_lines(text + from, n - from, out);
	hes_job_folder_close(&f);
}

void last_lines_free(struct last_lines *l)
{
	free(l->log);
	for (size_t i = 0; i < l->n; i++)
		free(l->v[i]);
	*l = (struct last_lines){ 0 };
}
