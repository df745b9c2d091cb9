/*
 * guard_undo.c - undo duties, all GPUs and jobs at once; see guard_undo.h.
 *
 * Jobs first: what they do on the GPUs ends with them, and it needs no driver. Then
 * MPS is asked to end, clocks and limits are set back while it does, and what is still there is killed.
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
#define LAST_MS 8000  /* for a process that is killed and lets much memory go; one that waits in the driver stays on the list */
#define TRIES 10       /* of a setting that the driver refuses */
#define TRY_MS 50

static void pause_ms(int ms)
{
	struct timespec t = { .tv_nsec = ms * 1000000l };

	nanosleep(&t, NULL);
}

/* What the duties of a kind belong to. */
struct targets {
	struct hes_member_rule *b;
	char                (*pipes)[HES_MPS_PATH_MAX + 8];
	unsigned             *there;  /* of each, how many processes were found */
	size_t                n;
};

static void free_targets(struct targets *t)
{
	free(t->b);
	free(t->pipes);
	free(t->there);
}

/* A number from a file is a job's leader if the process has the job's mark; else only its start tells what is older. */
static struct hes_process leader_of(const struct hes_undo *d)
{
	struct hes_process nobody = { .started = d->job.started };

	return d->kind != HES_UNDO_JOB || d->told || hes_process_has_mark(&d->job, d->mark) ? d->job : nobody;
}

static int find_targets(struct targets *t, const struct hes_undo_log *l, enum hes_undo_kind kind)
{
	*t = (struct targets){ calloc(l->n + 1, sizeof(*t->b)), calloc(l->n + 1, sizeof(*t->pipes)),
			       calloc(l->n + 1, sizeof(*t->there)), 0 };
	if (!t->b || !t->pipes || !t->there) {
		free_targets(t);
		return -ENOMEM;
	}
	for (size_t i = 0; i < l->n; i++) {
		const struct hes_undo *d = &l->d[i];

		if (d->kind != kind)
			continue;
		if (kind == HES_UNDO_MPS)
			snprintf(t->pipes[t->n], sizeof(t->pipes[0]), "%s/pipe", d->dir);
		t->b[t->n] = (struct hes_member_rule){ .leader = leader_of(d), .mark = d->mark, .cgroup = d->cgroup,
						     .mps_pipe = t->pipes[t->n] };
		t->n++;
	}
	return 0;
}

static int end_targets(struct targets *t, int sig, int wait_ms)
{
	int rc = t->n ? hes_members_end(t->b, t->n, sig, wait_ms, t->there) : 0;

	for (size_t i = 0; i < t->n && sig == SIGKILL; i++)
		if (hes_cgroup_kill(t->b[i].cgroup))
			rc = -EPERM;
	return rc;
}

static unsigned count_there(const struct targets *t)
{
	unsigned n = 0;

	for (size_t i = 0; i < t->n; i++)
		n += t->there[i] > 0;
	return n;
}

static void take_off(struct hes_undo_file *l, enum hes_undo_kind kind)
{
	for (size_t i = l->duties.n; i-- > 0; ) {
		if (l->duties.d[i].kind != kind)
			continue;
		hes_cgroup_remove(l->duties.d[i].cgroup);
		hes_undo_file_remove(l, &l->duties.d[i]);
	}
}

/* @return 1 it is set back; 0 the GPU is not on this machine, or is lost: it comes back as it is by default; -errno */
static int set_back(const struct hes_devices *devices, const struct hes_undo *d, struct hes_err *err)
{
	long i = hes_devices_find(devices, d->uuid);
	int rc = 0;

	for (int try = 0; i >= 0 && try < TRIES; try++) {
		rc = d->kind == HES_UNDO_CLOCK ? hes_device_unlock_clock(devices, (size_t)i, err) :
			hes_device_limit_power(devices, (size_t)i, d->power_mw, err);
		if (!rc || rc == -ENODEV)
			return !rc;
		pause_ms(TRY_MS);
	}
	return rc;
}

