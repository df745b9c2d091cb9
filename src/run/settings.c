/*
 * settings.c - clocks and MPS of the GPUs of a run; see settings.h.
 *
 * What a GPU or this user cannot do is reported once, and the run goes on without it.
 */
#include "run/settings.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define VERIFY_US    3000000 /* from a lock to its reading: for clocks to settle under load */
#define QUIT_GRACE_S 5
#define BUSY_PCT     50 /* an idle GPU lowers its clock by itself */
#define HELD_PCT     98 /* of the planned clock: where nothing is locked it varies */

/* --- clocks --- */

uint32_t run_clock_wanted(const struct run_gpu *g)
{
	const uint32_t mhz = run_admit_clock(&g->queue);
	const bool as_is = mhz == RUN_UNLOCKED ? !g->lock.mhz : mhz == g->lock.mhz;

	return as_is || g->lock.refused ? 0 : mhz;
}

int run_note_clock(struct run_log *log, const struct run_gpu *g, uint32_t mhz, struct hes_err *err)
{
	return mhz == RUN_UNLOCKED ? run_act(log, run_gpu_name(g), NULL, err, "unlock the clock")
				   : run_act(log, run_gpu_name(g), NULL, err,
					     "lock the clock at %" PRIu32 " MHz", mhz);
}

/* The attempts that run on it have the new clock. */
static void note_attempts_clock(struct run_log *log, struct run_gpu *g)
{
	for (uint32_t i = 0; i < g->n_running; i++) {
		struct hes_attempt *a = &g->running[i]->attempt;

		if (a->clock_mhz == g->lock.mhz)
			continue;
		a->clock_mhz = g->lock.mhz;
		hes_journal_attempt_clock(log->journal, a->id, a->clock_mhz, NULL);
	}
}

void run_set_clock(struct run_settings *k, struct run_gpu *g, uint32_t mhz)
{
	struct hes_err err;
	int rc;

	if (!mhz && !g->lock.mhz)
		g->lock.verify_us = run_now_us(k->log->clock) + VERIFY_US;
	if (!mhz)
		return;
	rc = mhz == RUN_UNLOCKED ? hes_guard_unlock_clock(k->guard, k->devices, g->device, &err)
				 : hes_guard_lock_clock(k->guard, k->devices, g->device, mhz, &err);
	if (rc) {
		g->lock.refused = true;
		g->lock.verify_us = RUN_NEVER_US;
		if (!k->clocks_reported)
			run_tell(k->log, "clocks are not set, here and wherever it is so: %s",
				 err.msg);
		k->clocks_reported = true;
		return;
	}
	g->lock.mhz = mhz == RUN_UNLOCKED ? 0 : mhz;
	g->lock.verify_us = run_now_us(k->log->clock) + VERIFY_US;
	note_attempts_clock(k->log, g);
}

/* Where nothing is locked: a clock that another program has locked is not seen otherwise. Two
 * looks, because the clock rises when work begins. */
static void verify_unlocked(struct run_settings *k, struct run_gpu *g)
{
	const uint32_t expected_mhz = g->running[0]->place->expected_mhz;
	const unsigned what = HES_HAS_CLOCK | HES_HAS_UTILISATION;
	struct hes_reading now;

	if (!expected_mhz ||
	    hes_device_read(k->devices, g->device, what | HES_HAS_REASONS, &now, NULL) ||
	    (now.has & what) != what)
		return;
	if (now.busy_pct >= BUSY_PCT &&
	    (now.power_capped || now.heat_capped || now.clock_mhz * 100 >= expected_mhz * HELD_PCT))
		return;
	if (now.busy_pct < BUSY_PCT || now.clock_mhz != g->lock.low_mhz) {
		g->lock.low_mhz = now.busy_pct < BUSY_PCT ? 0 : now.clock_mhz;
		g->lock.verify_us = run_now_us(k->log->clock) + VERIFY_US;
		return;
	}
	g->lock.missed = g->lock.foreign = true;
	run_tell(k->log,
		 "%s runs at %" PRIu32 " MHz where the plan counts with %" PRIu32
		 " MHz, and this run has locked no clock: if another program has, sudo nvidia-smi "
		 "-i %s -rgc unlocks it",
		 run_gpu_name(g), now.clock_mhz, expected_mhz, g->info.uuid);
}

void run_verify_clock(struct run_settings *k, struct run_gpu *g)
{
	struct hes_reading now;
	enum hes_lock_state state;

	g->lock.verify_us = RUN_NEVER_US;
	if (!g->lock.missed && !g->lock.mhz)
		verify_unlocked(k, g);
	if (g->lock.missed || !g->lock.mhz ||
	    hes_device_read(k->devices, g->device, HES_HAS_CLOCK | HES_HAS_REASONS, &now, NULL))
		return;
	state = hes_lock_state(&now, g->lock.mhz);
	/* Of a clock that is tried it is a result. */
	if (state == HES_LOCK_CAPPED && g->n_running && g->running[0]->clock.on)
		return;
	g->lock.missed = state == HES_LOCK_CAPPED || state == HES_LOCK_IGNORED;
	if (g->lock.missed)
		run_tell(k->log,
			 "%s does not hold its clock: %" PRIu32 " MHz were set, it runs at %" PRIu32
			 " MHz%s",
			 run_gpu_name(g), g->lock.mhz, now.clock_mhz,
			 state == HES_LOCK_CAPPED ? ", held down by power or heat"
						  : " and does not say why");
}

