/*
 * guard_undo.c - undo the changes to all GPUs and jobs at once; see guard_undo.h.
 *
 * Jobs are killed first: that needs no driver. Then MPS daemons get SIGTERM; clocks are unlocked
 * while they end. Processes that remain are killed.
 */
#include "launch/guard_undo.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "launch/cgroup.h"
#include "launch/members.h"

#define SOON_MS 200
#define LAST_MS                                                                                    \
	8000 /* for a killed process that frees much memory; one that waits in the driver stays in \
		the log */
#define TRIES  10 /* of a setting that the driver refuses */
#define TRY_MS 50

static void pause_ms(int ms)
{
	struct timespec t = { .tv_nsec = ms * 1000000l };

	nanosleep(&t, NULL);
}

/* The processes that the entries of one kind name. */
struct targets {
	struct hes_member_rule *rules;
	char (*pipes)[HES_MPS_PATH_MAX + 8];
	unsigned *found; /* number of processes for each rule */
	size_t n;
};

static void free_targets(struct targets *t)
{
	free(t->rules);
	free(t->pipes);
	free(t->found);
}

/* A pid from a file is the job's leader only if the process has the job's mark; else only its start
 * time is used. */
static struct hes_process leader_of(const struct hes_undo *d)
{
	struct hes_process nobody = { .started = d->job.started };

	return !d->job.pid || d->from_program || hes_process_has_mark(&d->job, d->mark) ? d->job
											: nobody;
}

static int find_targets(struct targets *t, const struct hes_undo_log *l, enum hes_undo_kind kind)
{
	*t = (struct targets){ calloc(l->n + 1, sizeof(*t->rules)),
			       calloc(l->n + 1, sizeof(*t->pipes)),
			       calloc(l->n + 1, sizeof(*t->found)), 0 };
	if (!t->rules || !t->pipes || !t->found) {
		free_targets(t);
		return -ENOMEM;
	}
	for (size_t i = 0; i < l->n; i++) {
		const struct hes_undo *d = &l->v[i];

		if (d->kind != kind)
			continue;
		if (kind == HES_UNDO_MPS)
			snprintf(t->pipes[t->n], sizeof(t->pipes[0]), "%s/pipe", d->dir);
		t->rules[t->n] = (struct hes_member_rule){ .leader = leader_of(d),
							   .mark = d->mark,
							   .cgroup = d->cgroup,
							   .mps_pipe = t->pipes[t->n] };
		t->n++;
	}
	return 0;
}

static int end_targets(struct targets *t, int sig, int wait_ms)
{
	int rc = t->n ? hes_members_end(t->rules, t->n, sig, wait_ms, t->found) : 0;

	for (size_t i = 0; i < t->n && sig == SIGKILL; i++)
		if (hes_cgroup_kill(t->rules[i].cgroup))
			rc = -EPERM;
	return rc;
}

static unsigned count_found(const struct targets *t)
{
	unsigned n = 0;

	for (size_t i = 0; i < t->n; i++)
		n += t->found[i] > 0;
	return n;
}

static void remove_entries(struct hes_undo_file *l, enum hes_undo_kind kind)
{
	for (size_t i = l->log.n; i-- > 0;) {
		if (l->log.v[i].kind != kind)
			continue;
		if (kind == HES_UNDO_JOB)
			hes_cgroup_remove(l->log.v[i].cgroup);
		hes_undo_file_remove(l, &l->log.v[i]);
	}
}

/* @return 1 restored; 0 the GPU is not on this machine or is lost, and a reset forgets the setting;
 * -errno, also where a GPU that NVML refuses may be the one */
static int restore_setting(const struct hes_devices *devices, const struct hes_undo *d,
			   struct hes_err *err)
{
	long i = hes_devices_find(devices, d->uuid);
	int rc = i >= 0 ? 0 : hes_devices_refused(devices, err);

	if (rc == -ENODEV)
		return 0;
	for (int try = 0; i >= 0 && try < TRIES; try++) {
		rc = hes_device_unlock_clock(devices, (size_t)i, err);
		if (!rc || rc == -ENODEV)
			return !rc;
		pause_ms(TRY_MS);
	}
	return rc;
}