static void log_absent(const struct hes_undo_file *l, const struct hes_undo *d)
{
	char text[sizeof(d->uuid) + 80];

	snprintf(text, sizeof(text), "%s of %s: not set back, the GPU is not on this machine", d->kind == HES_UNDO_CLOCK ? "clock" :
		 "power limit", d->uuid);
	hes_undo_file_note(l, text);
}

/* Clocks and limits. */
static void set_gpus_back(struct hes_undo_file *l, struct hes_devices **devices, struct hes_undone *out,
			    struct hes_err *err)
{
	for (size_t i = l->duties.n; i-- > 0; ) {
		const struct hes_undo *d = &l->duties.d[i];
		int rc;

		if (d->kind != HES_UNDO_CLOCK && d->kind != HES_UNDO_POWER)
			continue;
		/* A list of before: who has the GPU by now has set it and will set it back. */
		rc = hes_claim_gpu(&l->claims, d->uuid, err);
		if (!rc && !*devices)
			rc = hes_devices_open(devices, err);
		if (!rc)
			rc = set_back(*devices, d, err);
		if (rc < 0) {
			out->failed++;
			continue;
		}
		if (!rc)
			log_absent(l, d);
		out->clocks += rc && d->kind == HES_UNDO_CLOCK;
		out->limits += rc && d->kind == HES_UNDO_POWER;
		hes_undo_file_remove(l, d);
	}
}

static int settle(struct hes_undo_file *l, const struct targets *t, enum hes_undo_kind kind, int rc, unsigned *count,
		  struct hes_undone *out, struct hes_err *err)
{
	*count += count_there(t);
	if (!rc) {
		take_off(l, kind);
		return 0;
	}
	out->failed += (unsigned)t->n;
	for (size_t i = 0; kind == HES_UNDO_JOB && i < l->duties.n; i++) {
		if (l->duties.d[i].kind != kind)
			continue;
		if (out->n_stuck < HES_STUCK_MAX)
			out->stuck[out->n_stuck] = l->duties.d[i].job;
		out->n_stuck++;
	}
	return hes_fail(err, rc, "%s: they cannot be killed: %s", kind == HES_UNDO_JOB ? "processes of jobs" : "MPS daemons",
			rc == -EBUSY ? "they wait in the driver" : rc != -EPERM ? strerror(-rc) :
			"in their cgroup are this process, one above it or one of another PID namespace");
}

int hes_guard_undo(struct hes_undo_file *l, struct hes_devices **devices, struct hes_undone *out, struct hes_err *err)
{
	struct hes_undone m = { 0 };
	struct targets jobs, mps;
	int rc = find_targets(&jobs, &l->duties, HES_UNDO_JOB);

	if (rc)
		return hes_fail(err, rc, "no memory for %zu duties", l->duties.n);
	rc = find_targets(&mps, &l->duties, HES_UNDO_MPS);
	if (rc) {
		free_targets(&jobs);
		return hes_fail(err, rc, "no memory for %zu duties", l->duties.n);
	}
	rc = end_targets(&jobs, SIGKILL, SOON_MS);
	end_targets(&mps, SIGTERM, 0);
	set_gpus_back(l, devices, &m, err);
	end_targets(&mps, SIGTERM, SOON_MS);
	settle(l, &mps, HES_UNDO_MPS, end_targets(&mps, SIGKILL, LAST_MS), &m.daemons, &m, err);
	if (rc)
		rc = end_targets(&jobs, SIGKILL, LAST_MS);
	settle(l, &jobs, HES_UNDO_JOB, rc, &m.jobs, &m, err);
	take_off(l, HES_UNDO_CLAIM);
	hes_cgroup_sweep();
	free_targets(&jobs);
	free_targets(&mps);
	*out = m;
	return m.failed ? -EIO : 0;
}

int hes_guard_end_mps(const char *mps_pipe, int wait_ms)
{
	const struct hes_member_rule b = { .mark = "", .cgroup = "", .mps_pipe = mps_pipe };

	if (!hes_members_end(&b, 1, SIGTERM, wait_ms, NULL))
		return 0;
	return hes_members_end(&b, 1, SIGKILL, LAST_MS, NULL);
}
