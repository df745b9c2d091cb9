/*
 * figures.h - the figures of a report. Each has a file draw_NAME.c.
 *
 * A draw function begins and fills its figure; it is called only if the figure applies. All figures
 * share the colours of GPU types and the width of GPU names.
 */
#ifndef HES_REPORT_FIGURES_H
#define HES_REPORT_FIGURES_H

#include "heshare/report.h"
#include "report/fig.h"

struct figure {
	const char *name; /* "gantt" */
	const char *heading;
	const char *caption; /* how to read it, XML */
	const char *absent;  /* said where it does not apply */
	bool (*applies)(const struct hes_report *r);
	int (*draw)(const struct hes_report *r, struct fig *f, struct hes_err *err);
};

extern const struct figure figures[HES_FIGURES];

int draw_front(const struct hes_report *r, struct fig *f, struct hes_err *err);
int draw_gantt(const struct hes_report *r, struct fig *f, struct hes_err *err);
int draw_power(const struct hes_report *r, struct fig *f, struct hes_err *err);
int draw_energy(const struct hes_report *r, struct fig *f, struct hes_err *err);
int draw_jct(const struct hes_report *r, struct fig *f, struct hes_err *err);

/** The types of a fleet, by colour; the last stands for all that are left. */
struct type_list {
	const struct hes_gpu_type *v[THEME_TYPES];
	size_t n;
};
struct type_list fleet_types(const struct hes_fleet *f);
/** @return index into the list */
size_t type_index(const struct type_list *l, const struct hes_gpu_type *t);
enum role type_role(size_t index);
const char *type_name(const struct type_list *l, size_t index);
/** The types along the top of a figure, with @spare_px left to their right. @return x behind them
 */
double type_legend(struct fig *f, const struct type_list *l, double spare_px);

/** GPUs that fit a figure: all, or the first FIGURE_MAX_GPUS. */
#define FIGURE_MAX_GPUS  256
#define FIGURE_MAX_BANDS 20000 /* jobs of a Gantt chart */
size_t shown_gpus(const struct hes_fleet *f);
/** Width of the column of GPU names, left of Gantt chart, power and energy. */
double gpu_column(const struct hes_fleet *f);
/** Name and type of a GPU right-aligned in that column, around y. */
void gpu_label(struct fig *fig, const struct hes_fleet *f, size_t gpu, double y_px, bool two_lines);

/** "heshare · balanced". @return @out */
#define POLICY_LABEL_MAX (2 * HES_NAME_MAX + 8)
const char *policy_label(char out[POLICY_LABEL_MAX], const struct hes_report_policy *p);

#endif
