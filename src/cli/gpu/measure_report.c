/*
 * measure_report.c - print measurements; see measure_report.h.
 *
 * Joules and watts of a GPU in a series of runs are known only if they are known in every run.
 */
#include "cli/gpu/measure_report.h"

#include <inttypes.h>
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

static void resumed_text(FILE *f, const struct measured_run *r)
{
	if (r->resumed)
		fprintf(f, "SIGCONT came: if heshare was stopped, and the command ended meanwhile, "
			   "seconds, joules and watts include the time until heshare went on\n");
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
	resumed_text(f, r);
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
	return json_pack("{s:f, s:b, s:i, s:f, s:o}", "seconds", r->seconds, "resumed", r->resumed,
			 "exit_status", r->status, "period_s", period_s, "gpus", table_json(&gpus));
}

enum quantity { SECONDS, JOULES, WATTS };

static const char *const unit_names[] = {
	[SECONDS] = "seconds", [JOULES] = "joules", [WATTS] = "watts"
};

/* Over the runs. */
struct spread {
	bool known;
	size_t n;
	double mean, deviation, min, max; /* deviation of n - 1; valid from two runs on */
};

static bool is_known(const struct measured_series *s, size_t gpu)
{
	bool known = true;

	for (size_t i = 0; i < s->n_runs; i++)
		known = known && s->runs[i].gpus[gpu].m.from != HES_ENERGY_UNKNOWN;
	return known;
}

static size_t count_known(const struct measured_series *s)
{
	size_t n = 0;

	for (size_t g = 0; g < s->n_gpus; g++)
		n += is_known(s, g);
	return n;
}

/* @return @q of run @i: of the GPU @gpu, or of all that are known if @gpu is SIZE_MAX */
static double value_of(const struct measured_series *s, size_t i, size_t gpu, enum quantity q)
{
	const struct measured_run *r = &s->runs[i];
	double sum = 0;

	if (q == SECONDS)
		return r->seconds;
	for (size_t g = 0; g < s->n_gpus; g++)
		if (g == gpu || (gpu == SIZE_MAX && is_known(s, g)))
			sum += q == JOULES ? r->gpus[g].m.energy_j : r->gpus[g].m.mean_w;
	return sum;
}

static struct spread spread_of(const struct measured_series *s, size_t gpu, enum quantity q)
{
	struct spread p = { .n = s->n_runs, .min = INFINITY, .max = -INFINITY };
	double squares = 0;

	p.known = q == SECONDS || (gpu == SIZE_MAX ? count_known(s) > 0 : is_known(s, gpu));
	for (size_t i = 0; i < s->n_runs; i++) {
		const double v = value_of(s, i, gpu, q);

		p.mean += v / (double)s->n_runs;
		p.min = fmin(p.min, v);
		p.max = fmax(p.max, v);
	}
	for (size_t i = 0; i < s->n_runs; i++)
		squares += pow(value_of(s, i, gpu, q) - p.mean, 2);
	p.deviation = s->n_runs > 1 ? sqrt(squares / (double)(s->n_runs - 1)) : 0;
	return p;
}

static void spread_row(struct table *t, const char *heading, const char *who, enum quantity q,
		       struct spread p)
{
	const int digits = q == SECONDS ? 3 : 1;
	char deviation[32];

	snprintf(deviation, sizeof(deviation), "+- %.*f", digits, p.deviation);
	const struct cell row[] = {
		cell_text(NULL, heading, who),
		cell_key(cell_text(NULL, "", unit_names[q])),
		cell_noted(cell_if(p.known, cell_real(NULL, "mean +- dev.", digits, p.mean)),
			   p.known && p.n > 1 ? deviation : NULL),
		cell_if(p.known, cell_real(NULL, "min", digits, p.min)),
		cell_if(p.known, cell_real(NULL, "max", digits, p.max)),
	};
	TABLE_ROW(t, row);
}