static void log_absent(const struct hes_undo_file *l, const struct hes_undo *d)
{
	char text[sizeof(d->uuid) + 80];

	snprintf(text, sizeof(text), "clock of %s: not restored, the GPU is not on this machine",
		 d->uuid);
	hes_undo_file_note(l, text);
}

static void restore_settings(struct hes_undo_file *l, struct hes_devices **devices,
			     struct hes_undone *out, struct hes_err *err)
{
	for (size_t i = l->log.n; i-- > 0;) {
		const struct hes_undo *d = &l->log.v[i];
		int rc;

		if (d->kind != HES_UNDO_CLOCK)
			continue;
		/* In an old file: a program that has the GPU now restores it itself. */
		rc = hes_claim_gpu(&l->claims, d->uuid, err);
		if (!rc && !*devices)
			rc = hes_devices_open(NULL, devices, err);
		if (!rc)
			rc = restore_setting(*devices, d, err);
		if (rc < 0) {
			out->failed++;
			continue;
		}
		if (!rc)
			log_absent(l, d);
		out->clocks += rc > 0;
		hes_undo_file_remove(l, d);
	}
}

static int settle(struct hes_undo_file *l, const struct targets *t, enum hes_undo_kind kind, int rc,
		  unsigned *count, struct hes_undone *out, struct hes_err *err)
{
	*count += count_found(t);
	if (!rc) {
		remove_entries(l, kind);
		return 0;
	}
	out->failed += (unsigned)t->n;
	for (size_t i = 0; kind == HES_UNDO_JOB && i < l->log.n; i++) {
		if (l->log.v[i].kind != kind)
			continue;
		if (out->n_stuck < HES_STUCK_MAX)
			out->stuck[out->n_stuck] = l->log.v[i].job;
		out->n_stuck++;
	}
	return hes_fail(err, rc, "%s cannot be killed: %s",
			kind == HES_UNDO_JOB ? "processes of jobs" : "MPS daemons",
			rc == -EBUSY   ? "they wait in the driver"
			: rc != -EPERM ? strerror(-rc)
				       : "their cgroup holds this process, one above it or one of "
					 "another PID namespace");
}

/* Jobs that were held and could not be killed go on. */
static void release_held(struct hes_undo_file *l)
{
	struct targets t;

	if (find_targets(&t, &l->log, HES_UNDO_HOLD))
		return;
	if (t.n)
		hes_members_continue(t.rules, t.n);
	for (size_t i = 0; i < t.n; i++)
		hes_cgroup_freeze(t.rules[i].cgroup, false);
	free_targets(&t);
	remove_entries(l, HES_UNDO_HOLD);
}

int hes_guard_undo(struct hes_undo_file *l, struct hes_devices **devices, struct hes_undone *out,
		   struct hes_err *err)
{
	struct hes_undone m = { 0 };
	struct targets jobs, mps;
	int rc = find_targets(&jobs, &l->log, HES_UNDO_JOB);

	if (rc)
		return hes_fail(err, rc, "no memory for %zu undo entries", l->log.n);
	rc = find_targets(&mps, &l->log, HES_UNDO_MPS);
	if (rc) {
		free_targets(&jobs);
		return hes_fail(err, rc, "no memory for %zu undo entries", l->log.n);
	}
	rc = end_targets(&jobs, SIGKILL, SOON_MS);
	end_targets(&mps, SIGTERM, 0);
	restore_settings(l, devices, &m, err);
	end_targets(&mps, SIGTERM, SOON_MS);
	settle(l, &mps, HES_UNDO_MPS, end_targets(&mps, SIGKILL, LAST_MS), &m.daemons, &m, err);
	if (rc)
		rc = end_targets(&jobs, SIGKILL, LAST_MS);
	settle(l, &jobs, HES_UNDO_JOB, rc, &m.jobs, &m, err);
	release_held(l);
	remove_entries(l, HES_UNDO_CLAIM);
	hes_cgroup_sweep();
	free_targets(&jobs);
	free_targets(&mps);
	*out = m;
	return m.failed ? -EIO : 0;
}

int hes_guard_end_mps(const char *mps_pipe, int wait_ms)
{
	const struct hes_member_rule rule = { .mark = "", .cgroup = "", .mps_pipe = mps_pipe };

	if (!hes_members_end(&rule, 1, SIGTERM, wait_ms, NULL))
		return 0;
	return hes_members_end(&rule, 1, SIGKILL, LAST_MS, NULL);
}
