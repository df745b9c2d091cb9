/*
 * live.c - the state of a run for others: live.json in its folder; see live.h and heshare/run.h.
 *
 * The file is replaced as a whole. It is not synced to the disk: after a crash the journal counts.
 * A run that cannot write it goes on without.
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "run/live.h"

#define LIVE_FILE      "live.json"
#define LIVE_NEW       ".live.json"
#define LIVE_MAX_BYTES ((size_t)64 << 20)
#define LONGEST_S      1e12

/* --- written --- */

int64_t run_left_us(const struct run_live_of *x, int64_t now)
{
	const struct run_tasks *ts = x->tasks;
	const double stretch =
		ts->planned_us > 0 && !x->plans_again ? ts->took_us / ts->planned_us : 1;
	int64_t last_us = 0, left_us;

	for (size_t i = 0; i < ts->n; i++) {
		if (task_state(ts->v[i]) >= TASK_DONE)
			continue;
		if (ts->v[i]->unknown)
			return 0;
		if (ts->v[i]->planned_end_us > last_us)
			last_us = ts->v[i]->planned_end_us;
	}
	left_us = (int64_t)((double)last_us * stretch) - now;
	return left_us > 0 ? left_us : 0;
}

/* Joules up to now, with those since the account last looked. @return false: not known */
static bool joules_so_far(const struct run_live_of *x, const struct run_gpu *g, double *out)
{
	const struct hes_measured *last = &g->energy.last;
	struct hes_measured now;

	if (g->energy.missing || g->lost)
		return false;
	hes_window_look_at(x->meter->window, g->energy.metered, &now);
	*out = (double)(g->before.busy_mj + g->before.idle_mj) * 1e-3 + g->energy.busy_j +
	       g->energy.idle_j + now.energy_j - last->energy_j;
	return true;
}

static void look_at_gpu(const struct run_live_of *x, const struct run_gpu *g,
			struct hes_run_live_gpu *out)
{
	struct hes_reading now = { 0 };

	snprintf(out->gpu, sizeof(out->gpu), "%s", run_gpu_name(g));
	out->has_energy = joules_so_far(x, g, &out->energy_j);
	if (!g->lost)
		hes_device_read(x->gpus->devices, g->device, HES_HAS_POWER | HES_HAS_CLOCK, &now,
				NULL);
	out->has_power = now.has & HES_HAS_POWER;
	out->power_w = now.power_mw * 1e-3;
	out->clock_mhz = now.has & HES_HAS_CLOCK ? now.clock_mhz : 0;
}

static void look_at_job(const struct run_task *t, int64_t now, struct hes_run_live_job *out)
{
	memcpy(out->job, t->job->id, sizeof(out->job));
	out->done = task_part_done(t);
	out->iterations = t->progress.iterations;
	out->held = task_state(t) == TASK_HELD;
	out->left_us = t->unknown && out->done < 0 ? 0 : task_left_us(t, now);
}

void run_live_write(const struct run_live_of *x, int64_t now)
{
	struct hes_run_live l = { .at_us = hes_wall_us(),
				  .now_us = now,
				  .left_us = run_left_us(x, now),
				  .gpus = calloc(x->gpus->n + 1, sizeof(*l.gpus)),
				  .jobs = calloc(x->tasks->n + 1, sizeof(*l.jobs)) };

	for (; l.gpus && l.jobs && l.n_gpus < x->gpus->n; l.n_gpus++) {
		const struct run_gpu *g = &x->gpus->v[l.n_gpus];

		look_at_gpu(x, g, &l.gpus[l.n_gpus]);
		for (uint32_t k = 0; k < run_gpu_started(g); k++)
			look_at_job(g->running[k], now, &l.jobs[l.n_jobs++]);
	}
	if (l.gpus && l.jobs)
		run_live_put(x->log->folder, x->log->run->id, &l);
	hes_run_live_free(&l);
}

static json_t *number_json(bool known, double value)
{
	return known ? json_real(value) : json_null();
}

static json_t *live_json(int64_t run, const struct hes_run_live *l)
{
	json_t *gpus = json_array(), *jobs = json_array();

	for (size_t i = 0; i < l->n_gpus; i++) {
		const struct hes_run_live_gpu *g = &l->gpus[i];

		json_array_append_new(
			gpus, json_pack("{s:s, s:o, s:o, s:o}", "gpu", g->gpu, "power_w",
					number_json(g->has_power, g->power_w), "clock_mhz",
					number_json(g->clock_mhz > 0, g->clock_mhz), "energy_j",
					number_json(g->has_energy, g->energy_j)));
	}
	for (size_t i = 0; i < l->n_jobs; i++) {
		const struct hes_run_live_job *j = &l->jobs[i];

		json_array_append_new(jobs,
				      json_pack("{s:s, s:o, s:I, s:f, s:b}", "job", j->job, "done",
						number_json(j->done >= 0, j->done), "iterations",
						(json_int_t)j->iterations, "left_s",
						j->left_us > 0 ? (double)j->left_us * 1e-6 : 0.0,
						"held", j->held));
	}
	return json_pack("{s:I, s:I, s:f, s:f, s:o, s:o}", "run", (json_int_t)run, "at_us",
			 (json_int_t)l->at_us, "time_s", (double)l->now_us * 1e-6, "left_s",
			 (double)l->left_us * 1e-6, "gpus", gpus, "jobs", jobs);
}

