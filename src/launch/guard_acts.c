/*
 * guard_acts.c - changes of GPUs and starts of jobs, each with its promise before and its drop after; see guard.h.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "launch/undo_log.h"
#include "launch/guard_undo.h"

#define MPS_MS 1000  /* for a daemon that was asked to end by a signal */

static int gpu_duty(struct hes_undo *out, enum hes_undo_kind kind, const struct hes_devices *d, size_t i,
		      struct hes_err *err)
{
	struct hes_device_info info;
	int rc = hes_device_info(d, i, &info, err);

	if (rc)
		return rc;
	*out = (struct hes_undo){ .kind = kind, .power_mw = info.power_limit_mw };
	memcpy(out->uuid, info.uuid, sizeof(out->uuid));
	return 0;
}

int hes_guard_claim(struct hes_guard *g, const char *uuid, struct hes_err *err)
{
	struct hes_undo duty = { .kind = HES_UNDO_CLAIM };

	snprintf(duty.uuid, sizeof(duty.uuid), "%s", uuid);
	return hes_guard_register(g, &duty, err);
}

static const struct hes_undo *promised(const struct hes_guard *g, const struct hes_undo *d)
{
	const struct hes_undo_log *l = hes_guard_log(g);
	long i = hes_undo_log_find(l, d);

	return i < 0 ? NULL : &l->d[i];
}

/* A setting that the GPU refuses is not one to set back, unless there was one before. */
static int promise_and_set(struct hes_guard *g, const struct hes_devices *d, size_t i, const struct hes_undo *duty,
			   uint32_t value, struct hes_err *err)
{
	bool before = promised(g, duty) != NULL;
	int rc = hes_guard_register(g, duty, err);

	if (rc)
		return rc;
	rc = duty->kind == HES_UNDO_CLOCK ? hes_device_lock_clock(d, i, value, err) : hes_device_limit_power(d, i, value, err);
	if (rc && !before)
		hes_guard_unregister(g, duty, NULL);
	return rc;
}

int hes_guard_lock_clock(struct hes_guard *g, const struct hes_devices *d, size_t i, uint32_t mhz, struct hes_err *err)
{
	struct hes_undo duty;
	int rc = gpu_duty(&duty, HES_UNDO_CLOCK, d, i, err);

	return rc ? rc : promise_and_set(g, d, i, &duty, mhz, err);
}

int hes_guard_unlock_clock(struct hes_guard *g, const struct hes_devices *d, size_t i, struct hes_err *err)
{
	struct hes_undo duty;
	int rc = gpu_duty(&duty, HES_UNDO_CLOCK, d, i, err);

	if (!rc)
		rc = hes_device_unlock_clock(d, i, err);
	return rc ? rc : hes_guard_unregister(g, &duty, err);
}

int hes_guard_limit_power(struct hes_guard *g, const struct hes_devices *d, size_t i, uint32_t mw, struct hes_err *err)
{
	struct hes_undo duty;
	int rc = gpu_duty(&duty, HES_UNDO_POWER, d, i, err);

	if (!rc && !duty.power_mw)
		rc = hes_fail(err, -ENOTSUP, "GPU %zu: it does not tell its power limit, which could not be set back", i);
	return rc ? rc : promise_and_set(g, d, i, &duty, mw, err);
}

int hes_guard_unlimit_power(struct hes_guard *g, const struct hes_devices *d, size_t i, struct hes_err *err)
{
	const struct hes_undo *before;
	struct hes_undo duty;
	int rc = gpu_duty(&duty, HES_UNDO_POWER, d, i, err);

	if (rc)
		return rc;
	before = promised(g, &duty);
	if (!before)
		return 0;
	rc = hes_device_limit_power(d, i, before->power_mw, err);
	return rc ? rc : hes_guard_unregister(g, &duty, err);
}

static void mps_duty(struct hes_undo *out, const char *uuid, const char *dir)
{
	*out = (struct hes_undo){ .kind = HES_UNDO_MPS };
	snprintf(out->uuid, sizeof(out->uuid), "%s", uuid);
	snprintf(out->dir, sizeof(out->dir), "%s", dir);
}

int hes_guard_mps_start(struct hes_guard *g, struct hes_mps *out, const char *uuid, const char *dir, struct hes_err *err)
{
	char pipe[HES_MPS_PATH_MAX + 8];
	struct hes_undo duty;
	int rc;

	mps_duty(&duty, uuid, dir);
	rc = hes_guard_register(g, &duty, err);
	if (rc)
		return rc;
	rc = hes_mps_start(out, uuid, dir, err);
	if (!rc)
		return 0;
	/* A daemon that came, or comes, and does not answer. */
	snprintf(pipe, sizeof(pipe), "%s/pipe", dir);
	if (!hes_guard_end_mps(pipe, MPS_MS))
		hes_guard_unregister(g, &duty, NULL);
	return rc;
}

int hes_guard_mps_quit(struct hes_guard *g, const struct hes_mps *m, unsigned grace_s, struct hes_err *err)
{
	char dir[HES_MPS_PATH_MAX];
	struct hes_undo duty;
	int rc;

	snprintf(dir, sizeof(dir), "%.*s", (int)(strlen(m->pipe_dir) - strlen("/pipe")), m->pipe_dir);
	mps_duty(&duty, m->uuid, dir);
	/* One that does not quit is ended, and so is one that answers no more but has not gone yet. */
	hes_mps_quit(m, grace_s, err);
	rc = hes_guard_end_mps(m->pipe_dir, MPS_MS);
	if (rc)
		return hes_fail(err, rc, "%s: the MPS daemon cannot be killed", m->pipe_dir);
	return hes_guard_unregister(g, &duty, err);
}

static void job_duty(struct hes_undo *out, const struct hes_child *c)
{
	*out = (struct hes_undo){ .kind = HES_UNDO_JOB, .job = c->id };
	memcpy(out->mark, c->mark, sizeof(out->mark));
	memcpy(out->cgroup, c->cgroup, sizeof(out->cgroup));
}

int hes_guard_hold(struct hes_guard *g, const struct hes_launch *l, struct hes_child *out, struct hes_err *err)
{
	struct hes_child c;
	struct hes_undo duty;
	int rc = hes_child_hold(l, &c, err);

	if (rc)
		return rc;
	job_duty(&duty, &c);
	rc = hes_guard_register(g, &duty, err);
	if (rc) {
		hes_child_drop(&c);
		return rc;
	}
	*out = c;
	return 0;
}

int hes_guard_go(struct hes_guard *g, struct hes_child *c, struct hes_err *err)
{
	struct hes_undo duty;
	int rc;

	job_duty(&duty, c);
	rc = hes_child_go(c, err);
	if (rc)
		hes_guard_unregister(g, &duty, NULL);
	return rc;
}

int hes_guard_reap(struct hes_guard *g, struct hes_child *c, struct hes_child_end *out, struct hes_err *err)
{
	struct hes_undo duty;
	int rc;

	job_duty(&duty, c);
	rc = hes_child_reap(c, out);
	if (rc == -EBUSY)
		return hes_fail(err, rc, "what process %d left running is killed and does not end", (int)c->id.pid);
	if (rc > 0 && hes_guard_unregister(g, &duty, err))
		return err ? err->code : -EIO;
	return rc;
}