void series_text(FILE *f, const struct measured_series *s)
{
	char runs[80], who[160];
	struct table t = { 0 };

	snprintf(runs, sizeof(runs), "%zu run%s", s->n_runs, hes_s(s->n_runs));
	if (s->warmup)
		snprintf(runs, sizeof(runs), "%zu run%s after %" PRIu64 " for warm-up", s->n_runs,
			 hes_s(s->n_runs), s->warmup);
	spread_row(&t, runs, "the command", SECONDS, spread_of(s, SIZE_MAX, SECONDS));
	for (size_t g = 0; g < s->n_gpus; g++) {
		snprintf(who, sizeof(who), "GPU %zu  %s", s->runs[0].gpus[g].index,
			 s->runs[0].gpus[g].info.name);
		spread_row(&t, runs, who, JOULES, spread_of(s, g, JOULES));
		spread_row(&t, runs, "", WATTS, spread_of(s, g, WATTS));
	}
	if (s->n_gpus > 1) {
		snprintf(who, sizeof(who), "%zu of %zu GPUs together", count_known(s), s->n_gpus);
		spread_row(&t, runs, who, JOULES, spread_of(s, SIZE_MAX, JOULES));
		spread_row(&t, runs, "", WATTS, spread_of(s, SIZE_MAX, WATTS));
	}
	cli_print_table(&t, f, 0);
	for (size_t i = 0; i < s->n_runs; i++)
		resumed_text(f, &s->runs[i]);
}

static json_t *spread_json(struct spread p)
{
	return p.known ? json_pack("{s:f, s:o, s:f, s:f}", "mean", p.mean, "deviation",
				   cli_json_maybe(p.n > 1, p.deviation), "min", p.min, "max", p.max)
		       : json_null();
}

json_t *series_json(const struct measured_series *s, int status)
{
	json_t *gpus = json_array(), *runs = json_array();

	for (size_t g = 0; g < s->n_gpus; g++) {
		const struct measured_gpu *b = &s->runs[0].gpus[g];

		json_array_append_new(
			gpus, json_pack("{s:I, s:s, s:s, s:o, s:o}", "gpu", (json_int_t)b->index,
					"name", b->info.name, "uuid", b->info.uuid, "energy_j",
					spread_json(spread_of(s, g, JOULES)), "power_w",
					spread_json(spread_of(s, g, WATTS))));
	}
	for (size_t i = 0; i < s->n_runs; i++)
		json_array_append_new(runs, measure_json(&s->runs[i], s->n_gpus, s->period_s));
	return json_pack("{s:I, s:I, s:i, s:o, s:o, s:o, s:o, s:o}", "requested",
			 (json_int_t)s->requested, "warmup", (json_int_t)s->warmup, "exit_status",
			 status, "seconds", spread_json(spread_of(s, SIZE_MAX, SECONDS)),
			 "energy_j", spread_json(spread_of(s, SIZE_MAX, JOULES)), "power_w",
			 spread_json(spread_of(s, SIZE_MAX, WATTS)), "gpus", gpus, "runs", runs);
}

void series_csv(FILE *f, const struct measured_series *s)
{
	struct table t = { 0 };

	for (size_t i = 0; i < s->n_runs; i++)
		for (size_t g = 0; g < s->n_gpus; g++) {
			const struct measured_gpu *b = &s->runs[i].gpus[g];
			const bool known = b->m.from != HES_ENERGY_UNKNOWN,
				   reasons = b->m.reasons_s > 0;
			const struct cell row[] = {
				cell_count("run", NULL, (int64_t)i + 1),
				cell_count("gpu", NULL, (int64_t)b->index),
				cell_text("name", NULL, b->info.name),
				cell_text("uuid", NULL, b->info.uuid),
				cell_real("seconds", NULL, 0, s->runs[i].seconds),
				cell_count("exit_status", NULL, s->runs[i].status),
				cell_if(known, cell_real("energy_j", NULL, 0, b->m.energy_j)),
				cell_if(known, cell_real("power_w", NULL, 0, b->m.mean_w)),
				cell_if(b->m.peak_w > 0, cell_real("peak_w", NULL, 0, b->m.peak_w)),
				cell_if(b->m.clock_s > 0,
					cell_real("mean_clock_mhz", NULL, 0, b->m.clock_mhz)),
				cell_if(reasons,
					cell_real("capped_part", NULL, 0,
						  reasons ? b->m.capped_s / b->m.reasons_s : 0)),
				cell_real("gap_s", NULL, 0, b->m.seconds - b->m.power_s),
			};

			TABLE_ROW(&t, row);
		}
	table_csv(&t, f);
}
