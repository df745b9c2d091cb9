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

/* Of the activity, what people see. */
static const enum hes_act shown[] = { HES_ACT_BUSY, HES_ACT_SM, HES_ACT_DRAM };

static double gap_s(const struct hes_measured *m)
{
	double gap = m->seconds - m->power_s;

	return gap > GAP_PART * m->seconds ? gap : 0;
}

static void cell(FILE *f, bool there, int width, int digits, double v)
{
	if (there)
		fprintf(f, " %*.*f", width, digits, v);
	else
		fprintf(f, " %*s", width, "-");
}

/* What a reader has to know before believing the row. */
static void remarks(FILE *f, const struct hes_measured *m)
{
	if (m->lost)
		fputs("     the GPU was lost on the way\n", f);
	if (gap_s(m) > 0)
		fprintf(f, "     no power reading for %.2f s, at the longest %.2f s in a row%s\n",
			gap_s(m), m->longest_gap_s,
			m->known_s < (1 - GAP_PART) * m->seconds ? "; joules are of the rest" : "");
	for (size_t i = 0; i < HES_LEFT_OUTS; i++)
		if (m->left_out & 1u << i)
			fprintf(f, "     left out: %s\n", hes_left_out_text(i));
	if (m->from == HES_ENERGY_COUNTER && gap_s(m) <= 0 && m->energy_j > 0 &&
	    fabs(m->integral_j / m->energy_j - 1) > APART)
		fprintf(f, "     the integral of power is %.1f J: %+.1f %% from the counter%s\n",
			m->integral_j, 100 * (m->integral_j / m->energy_j - 1),
			fabs(m->integral_j / m->energy_j - 1) > WRONG && m->seconds > WRONG_S
				? "; one of them is wrong"
				: "");
}

static void row(FILE *f, const struct measured_gpu *b)
{
	const struct hes_measured *m = &b->m;
	bool known = m->from != HES_ENERGY_UNKNOWN;

	fprintf(f, "%3zu  %-24s", b->index, b->info.name);
	cell(f, known, 11, 1, m->energy_j);
	cell(f, known, 7, 1, m->mean_w);
	cell(f, m->peak_w > 0, 7, 1, m->peak_w);
	cell(f, m->clock_s > 0, 6, 0, m->clock_mhz);
	cell(f, m->reasons_s > 0, 8, 1, m->reasons_s > 0 ? 100 * m->capped_s / m->reasons_s : 0);
	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
		cell(f, m->activity.of[shown[i]].seconds > 0, 6, 1,
		     100 * m->activity.of[shown[i]].value);
	fprintf(f, "  %s\n", sources[m->from]);
	remarks(f, m);
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

	fprintf(f,
		"GPU  %-24s      joules  W mean  W peak    MHz capped %% busy %%   SM %% DRAM %%  "
		"from\n",
		"name");
	for (size_t i = 0; i < n; i++) {
		row(f, &b[i]);
		coarse += b[i].m.activity.from == HES_ACTIVITY_UTILISATION;
		known += b[i].m.from != HES_ENERGY_UNKNOWN;
		joules += b[i].m.from != HES_ENERGY_UNKNOWN ? b[i].m.energy_j : 0;
		watts += b[i].m.from != HES_ENERGY_UNKNOWN ? b[i].m.mean_w : 0;
	}
	fprintf(f, "%.3f s, ", r->seconds);
	if (known)
		fprintf(f, "%.1f J on %zu of %zu GPU%s, %.1f W\n", joules, known, n, hes_s(n),
			watts);
	else
		fputs("joules unknown\n", f);
	measure_late_text(f, r, 0);
	if (coarse)
		fprintf(f,
			"busy %% of %zu GPU%s is NVML's utilisation: time with any kernel; how "
			"much of SMs and memory it used, "
			"a Hopper GPU tells, or DCGM\n",
			coarse, hes_s(coarse));
}

static json_t *activity_json(const struct hes_activity *a)
{
	json_t *o = json_pack("{s:s}", "from", hes_activity_from_name(a->from));

	for (int k = 0; k < HES_ACTS; k++)
		json_object_set_new(o, hes_act_name((enum hes_act)k),
				    cli_json_maybe(a->of[k].seconds > 0, a->of[k].value));
	return o;
}

json_t *measure_left_out_json(unsigned left_out)
{
	json_t *texts = json_array();

	for (size_t i = 0; i < HES_LEFT_OUTS; i++)
		if (left_out & 1u << i)
			json_array_append_new(texts, json_string(hes_left_out_text(i)));
	return texts;
}

static json_t *gpu_json(const struct measured_gpu *b)
{
	const struct hes_measured *m = &b->m;
	bool known = m->from != HES_ENERGY_UNKNOWN;

	return json_pack(
		"{s:I, s:s, s:s, s:o, s:f, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:f, s:f, s:I, s:b, "
		"s:o, s:o}",
		"gpu", (json_int_t)b->index, "name", b->info.name, "uuid", b->info.uuid, "type",
		*b->info.type ? json_string(b->info.type) : json_null(), "seconds", m->seconds,
		"energy_from", sources[m->from], "energy_j", cli_json_maybe(known, m->energy_j),
		"integral_j", cli_json_maybe(m->power_s > 0, m->integral_j), "mean_w",
		cli_json_maybe(known, m->mean_w), "peak_w",
		cli_json_maybe(m->peak_w > 0, m->peak_w), "mean_clock_mhz",
		cli_json_maybe(m->clock_s > 0, m->clock_mhz), "capped_part",
		cli_json_maybe(m->reasons_s > 0, m->reasons_s > 0 ? m->capped_s / m->reasons_s : 0),
		"gap_s", m->seconds - m->power_s, "longest_gap_s", m->longest_gap_s, "samples",
		(json_int_t)m->samples, "lost", m->lost, "left_out",
		measure_left_out_json(m->left_out), "activity", activity_json(&m->activity));
}

json_t *measure_json(const struct measured_run *r, size_t n, double period_s)
{
	json_t *gpus = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(gpus, gpu_json(&r->gpus[i]));
	return json_pack("{s:f, s:f, s:i, s:f, s:o}", "seconds", r->seconds, "late_s", r->late_s,
			 "exit_status", r->status, "period_s", period_s, "gpus", gpus);
}
