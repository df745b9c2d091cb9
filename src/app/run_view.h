/*
 * run_view.h - what is known of a run from outside: the journal, what its runner publishes while
 * it lives, and what its jobs printed last.
 */
#ifndef HES_APP_RUN_VIEW_H
#define HES_APP_RUN_VIEW_H

#include <stddef.h>

#include "heshare/run.h"

enum run_view_runner {
	RUN_VIEW_NONE, /* the run has ended */
	RUN_VIEW_ALIVE,
	RUN_VIEW_DEAD,
	RUN_VIEW_ELSEWHERE, /* on another machine: whether it lives cannot be seen */
};

#define RUN_VIEW_WARNING_MAX (HES_JOURNAL_PATH_MAX + 80)

/** A job that runs. */
struct run_view_job {
	const struct hes_run_job *job;
	const struct hes_attempt *attempt;
	double done;         /* part of its iterations; below 0: not known */
	uint64_t iterations; /* by its progress; 0: none */
	bool held;
	bool has_left;
	int64_t left_us;
};

struct run_view {
	struct hes_run run;
	enum run_view_runner runner;
	struct hes_run_gpu *gpus;
	size_t n_gpus;
	struct hes_run_job *jobs;
	size_t n_jobs;
	struct hes_attempt *attempts;
	size_t n_attempts;
	struct run_view_job *running;
	size_t n_running;
	size_t waiting, done, failed, early, added;
	bool by_node; /* of several nodes: each has a folder in the run's */
	bool has_live;
	struct hes_run_live live;
	int64_t age_us; /* of live */
	int64_t now_us; /* time of the run */
	bool has_power, has_energy;
	double power_w, energy_j;
	char warnings[2][RUN_VIEW_WARNING_MAX]; /* "": none */
};

/** @param out  run_view_free() it; written only on success */
int run_view_load(struct hes_journal *j, const struct hes_run *run, struct run_view *out,
		  struct hes_err *err);
/** Warn where a run that goes on here cannot write: its folder, and the store. */
void run_view_check(struct run_view *v, const char *store);
void run_view_free(struct run_view *v);

#define LAST_LINES 3

struct last_lines {
	char *log;           /* path of the file; NULL: no memory */
	char *v[LAST_LINES]; /* fit to be printed and for JSON, at most some hundred bytes each */
	size_t n;
};

/** Read the end of a job's output in a run's folder; last_lines_free() it. No lines: there is no
 * output that may be read. */
void last_lines_read(const char *folder, const char *job, struct last_lines *out);
void last_lines_free(struct last_lines *l);

#endif
