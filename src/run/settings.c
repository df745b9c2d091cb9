/*
 * settings.c - clocks and MPS of the run's boards: set up, read back, set back; see runner.h.
 *
 * What a board or this user cannot do is told once, and the run goes on without it.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "run/runner.h"

#define VERIFY_US 3000000     /* from a lock to its reading: for clocks to settle under load */
#define QUIT_GRACE_S 5

/* --- clocks --- */

uint32_t run_clock_wanted(const struct run_board *b)
{
	return b->clock_refused ? 0 : run_admit_clock(&b->queue);
}

void run_set_clock(struct runner *r, struct run_board *b, uint32_t mhz)
{
	struct hes_err err;
	int rc;

	if (!mhz || mhz == b->clock_mhz)
		return;
	rc = hes_guard_lock_clock(r->guard, r->q->devices, b->device, mhz, &err);
	if (rc) {
		b->clock_refused = true;
		b->verify_us = RUN_NEVER_US;
		if (!r->clocks_told)
			run_tell(r, "clocks are not set, here and wherever it is so: %s", err.msg);
		r->clocks_told = true;
		return;
	}
	b->clock_mhz = mhz;
	b->verify_us = run_now_us(r) + VERIFY_US;
}

void run_verify_clock(struct runner *r, struct run_board *b)
{
	struct hes_reading now;
	enum hes_lock_state state;

	b->verify_us = RUN_NEVER_US;
	if (b->clock_missed || hes_device_read(r->q->devices, b->device, HES_HAS_CLOCK | HES_HAS_REASONS, &now, NULL))
		return;
	state = hes_lock_state(&now, b->clock_mhz);
	b->clock_missed = state == HES_LOCK_CAPPED || state == HES_LOCK_IGNORED;
	if (b->clock_missed)
		run_tell(r, "%s does not hold its clock: %" PRIu32 " MHz were asked for, it runs at %" PRIu32 " MHz%s", run_gpu_name(r, b),
			 b->clock_mhz, now.clock_mhz, state == HES_LOCK_CAPPED ? ", held down by power or heat" : " and does not say why");
}

void run_settle_clocks(struct runner *r)
{
	for (size_t i = 0; i < r->n_boards; i++) {
		struct run_board *b = &r->boards[i];
		uint32_t mhz = run_clock_wanted(b);

		if (!b->n_residents || !mhz || mhz == b->clock_mhz || r->held)
			continue;
		if (run_act(r, b, NULL, NULL, "lock the clock at %" PRIu32 " MHz", mhz))
			continue;
		run_account(r, b);
		run_set_clock(r, b, mhz);
		run_segment_begin(r, b);
	}
}

/* --- MPS --- */

static void refuse_mps(struct runner *r, struct run_board *b, const struct hes_err *err)
{
	b->mps_on = false;
	b->mps_refused = true;
	if (!r->mps_told)
		run_tell(r, "jobs share without MPS, by turns, here and wherever it is so: %s", err->msg);
	r->mps_told = true;
}

/* @return 0; -errno the journal cannot be written, and nothing was done */
static int start_mps(struct runner *r, struct run_board *b, struct hes_err *why)
{
	struct hes_err err = { 0 };
	int rc = snprintf(b->mps_dir, sizeof(b->mps_dir), "%s/%zu", r->q->mps_folder, b->device) >= (int)sizeof(b->mps_dir)
		? hes_fail(&err, -ENAMETOOLONG, "%s: too long a name", r->q->mps_folder) : 0;

	if (!rc && (mkdir(b->mps_dir, 0755) ? errno != EEXIST : chmod(b->mps_dir, 0755)))
		rc = hes_fail(&err, -errno, "%s: %s", b->mps_dir, strerror(errno));
	if (!rc && run_act(r, b, NULL, why, "start the MPS daemon of %s in %s", b->info.uuid, b->mps_dir))
		return why->code;
	if (!rc)
		rc = hes_guard_mps_start(r->guard, &b->mps, b->info.uuid, b->mps_dir, &err);
	b->mps_due = false;
	b->mps_on = !rc;
	if (rc)
		refuse_mps(r, b, &err);
	return 0;
}

void run_start_mps(struct runner *r)
{
	struct hes_err why;

	for (size_t i = 0; i < r->n_boards && !r->held; i++)
		if (r->boards[i].mps_due && !run_admit_over(&r->boards[i].queue) && start_mps(r, &r->boards[i], &why))
			run_hold(r, &why);
}

void run_open_boards(struct runner *r)
{
	for (size_t i = 0; i < r->n_boards; i++)
		r->boards[i].mps_due = r->boards[i].shares;
	run_start_mps(r);
}

void run_revive_mps(struct runner *r, struct run_board *b)
{
	if (!b->mps_on || hes_mps_alive(&b->mps))
		return;
	run_tell(r, "%s: its MPS daemon is gone or does not answer; another is started", run_gpu_name(r, b));
	/* What the old one left, such as servers, goes first. */
	hes_guard_mps_quit(r->guard, &b->mps, 0, NULL);
	b->mps_on = false;
	b->mps_due = true;
	b->mps_gone++;
}

/* --- back --- */

void run_close_board(struct runner *r, struct run_board *b)
{
	struct hes_err err = { 0 };

	if (b->closed)
		return;
	b->closed = true;
	run_account(r, b);
	if (b->clock_mhz) {
		run_act(r, b, NULL, NULL, "unlock the clock");
		if (hes_guard_unlock_clock(r->guard, r->q->devices, b->device, &err))
			run_tell(r, "%s: its clock stays locked: %s", run_gpu_name(r, b), err.msg);
		b->clock_mhz = 0;
	}
	if (b->mps_on) {
		run_act(r, b, NULL, NULL, "end the MPS daemon of %s", b->info.uuid);
		/* A server whose client is stuck does not end in order. */
		if (!b->stuck && hes_guard_mps_quit(r->guard, &b->mps, QUIT_GRACE_S, &err))
			run_tell(r, "%s: its MPS daemon stays: %s", run_gpu_name(r, b), err.msg);
		b->mps_on = false;
	}
	run_account(r, b);
}
