/*
 * sweep_plot.h - what a sweep found, and its figure; see sweep.h.
 */
#ifndef HES_CLI_SIMULATE_SWEEP_PLOT_H
#define HES_CLI_SIMULATE_SWEEP_PLOT_H

#include "heshare/gpu_type.h"

#define SWEEP_MAX_POINTS (HES_MAX_CLOCKS + 4)

/** One setting: a clock of a type, or a part of the power limits. */
struct sweep_point {
	uint32_t value;                   /* MHz, or % */
	double fleet_energy_j, avg_jct_s; /* means over the sets */
};

/** The points of one type, or of all types. */
struct sweep_curve {
	const char *name; /* of the type; "": all */
	uint32_t default_value;
	struct sweep_point v[SWEEP_MAX_POINTS];
	size_t n, best;
};

/** Write the points as an SVG file: energy against completion time. */
int sweep_draw(const char *path, const struct sweep_curve *curves, size_t n, const char *unit,
	       struct hes_err *err);

#endif
