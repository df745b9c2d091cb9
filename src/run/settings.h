/*
 * settings.h - clocks and MPS of the GPUs of a run.
 */
#ifndef HES_RUN_SETTINGS_H
#define HES_RUN_SETTINGS_H

#include "run/account.h"
#include "run/run_log.h"

struct run_settings {
	struct run_log *log;
	struct run_meter *meter;
	struct hes_guard *guard;
	const struct hes_devices *devices;
	const char *mps_folder;
	bool clocks_reported, mps_reported;
};

/** The clock to set for the jobs that run on a GPU, or RUN_UNLOCKED; 0: it stays as it is. */
uint32_t run_clock_wanted(const struct run_gpu *g);
/** Note the act before it. @return as run_act() */
int run_note_clock(struct run_log *log, const struct run_gpu *g, uint32_t mhz, struct hes_err *err);
/** @param mhz  of run_clock_wanted() */
void run_set_clock(struct run_settings *k, struct run_gpu *g, uint32_t mhz);
/** After starts and ends: set the clock that the jobs left want. */
void run_settle_clock(struct run_settings *k, struct run_gpu *g);
/** Read the clock back. */
void run_verify_clock(struct run_settings *k, struct run_gpu *g);

/** Start the MPS daemon, if it is due. If the journal cannot be written the run is paused and the
 * daemon stays due. */
void run_start_mps(struct run_settings *k, struct run_gpu *g);
/** After a failure: if the daemon is gone, another is due. */
void run_revive_mps(struct run_settings *k, struct run_gpu *g);

/** Restore the GPU: clock, MPS. */
void run_close_gpu(struct run_settings *k, struct run_gpu *g);

#endif
