/*
 * point.h - points: measurements of a co-run set, or of one job alone, at one clock.
 *
 * Points are the facts of profiling; profiles and samples (profile.h) are computed from them. A
 * point has one row for each job; values of the GPU are the same in all of them. A missing reading
 * is NaN, an empty cell in files and NULL in the store, never 0.
 */
#ifndef HESHARE_POINT_H
#define HESHARE_POINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heshare/gpu_type.h"
#include "heshare/job.h"
#include "heshare/profile.h"

#define HES_POINT_COMMAND 1024

/** A row. */
struct hes_point {
	char workload[HES_NAME_MAX];
	char gpu_type[HES_NAME_MAX];
	uint32_t batch_size;
	uint32_t sm_pct;    /* its share */
	uint32_t clock_mhz; /* that was locked; 0: none, and the GPU held held_mhz */
	char co_runners[HES_CO_RUN_TEXT_MAX]; /* the others, "NAME/BATCH@SHARE" sorted, commas
						 between them; "" alone */
	char command[HES_POINT_COMMAND];      /* what ran; hes_point_command() */
	char progress[HES_JOB_PROGRESS + 1];  /* pattern that counted its iterations; "": none */
	/* Of the job. */
	double iteration_us;
	double cv; /* of iteration_us between windows: standard deviation / mean */
	uint32_t windows;
	double seconds;    /* all windows together */
	double memory_mib; /* device memory; NaN with co-runners */
	/* Of the GPU meanwhile. */
	uint32_t power_mw;    /* mean */
	double power_cv;      /* between windows; NaN: the sensor was read once */
	double held_mhz;      /* mean SM clock */
	double capped;        /* part of the time that power or heat held the clock down */
	double busy;          /* parts, 0..1: time with a kernel, ... */
	double memory_busy;   /* ... time with memory traffic, */
	double sm_active;     /* SMs with work, mean over SMs and time */
	double sm_occupancy;  /* active warps, of those possible */
	double dram_active;   /* of the bandwidth */
	double fp32_active;   /* of the FP32 units' cycles */
	double tensor_active; /* of the tensor cores' */
	double pcie_tx_mibs, pcie_rx_mibs; /* MiB a second */
	double temperature_c;              /* mean */
	/* Of the job's process. */
	double time_se;     /* standard error of iteration_us, as a part of it */
	double first_use_s; /* from its start until it first used the GPU */
	double start_s;     /* from its start until its first progress */
	double run_s;       /* a whole run of the command that ended well */
};

struct hes_points {
	struct hes_point *v;
	size_t n;
};

/** What profiling took, start-ups of jobs included. NaN: not measured. */
struct hes_profiling_cost {
	double gpu_s;    /* time of all GPUs together */
	double energy_j; /* by their meters */
};

/**
 * Read a file (docs/formats/profiles.md, .gz too); the order is kept.
 * @param out  written on success only; hes_points_free it
 * @return 0; -EINVAL, -ERANGE with file, line, field and value; -ENODATA no row; -ENOENT a missing
 * column; -E2BIG too many rows, or a row that is too long; -EIO damaged .gz; -ENOMEM; -errno of
 * reading the file
 */
int hes_points_load(const char *path, struct hes_points *out, struct hes_err *err);
/** Write one; @path "-" is standard output. The file is written completely or not at all. @return
 * 0; -errno of creating or writing it */
/**
 * @command as a point has it: one line of text, cut to fit, with "{iterations}" in place of the
 * number @iterations, if that stands in it once. @iterations 0, 1: the number stays
 */
void hes_point_command(const char *command, uint64_t iterations, char out[HES_POINT_COMMAND]);
/**
 * The profile of a job that was measured alone on a whole GPU without a lock. Without counters the
 * utilisation rates of the driver stand in their place.
 * @return false: the GPU did not report what a profile needs; *out is unchanged
 */
bool hes_point_profile(const struct hes_point *p, struct hes_profile *out);
/** Whether two commands of points differ at most in "exec", {iterations} and its option. */
bool hes_point_same_command(const char *a, const char *b);
/** Free what they hold and clear them. */
void hes_points_free(struct hes_points *p);

#endif
