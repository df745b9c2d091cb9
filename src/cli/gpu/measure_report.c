/*
 * measure_report.c - print measurements as text or JSON; see measure_report.h.
 */
#include "cli/gpu/measure_report.h"

#include <math.h>

#include "base/plural.h"
#include "cli/cli.h"

/* Counter and integral further apart than this are worth a word: a sensor integrates a part of the
 * time. */
#define APART 0.05
/* No two sensors that work are so far apart over so many seconds. */
#define WRONG   0.5
#define WRONG_S 5
/* A gap shorter than this part of the window changes no figure that is shown. */
#define GAP_PART 0.001

static const char *const sources[] = {
	[HES_ENERGY_UNKNOWN] = "unknown",
	[HES_ENERGY_COUNTER] = "counter",
	[HES_ENERGY_INTEGRAL] = "integral",
};

static double gap_s(const struct hes_measured *m)
{
	double gap = m->seconds - m->power_s;

	return gap > GAP_PART * m->seconds ? gap : 0;
}

/* What a reader has to know before believing the row. */
static void remarks(FILE *f, const struct measured_gpu *b)
{
	const struct hes_measured *m = &b->m;

	if (m->lost)
		fprintf(f, "GPU %zu: it was lost on the way\n", b->index);
	if (gap_s(m) > 0)
		fprintf(f,
			"GPU %zu: no power reading for %.2f s, at the longest %.2f s in a row%s\n",
			b->index, gap_s(m), m->longest_gap_s,
			m->known_s < (1 - GAP_PART) * m->seconds ? "; joules are of the rest" : "");
	for (size_t i = 0; i < HES_LEFT_OUTS; i++)
		if (m->left_out & 1u << i)
			fprintf(f, "GPU %zu: left out: %s\n", b->index, hes_left_out_text(i));
	if (m->from == HES_ENERGY_COUNTER && gap_s(m) <= 0 && m->energy_j > 0 &&
	    fabs(m->integral_j / m->energy_j - 1) > APART)
		fprintf(f,
			"GPU %zu: the integral of power is %.1f J: %+.1f %% from the counter%s\n",
			b->index, m->integral_j, 100 * (m->integral_j / m->energy_j - 1),
			fabs(m->integral_j / m->energy_j - 1) > WRONG && m->seconds > WRONG_S
				? "; one of them is wrong"
				: "");
}

static json_t *activity_json(const struct hes_activity *a)
{
	json_t *o = json_pack("{s:s}", "from", hes_activity_from_name(a->from));

	for (int k = 0; k < HES_ACTS; k++)
		json_object_set_new(o, hes_act_name((enum hes_act)k),
				    cli_json_maybe(a->of[k].seconds > 0, a->of[k].value));
	return o;
}

static struct cell activity_cell(const char *heading, const struct hes_measured *m, enum hes_act k)
{
	return cell_if(m->activity.of[k].seconds > 0,
		       cell_real(NULL, heading, 1, 100 * m->activity.of[k].value));
}

static void gpu_row(struct table *t, const struct measured_gpu *b)
{
	const struct hes_measured *m = &b->m;
	const bool known = m->from != HES_ENERGY_UNKNOWN, reasons = m->reasons_s > 0;
	const double capped = reasons ? m->capped_s / m->reasons_s : 0;
	const struct cell row[] = {
		cell_count("gpu", "GPU", (int64_t)b->index),
		cell_text("name", "name", b->info.name),
		cell_text("uuid", NULL, b->info.uuid),
		cell_text("gpu_type", NULL, *b->info.type ? b->info.type : NULL),
		cell_real("seconds", NULL, 0, m->seconds),
		cell_if(known, cell_real("energy_j", "joules", 1, m->energy_j)),
		cell_text("energy_from", "from", sources[m->from]),
		cell_if(m->power_s > 0, cell_real("integral_j", NULL, 0, m->integral_j)),
		cell_if(known, cell_real("power_w", "W mean", 1, m->mean_w)),
		cell_if(m->peak_w > 0, cell_real("peak_w", "W peak", 1, m->peak_w)),
		cell_if(m->clock_s > 0, cell_real("mean_clock_mhz", "MHz", 0, m->clock_mhz)),
		cell_if(reasons, cell_real(NULL, "capped %", 1, 100 * capped)),
		cell_if(reasons, cell_real("capped_part", NULL, 0, capped)),
		activity_cell("busy %", m, HES_ACT_BUSY),
		activity_cell("SM %", m, HES_ACT_SM),
		activity_cell("DRAM %", m, HES_ACT_DRAM),
		cell_real("gap_s", NULL, 0, m->seconds - m->power_s),
		cell_real("longest_gap_s", NULL, 0, m->longest_gap_s),
		cell_count("samples", NULL, (int64_t)m->samples),
		cell_flag("lost", NULL, m->lost),
		cell_json("left_out", measure_left_out_json(m->left_out)),
		cell_json("activity", activity_json(&m->activity)),
	};

	TABLE_ROW(t, row);
}

void measure_late_text(FILE *f, const struct measured_run *r, size_t run)
{
	if (!(r->late_s > 0))
		return;
	if (run)
		fprintf(f, "run %zu: ", run);
	fprintf(f,
		"heshare was stopped until %.3f s after the command's end: joules and watts are of "
		"all %.3f s\n",
		r->late_s, r->seconds + r->late_s);
}

void measure_text(FILE *f, const struct measured_run *r, size_t n)
{
	const struct measured_gpu *b = r->gpus;
	double joules = 0, watts = 0;
	size_t known = 0, coarse = 0;
	struct table t = { 0 };

	for (size_t i = 0; i < n; i++) {
		gpu_row(&t, &b[i]);
		coarse += b[i].m.activity.from == HES_ACTIVITY_UTILISATION;
		known += b[i].m.from != HES_ENERGY_UNKNOWN;
		joules += b[i].m.from != HES_ENERGY_UNKNOWN ? b[i].m.energy_j : 0;
		watts += b[i].m.from != HES_ENERGY_UNKNOWN ? b[i].m.mean_w : 0;
	}
	cli_print_table(&t, f, 0);
	for (size_t i = 0; i < n; i++)
		remarks(f, &b[i]);
	fprintf(f, "%.3f s, ", r->seconds);
	if (known)
		fprintf(f, "%.1f J on %zu of %zu GPU%s, %.1f W\n", joules, known, n, hes_s(n),
			watts);
	else
		fputs("joules unknown\n", f);
	measure_late_text(f, r, 0);
	if (coarse)
		fprintf(f,
			"busy %% of %zu GPU%s is NVML's utilisation: the part of the time with any "
			"kernel. Only a Hopper GPU or DCGM reports how much of SMs and memory was "
			"used.\n",
			coarse, hes_s(coarse));
}

json_t *measure_left_out_json(unsigned left_out)
{
	json_t *texts = json_array();

	for (size_t i = 0; i < HES_LEFT_OUTS; i++)
		if (left_out & 1u << i)
			json_array_append_new(texts, json_string(hes_left_out_text(i)));
	return texts;
}

json_t *measure_json(const struct measured_run *r, size_t n, double period_s)
{
	struct table gpus = { 0 };

	for (size_t i = 0; i < n; i++)
		gpu_row(&gpus, &r->gpus[i]);
	return json_pack("{s:f, s:f, s:i, s:f, s:o}", "seconds", r->seconds, "late_s", r->late_s,
			 "exit_status", r->status, "period_s", period_s, "gpus", table_json(&gpus));
}