void run_live_put(const struct hes_job_folder *folder, int64_t run, const struct hes_run_live *l)
{
	json_t *doc = hes_json_document("heshare-live", live_json(run, l));
	int fd = -1, rc = -1;

	unlinkat(folder->fd, LIVE_NEW, 0);
	if (doc)
		fd = hes_job_file_make(folder, LIVE_NEW, NULL, NULL);
	if (fd >= 0) {
		rc = json_dumpfd(doc, fd, JSON_COMPACT | JSON_REAL_PRECISION(16));
		close(fd);
	}
	if (!rc)
		renameat(folder->fd, LIVE_NEW, folder->fd, LIVE_FILE);
	json_decref(doc);
}

void run_live_remove(const struct hes_job_folder *folder)
{
	unlinkat(folder->fd, LIVE_NEW, 0);
	unlinkat(folder->fd, LIVE_FILE, 0);
}

/* --- read --- */

/* @return whether @o has this number, from 0 on; null is none */
static bool read_number(const json_t *o, const char *key, double *out)
{
	const json_t *v = json_object_get(o, key);

	*out = json_number_value(v);
	return json_is_number(v) && *out >= 0 && *out <= LONGEST_S;
}

static bool read_us(const json_t *o, const char *key, int64_t *out)
{
	double s;
	bool there = read_number(o, key, &s);

	*out = there ? (int64_t)(s * 1e6) : 0;
	return there;
}

static bool read_name(const json_t *o, const char *key, char out[HES_NAME_MAX])
{
	const char *text = json_string_value(json_object_get(o, key));

	return text && snprintf(out, HES_NAME_MAX, "%s", text) < HES_NAME_MAX;
}

static bool read_gpu(const json_t *o, struct hes_run_live_gpu *g)
{
	double mhz;

	g->has_power = read_number(o, "power_w", &g->power_w);
	g->has_energy = read_number(o, "energy_j", &g->energy_j);
	g->clock_mhz = read_number(o, "clock_mhz", &mhz) && mhz < UINT32_MAX ? (uint32_t)mhz : 0;
	return read_name(o, "gpu", g->gpu);
}

static bool read_job(const json_t *o, struct hes_run_live_job *j)
{
	double iterations;

	if (!read_number(o, "done", &j->done))
		j->done = -1;
	j->held = json_is_true(json_object_get(o, "held"));
	j->iterations = read_number(o, "iterations", &iterations) ? (uint64_t)iterations : 0;
	return read_us(o, "left_s", &j->left_us) && read_name(o, "job", j->job);
}

static bool read_live(const json_t *doc, struct hes_run_live *l)
{
	const json_t *gpus = json_object_get(doc, "gpus"), *jobs = json_object_get(doc, "jobs");
	bool good = read_us(doc, "time_s", &l->now_us) && read_us(doc, "left_s", &l->left_us);

	l->at_us = json_integer_value(json_object_get(doc, "at_us"));
	good &= l->at_us > 0;
	l->n_gpus = json_array_size(gpus);
	l->n_jobs = json_array_size(jobs);
	l->gpus = calloc(l->n_gpus + 1, sizeof(*l->gpus));
	l->jobs = calloc(l->n_jobs + 1, sizeof(*l->jobs));
	good &= l->gpus && l->jobs;
	for (size_t i = 0; good && i < l->n_gpus; i++)
		good = read_gpu(json_array_get(gpus, i), &l->gpus[i]);
	for (size_t i = 0; good && i < l->n_jobs; i++)
		good = read_job(json_array_get(jobs, i), &l->jobs[i]);
	return good;
}

int run_live_document(const struct hes_run *run, const char *name, json_t **out,
		      struct hes_err *err)
{
	struct hes_job_folder f = { .fd = -1 };
	char path[32];
	json_t *doc = NULL;
	int rc = hes_job_folder_open(&f, run->folder, err), fd;

	if (rc)
		return rc;
	fd = hes_job_file_read(&f, name, err);
	hes_job_folder_close(&f);
	if (fd < 0)
		return fd;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	rc = hes_json_load(path, LIVE_MAX_BYTES, &doc, err);
	close(fd);
	if (!rc && json_integer_value(json_object_get(doc, "run")) != run->id) {
		json_decref(doc);
		return hes_fail(err, -ENOENT, "%s/%s: of another run", run->folder, name);
	}
	if (!rc)
		*out = doc;
	return rc;
}

int hes_run_live_load(const struct hes_run *run, struct hes_run_live *out, struct hes_err *err)
{
	struct hes_run_live l = { 0 };
	json_t *doc = NULL;
	int rc = run_live_document(run, LIVE_FILE, &doc, err);

	if (!rc && !read_live(doc, &l))
		rc = hes_fail(err, -EINVAL, "%s/" LIVE_FILE ": not a run's state", run->folder);
	json_decref(doc);
	if (rc)
		hes_run_live_free(&l);
	else
		*out = l;
	return rc;
}

void hes_run_live_free(struct hes_run_live *l)
{
	free(l->gpus);
	free(l->jobs);
	*l = (struct hes_run_live){ 0 };
}
