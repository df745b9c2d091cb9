/*
 * figures.c - the table of figures and what they share; see figures.h.
 */
#include "report/figures.h"

#include <math.h>
#include <string.h>

#include "report/text.h"

static bool always(const struct hes_report *r)
{
	(void)r;
	return true;
}

static bool has_few_jobs(const struct hes_report *r)
{
	return r->jobs->n <= FIGURE_MAX_BANDS;
}

static bool has_distributions(const struct hes_report *r)
{
	for (size_t i = 0; i < r->n_policies; i++)
		if (r->policies[i].n_jct)
			return true;
	return false;
}

const struct figure figures[HES_FIGURES] = {
	[HES_FIGURE_FRONT] = { "front", "Energy against completion time",
			       "Each filled point is a policy as it turned out; down and left is "
			       "better. A ring marks what was "
			       "predicted for a policy, a thin line leads from there to what "
			       "happened. The grey curve, where the chosen "
			       "policy has one, is the front of the plans it had to pick from, as "
			       "predicted.",
			       "", always, draw_front },
	[HES_FIGURE_GANTT] = { "gantt", "The plan as it went",
			       "A row is a GPU, a band a job. The height of a band is the job’s "
			       "share of the SMs (a full row is "
			       "100 %), its colour the GPU type, its shade the clock: the paler, "
			       "the slower. Point at a band for "
			       "its job.",
			       "There are too many jobs to draw.", has_few_jobs, draw_gantt },
	[HES_FIGURE_POWER] = { "power", "GPU power",
			       "Power of all GPUs of a type, stacked, so that the upper edge is "
			       "the power of the fleet; idle GPUs "
			       "count. The dashed line is what the fleet draws when nothing runs. "
			       "The time axis is that of the "
			       "chart above.",
			       "", always, draw_power },
	[HES_FIGURE_ENERGY] = { "energy", "Energy by GPU",
				"The coloured part is the energy while the GPU ran anything "
				"(busy), the grey part what it drew idle "
				"until the last job of the fleet ended. The right column is the "
				"part of the time it was busy.",
				"", always, draw_energy },
	[HES_FIGURE_JCT] = { "jct", "Completion times of the jobs",
			     "From arrival to end. A box holds the middle half of the jobs, the "
			     "line in it is the median, the "
			     "diamond the mean, the whiskers reach from the 5th to the 95th "
			     "percentile, a dot is a job.",
			     "There are no completion times to draw.", has_distributions,
			     draw_jct },
};

const char *hes_figure_name(enum hes_figure which)
{
	return figures[which].name;
}

struct type_list fleet_types(const struct hes_fleet *f)
{
	struct type_list l = { 0 };

	l.n = hes_fleet_types(f, l.v, THEME_TYPES);
	return l;
}

size_t type_index(const struct type_list *l, const struct hes_gpu_type *t)
{
	size_t i = 0;

	while (i + 1 < l->n && l->v[i] != t)
		i++;
	return i;
}

enum role type_role(size_t index)
{
	return (enum role)(ROLE_TYPE_0 + index);
}

const char *type_name(const struct type_list *l, size_t index)
{
	return l->n == THEME_TYPES && index + 1 == l->n ? "other types" : l->v[index]->name;
}

double type_legend(struct fig *f, const struct type_list *l, double spare_px)
{
	double x = f->at.left, room = FIG_WIDTH - spare_px - x, wanted = 0;
	char name[2 * HES_NAME_MAX];

	for (size_t i = 0; i < l->n; i++)
		wanted += text_width(type_name(l, i), FIG_FONT) + LEGEND_EXTRA_PX;
	for (size_t i = 0; i < l->n; i++) {
		text_fit(name, sizeof(name), type_name(l, i), FIG_FONT,
			 wanted <= room ? room : room / (double)l->n - LEGEND_EXTRA_PX);
		x = fig_legend(f, x, 14, type_role(i), name);
	}
	return x;
}

size_t shown_gpus(const struct hes_fleet *f)
{
	return f->n < FIGURE_MAX_GPUS ? f->n : FIGURE_MAX_GPUS;
}

double gpu_column(const struct hes_fleet *f)
{
	double widest = 60;

	for (size_t i = 0; i < shown_gpus(f); i++) {
		widest = fmax(widest, text_width(f->gpus[i].name, FIG_FONT));
		widest = fmax(widest, text_width(f->gpus[i].type->name, FIG_SMALL));
	}
	return fmin(widest, 170) + 20;
}

void gpu_label(struct fig *fig, const struct hes_fleet *f, size_t gpu, double y_px, bool two_lines)
{
	char name[2 * HES_NAME_MAX];
	double room = gpu_column(f) - 18;

	text_fit(name, sizeof(name), f->gpus[gpu].name, FIG_FONT, room);
	fig_label(fig, fig->at.left - 10, y_px - (two_lines ? 7 : 0), ALIGN_RIGHT, FIG_FONT,
		  ROLE_INK, "%s", name);
	if (!two_lines)
		return;
	text_fit(name, sizeof(name), f->gpus[gpu].type->name, FIG_SMALL, room);
	fig_label(fig, fig->at.left - 10, y_px + 8, ALIGN_RIGHT, FIG_SMALL, ROLE_MUTED, "%s", name);
}

const char *policy_label(char out[POLICY_LABEL_MAX], const struct hes_report_policy *p)
{
	bool prefers = p->prefer && p->prefer[0];

	snprintf(out, POLICY_LABEL_MAX, "%.*s%s%.*s", HES_NAME_MAX, p->name, prefers ? " · " : "",
		 HES_NAME_MAX, prefers ? p->prefer : "");
	return out;
}