void run_settle_clock(struct run_settings *k, struct run_gpu *g)
{
	const uint32_t mhz = run_clock_wanted(g);

	if (!g->n_running || !mhz || k->log->paused || run_note_clock(k->log, g, mhz, NULL))
		return;
	run_account(k->meter, g);
	run_set_clock(k, g, mhz);
	run_segment_begin(k->meter, g);
}

/* --- MPS --- */

static void refuse_mps(struct run_settings *k, struct run_gpu *g, const struct hes_err *err)
{
	g->mps.on = false;
	g->mps.refused = true;
	/* Nothing was to share, so nothing is missed. */
	if (g->mps.open && !g->exclusive) {
		g->mps.open = g->mps.wanted = false;
		return;
	}
	if (g->exclusive)
		run_admit_one_by_one(&g->queue);
	if (!k->mps_reported)
		run_tell(k->log, "jobs %s, here and wherever it is so: %s",
			 g->exclusive ? "run one at a time, because the compute mode is "
					"Exclusive_Process and MPS does not start"
				      : "share without MPS, by turns",
			 err->msg);
	k->mps_reported = true;
}

/* @return 0; -errno the journal cannot be written, and nothing was done */
static int start_mps(struct run_settings *k, struct run_gpu *g, struct hes_err *why)
{
	struct hes_err err = { 0 };
	int rc = snprintf(g->mps.folder, sizeof(g->mps.folder), "%s/%zu", k->mps_folder,
			  g->device) >= (int)sizeof(g->mps.folder)
			 ? hes_fail(&err, -ENAMETOOLONG, "%s: too long a name", k->mps_folder)
			 : 0;

	if (!rc && (mkdir(g->mps.folder, 0755) ? errno != EEXIST : chmod(g->mps.folder, 0755)))
		rc = hes_fail(&err, -errno, "%s: %s", g->mps.folder, strerror(errno));
	if (!rc && run_act(k->log, run_gpu_name(g), NULL, why, "start the MPS daemon of %s in %s",
			   g->info.uuid, g->mps.folder))
		return why->code;
	if (!rc)
		rc = hes_guard_mps_start(k->guard, &g->mps.daemon, g->info.uuid, g->mps.folder,
					 &err);
	g->mps.due = false;
	g->mps.on = !rc;
	if (rc)
		refuse_mps(k, g, &err);
	return 0;
}

void run_start_mps(struct run_settings *k, struct run_gpu *g)
{
	struct hes_err why;

	if (g->mps.late && !run_gpu_started(g)) {
		g->mps.late = false;
		g->mps.due = true;
	}
	if (!k->log->paused && !g->lost && g->mps.due && !run_admit_over(&g->queue) &&
	    start_mps(k, g, &why))
		run_pause(k->log, &why);
}

void run_revive_mps(struct run_settings *k, struct run_gpu *g)
{
	if (!g->mps.on || hes_mps_alive(&g->mps.daemon))
		return;
	run_tell(k->log, "%s: its MPS daemon is gone or does not answer; another is started",
		 run_gpu_name(g));
	/* What the old one left, such as servers, goes first. */
	hes_guard_mps_quit(k->guard, &g->mps.daemon, 0, NULL);
	g->mps.on = false;
	g->mps.due = true;
	g->mps.gone++;
}

/* --- back --- */

/* Real daemons leave logs, and these stay. */
static void remove_empty_folders(const struct run_gpu *g)
{
	rmdir(g->mps.daemon.pipe_dir);
	rmdir(g->mps.daemon.log_dir);
	rmdir(g->mps.folder);
}

void run_close_gpu(struct run_settings *k, struct run_gpu *g)
{
	struct hes_err err = { 0 };

	if (g->closed)
		return;
	g->closed = true;
	run_account(k->meter, g);
	if (g->lock.mhz) {
		run_act(k->log, run_gpu_name(g), NULL, NULL, "unlock the clock");
		if (hes_guard_unlock_clock(k->guard, k->devices, g->device, &err))
			run_tell(k->log, "%s: its clock stays locked: %s", run_gpu_name(g),
				 err.msg);
		g->lock.mhz = 0;
	}
	if (g->mps.on) {
		run_act(k->log, run_gpu_name(g), NULL, NULL, "end the MPS daemon of %s",
			g->info.uuid);
		/* A server whose client is stuck does not end in order. */
		if (!g->stuck && hes_guard_mps_quit(k->guard, &g->mps.daemon, QUIT_GRACE_S, &err))
			run_tell(k->log, "%s: its MPS daemon stays: %s", run_gpu_name(g), err.msg);
		else if (!g->stuck)
			remove_empty_folders(g);
		g->mps.on = false;
	}
	run_account(k->meter, g);
}
