/*
 * measure_series.c - print repeated measurements; see measure_series.h.
 *
 * Joules and watts of a GPU are known only if they are known in every run.
 */
#include "cli/gpu/measure_series.h"

#include <inttypes.h>
#include <math.h>

#include "base/plural.h"
#include "cli/cli.h"

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
		measure_late_text(f, &s->runs[i], i + 1);
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
