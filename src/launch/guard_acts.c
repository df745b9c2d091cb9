/*
 * guard_acts.c - change GPUs and start jobs, with their undo entries; see guard.h.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "launch/undo_log.h"
#include "launch/guard_undo.h"

#define MPS_MS 1000 /* for a daemon to end after a signal */

static int clock_entry(struct hes_undo *out, const struct hes_devices *d, size_t i,
		       struct hes_err *err)
{
	/* A GPU that no longer tells its UUID may still be unlocked. */
	const char *uuid = hes_device_uuid(d, i);
	struct hes_device_info info;
	int rc = *uuid ? 0 : hes_device_info(d, i, &info, err);

	if (rc)
		return rc;
	*out = (struct hes_undo){ .kind = HES_UNDO_CLOCK };
	snprintf(out->uuid, sizeof(out->uuid), "%s", *uuid ? uuid : info.uuid);
	return 0;
}

int hes_guard_claim(struct hes_guard *g, const char *uuid, struct hes_err *err)
{
	struct hes_undo entry = { .kind = HES_UNDO_CLAIM };

	snprintf(entry.uuid, sizeof(entry.uuid), "%s", uuid);
	return hes_guard_register(g, &entry, err);
}

/* A clock that the GPU refuses needs no undo entry, unless there was one before. */
int hes_guard_lock_clock(struct hes_guard *g, const struct hes_devices *d, size_t i, uint32_t mhz,
			 struct hes_err *err)
{
	struct hes_undo entry;
	bool before;
	int rc = clock_entry(&entry, d, i, err);

	if (rc)
		return rc;
	before = hes_undo_log_find(hes_guard_log(g), &entry) >= 0;
	rc = hes_guard_register(g, &entry, err);
	if (rc)
		return rc;
	rc = hes_device_lock_clock(d, i, mhz, err);
	if (rc && !before)
		hes_guard_unregister(g, &entry, NULL);
	return rc;
}

int hes_guard_unlock_clock(struct hes_guard *g, const struct hes_devices *d, size_t i,
			   struct hes_err *err)
{
	struct hes_undo entry;
	int rc = clock_entry(&entry, d, i, err);

	if (!rc)
		rc = hes_device_unlock_clock(d, i, err);
	return rc ? rc : hes_guard_unregister(g, &entry, err);
}

static void mps_entry(struct hes_undo *out, const char *uuid, const char *dir)
{
	*out = (struct hes_undo){ .kind = HES_UNDO_MPS };
	snprintf(out->uuid, sizeof(out->uuid), "%s", uuid);
	snprintf(out->dir, sizeof(out->dir), "%s", dir);
}

int hes_guard_mps_start(struct hes_guard *g, struct hes_mps *out, const char *uuid, const char *dir,
			struct hes_err *err)
{
	char pipe[HES_MPS_PATH_MAX + 8];
	struct hes_undo entry;
	int rc;

	mps_entry(&entry, uuid, dir);
	rc = hes_guard_register(g, &entry, err);
	if (rc)
		return rc;
	rc = hes_mps_start(out, uuid, dir, err);
	if (!rc)
		return 0;
	/* A daemon may run or come up without answering. */
	snprintf(pipe, sizeof(pipe), "%s/pipe", dir);
	if (!hes_guard_end_mps(pipe, MPS_MS))
		hes_guard_unregister(g, &entry, NULL);
	return rc;
}

int hes_guard_mps_quit(struct hes_guard *g, const struct hes_mps *m, unsigned grace_s,
		       struct hes_err *err)
{
	char dir[HES_MPS_PATH_MAX];
	struct hes_undo entry;
	int rc;

	snprintf(dir, sizeof(dir), "%.*s", (int)(strlen(m->pipe_dir) - strlen("/pipe")),
		 m->pipe_dir);
	mps_entry(&entry, m->uuid, dir);
	/* A daemon that does not quit or answer is killed. */
	hes_mps_quit(m, grace_s, err);
	rc = hes_guard_end_mps(m->pipe_dir, MPS_MS);
	if (rc)
		return hes_fail(err, rc, "%s: the MPS daemon cannot be killed", m->pipe_dir);
	return hes_guard_unregister(g, &entry, err);
}

static void job_entry(struct hes_undo *out, enum hes_undo_kind kind, const struct hes_child *c)
{
	*out = (struct hes_undo){ .kind = kind, .job = c->id };
	memcpy(out->mark, c->mark, sizeof(out->mark));
	memcpy(out->cgroup, c->cgroup, sizeof(out->cgroup));
}

int hes_guard_fork(struct hes_guard *g, const struct hes_launch *l, struct hes_child *out,
		   struct hes_err *err)
{
	struct hes_child c;
	struct hes_undo entry;
	int rc = hes_child_fork(l, &c, err);

	if (rc)
		return rc;
	job_entry(&entry, HES_UNDO_JOB, &c);
	rc = hes_guard_register(g, &entry, err);
	if (rc) {
		hes_child_drop(&c);
		return rc;
	}
	*out = c;
	return 0;
}

int hes_guard_go(struct hes_guard *g, struct hes_child *c, struct hes_err *err)
{
	struct hes_undo entry;
	int rc;

	job_entry(&entry, HES_UNDO_JOB, c);
	rc = hes_child_go(c, err);
	if (rc)
		hes_guard_unregister(g, &entry, NULL);
	return rc;
}

int hes_guard_stop(struct hes_guard *g, const struct hes_child *c, struct hes_err *err)
{
	struct hes_undo entry;
	int rc;

	job_entry(&entry, HES_UNDO_HOLD, c);
	rc = hes_guard_register(g, &entry, err);
	if (rc)
		return rc;
	rc = hes_child_stop(c);
	if (!rc)
		return 0;
	/* Some of its processes may be stopped. */
	hes_guard_continue(g, c, NULL);
	return hes_fail(err, rc, "processes of the job cannot be stopped: %s", strerror(-rc));
}

int hes_guard_continue(struct hes_guard *g, const struct hes_child *c, struct hes_err *err)
{
	struct hes_undo entry;

	job_entry(&entry, HES_UNDO_HOLD, c);
	hes_child_continue(c);
	return hes_guard_unregister(g, &entry, err);
}

int hes_guard_reap(struct hes_guard *g, struct hes_child *c, struct hes_child_end *out,
		   struct hes_err *err)
{
	struct hes_undo entry, held;
	int rc;

	job_entry(&entry, HES_UNDO_JOB, c);
	job_entry(&held, HES_UNDO_HOLD, c);
	rc = hes_child_reap(c, out);
	if (rc == -EBUSY)
		return hes_fail(err, rc, "what process %d left running is killed and does not end",
				(int)c->id.pid);
	if (rc > 0 && (hes_guard_unregister(g, &entry, err) || hes_guard_unregister(g, &held, err)))
		return err ? err->code : -EIO;
	return rc;
}
