/*
 * report.h - write an HTML report, or one figure, of a plan's result: Pareto front,
 * Gantt chart, power, energy and completion times.
 *
 * The file needs no other file: figures are inline SVG. Light and dark follow the
 * reader's system. gnuplot, found in PATH, draws the figures; it gets no text from
 * jobs or fleets. The same input gives the same bytes, so there is no date in a
 * report. Pointers are used only during the call.
 */
#ifndef HESHARE_REPORT_H
#define HESHARE_REPORT_H

#include <stdbool.h>

#include "heshare/fleet.h"
#include "heshare/front.h"
#include "heshare/job.h"
#include "heshare/plan.h"
#include "heshare/replay.h"

/** One policy in the comparison. */
struct hes_report_policy {
	const char *name;
	const char *prefer; /* "" or NULL if it has no preference */
	const char *method; /* the policy that made the plan in a file, whose row has the file's
			       name; else NULL */
	struct hes_totals realised;
	int64_t p50_jct_us, p95_jct_us;
	double mean_util; /* 0..1 */
	bool has_prediction;
	struct hes_totals predicted; /* avg_jct_us and busy_energy_mj; valid if has_prediction */
	const double *jct_s;         /* completion time of every job, any order; may be NULL */
	size_t n_jct;
};

struct hes_report {
	const char *title;   /* NULL: "heshare report" */
	const char *command; /* the command that wrote the report, shown at its end; may be NULL */
	bool modelled;       /* replayed on the GPU model; false: measured on GPUs */
	const char *derived; /* GPU types with derived parameters, with commas; NULL or "": none */
	const struct hes_fleet *fleet;
	const struct hes_jobs *jobs;
	const struct hes_plan *plan;     /* the chosen plan, with policy, preference and seed */
	const struct hes_replay *replay; /* of that plan; summarised */
	const struct hes_front *front;   /* predicted, of the chosen policy; NULL or empty: none */
	const struct hes_report_policy *policies; /* in the order of the table */
	size_t n_policies;                        /* at least 1 */
	size_t chosen;                            /* the row that is @plan */
	size_t reference;                         /* differences are against this row */
	uint32_t n_seeds; /* each row is the mean of so many runs; 0 and 1: a single one */
};

#define HES_REPORT_SENTENCE 500

/** @return the row with the least product of average completion time and fleet energy, the first of
 * equals; 0 if @n is 0 */
size_t hes_report_best(const struct hes_report_policy *v, size_t n);

/** @return the row that others are compared with: "exclusive", else the first */
size_t hes_report_reference(const struct hes_report_policy *v, size_t n);

/** @return the row of another method than that of row @best with the least such product; @n: there
 * is none */
size_t hes_report_rival(const struct hes_report_policy *v, size_t n, size_t best);

/**
 * A sentence without its full stop: the best row against the best row of another method, then
 * against "exclusive", then against the best of "static" and "static-equal". Pure.
 * @return whether there is one: rows of two methods, with times and energies above 0; else @out is
 * ""
 */
bool hes_report_sentence(const struct hes_report_policy *v, size_t n, char *out, size_t size);

enum hes_figure {
	HES_FIGURE_FRONT,  /* energy against average completion time, all policies */
	HES_FIGURE_GANTT,  /* the realised plan, a row for each GPU */
	HES_FIGURE_POWER,  /* GPU power over time, by GPU type */
	HES_FIGURE_ENERGY, /* busy and idle energy by GPU */
	HES_FIGURE_JCT,    /* completion times by policy */
	HES_FIGURES
};

/** @return "front", "gantt", "power", "energy", "jct" */
const char *hes_figure_name(enum hes_figure which);

/**
 * Write the report. The file is written completely or not at all; "-" is standard output.
 * @return 0; -EINVAL parts that do not belong together; -ENOENT gnuplot is not
 *         installed; -EIO gnuplot failed; -ENOMEM; -errno of writing the file
 */
int hes_report_write(const char *path, const struct hes_report *r, struct hes_err *err);

/** Write one figure as an SVG file of its own; otherwise like hes_report_write. */
int hes_report_figure(const char *path, enum hes_figure which, const struct hes_report *r,
		      struct hes_err *err);

#endif
