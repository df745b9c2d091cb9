/*
 * trace_account.c - what became of a trace's rows, as text and as JSON; see trace_account.h.
 */
#include "cli/trace/trace_account.h"

#include <inttypes.h>
#include <string.h>

#include "base/plural.h"

static double percent(uint64_t part, uint64_t all)
{
	return all ? 100 * (double)part / (double)all : 0;
}

/* Rows before any was left out for its run time. */
static uint64_t rows_of_size(const struct hes_trace_account *a)
{
	return a->rows - trace_skipped(a->skipped) - a->several_gpus;
}

uint64_t trace_skipped(const uint64_t *skipped)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < HES_TRACE_SKIPS; i++)
		sum += skipped[i];
	return sum;
}

json_t *trace_skipped_json(const uint64_t *skipped)
{
	json_t *o = json_object();

	for (size_t i = 0; i < HES_TRACE_SKIPS; i++)
		json_object_set_new(o, hes_trace_skip_keys[i],
				    json_integer((json_int_t)skipped[i]));
	return o;
}

static void print_rows(const struct trace_result *t, FILE *f)
{
	const struct hes_trace_account *a = t->account;

	fprintf(f, "%s (%s): %" PRIu64 " job%s from %" PRIu64 " row%s\n", hes_trace_name(t->trace),
		hes_trace_format_name(t->trace), a->jobs, hes_s(a->jobs), a->rows, hes_s(a->rows));
	if (strcmp(hes_trace_format_name(t->trace), "generator") == 0)
		fprintf(f, "%-12s rows: drawn from distributions\n", "invented");
	for (size_t i = 0; i < HES_TRACE_SKIPS; i++)
		if (a->skipped[i])
			fprintf(f, "%-12s %" PRIu64 " row%s %s\n", "dropped", a->skipped[i],
				hes_s(a->skipped[i]), hes_trace_skip_words[i]);
	if (a->several_gpus)
		fprintf(f, "%-12s %" PRIu64 " row%s on several GPUs; --any-gpus keeps them\n",
			"dropped", a->several_gpus, hes_s(a->several_gpus));
	if (t->options->drop_outside)
		fprintf(f,
			"%-12s %" PRIu64 " row%s (%.1f %%) below %g s, %" PRIu64
			" (%.1f %%) above %g s\n",
			"dropped", a->shorter, hes_s(a->shorter),
			percent(a->shorter, rows_of_size(a)),
			(double)t->options->min_runtime_us / 1e6, a->longer,
			percent(a->longer, rows_of_size(a)),
			(double)t->options->max_runtime_us / 1e6);
	fprintf(f, "%-12s %" PRIu64 " row%s; ", "kept", a->kept, hes_s(a->kept));
	if (a->jobs == a->kept)
		fputs("each is a job\n", f);
	else if (t->options->arrivals == HES_ARRIVALS_TRACE)
		fprintf(f, "%" PRIu64 " of them in a row, from a random one on, are jobs\n",
			a->jobs);
	else
		fprintf(f, "%" PRIu64 " of them, drawn at random, are jobs\n", a->jobs);
}

static void print_runtimes(const struct trace_result *t, FILE *f)
{
	const struct hes_trace_account *a = t->account;
	const double min_s = (double)t->options->min_runtime_us / 1e6,
		     max_s = (double)t->options->max_runtime_us / 1e6;

	if (a->iterated)
		fprintf(f, "%-12s of the trace for %" PRIu64 " job%s\n", "iterations", a->iterated,
			hes_s(a->iterated));
	if (a->iterated == a->jobs)
		return;
	fprintf(f, "%-12s of the trace, alone on %s, in whole iterations\n", "run times",
		t->reference);
	if (!t->clamped || t->options->drop_outside)
		return;
	fprintf(f,
		"%-12s of the rows, %" PRIu64 " (%.1f %%) below %g s, %" PRIu64
		" (%.1f %%) above %g s\n",
		"clamped", a->shorter, percent(a->shorter, a->kept), min_s, a->longer,
		percent(a->longer, a->kept), max_s);
	fprintf(f,
		"%-12s of the jobs, %" PRIu64 " (%.1f %%) raised to %g s, %" PRIu64
		" (%.1f %%) lowered to %g s\n",
		"", a->raised, percent(a->raised, a->jobs), min_s, a->lowered,
		percent(a->lowered, a->jobs), max_s);
	fprintf(f, "%-12s --durations trace keeps them\n", "");
}

void trace_note_zone(const struct hes_trace *t, FILE *f)
{
	if (hes_trace_took_utc(t))
		fprintf(f, "%-12s without a zone are read as UTC; --timezone names another\n",
			"dates");
}

static void print_arrivals(const struct trace_result *t, FILE *f)
{
	const struct hes_trace_options *d = t->options;

	if (d->arrivals == HES_ARRIVALS_TRACE) {
		fprintf(f, "%-12s of the trace; 0 is %.10g s after its first kept row", "arrivals",
			(double)t->account->origin_us / 1e6);
		if (d->speedup != 1)
			fprintf(f, "; divided by %g", d->speedup);
		fputc('\n', f);
	} else if (d->arrivals == HES_ARRIVALS_BURST) {
		fprintf(f, "%-12s arrivals: all at 0\n", "invented");
	} else {
		fprintf(f, "%-12s arrivals: Poisson, mean gap %g s in the first third, then %g s\n",
			"invented", d->first_gap_s, d->gap_s);
	}
}

static void print_workloads(const struct trace_result *t, FILE *f)
{
	const struct hes_trace_account *a = t->account;
	const uint64_t named = a->named + a->nearest + a->named_alone, drawn = a->jobs - named;
	const uint64_t batches = drawn + a->named_alone; /* drawn */

	if (named)
		fprintf(f, "%-12s of the trace for %" PRIu64 " job%s\n", "workloads", named,
			hes_s(named));
	if (a->named + a->nearest)
		fprintf(f,
			"%-12s of the trace for %" PRIu64
			" job%s, the nearest there is for %" PRIu64 "\n",
			"batch sizes", a->named, hes_s(a->named), a->nearest);
	if (drawn)
		fprintf(f, "%-12s workloads of %" PRIu64 " job%s, drawn at random\n", "invented",
			drawn, hes_s(drawn));
	if (a->unknown)
		fprintf(f,
			"%-12s %" PRIu64
			" of these name one that is not among the choices, such as %s\n",
			"", a->unknown, a->unknown_workload);
	if (batches)
		fprintf(f, "%-12s batch sizes of %" PRIu64 " job%s, drawn at random\n", "invented",
			batches, hes_s(batches));
}

void trace_account_print(const struct trace_result *t, FILE *f)
{
	print_rows(t, f);
	print_runtimes(t, f);
	print_arrivals(t, f);
	trace_note_zone(t->trace, f);
	print_workloads(t, f);
}

json_t *trace_account_json(const struct trace_result *t)
{
	static const char *const arrivals[] = {
		[HES_ARRIVALS_POISSON] = "poisson",
		[HES_ARRIVALS_BURST] = "burst",
		[HES_ARRIVALS_TRACE] = "trace",
	};
	const struct hes_trace_account *a = t->account;
	const uint64_t named = a->named + a->nearest + a->named_alone, drawn = a->jobs - named;
	const uint64_t batches = drawn + a->named_alone; /* drawn */
	json_t *limits = t->clamped ? json_pack("{s:f, s:f}", "min_s",
						(double)t->options->min_runtime_us / 1e6, "max_s",
						(double)t->options->max_runtime_us / 1e6)
				    : json_null();
	json_t *rows = json_pack("{s:I, s:I, s:o, s:I, s:I, s:I, s:I}", "read", (json_int_t)a->rows,
				 "skipped", (json_int_t)trace_skipped(a->skipped), "skipped_by",
				 trace_skipped_json(a->skipped), "several_gpus",
				 (json_int_t)a->several_gpus, "shorter", (json_int_t)a->shorter,
				 "longer", (json_int_t)a->longer, "kept", (json_int_t)a->kept);
	json_t *jobs = json_pack("{s:I, s:I, s:I}", "drawn", (json_int_t)a->jobs, "raised",
				 (json_int_t)a->raised, "lowered", (json_int_t)a->lowered);
	json_t *invented = json_pack("{s:b, s:I, s:I, s:I}", "arrivals",
				     t->options->arrivals != HES_ARRIVALS_TRACE, "workloads",
				     (json_int_t)drawn, "batch_sizes", (json_int_t)batches,
				     "nearest_batch_sizes", (json_int_t)a->nearest);
	json_t *origin = t->options->arrivals == HES_ARRIVALS_TRACE
				 ? json_real((double)a->origin_us / 1e6)
				 : json_null();

	return json_pack("{s:s, s:s, s:o, s:b, s:o, s:o, s:s, s:o, s:f, s:o, s:I, s:s, s:s}",
			 "source", hes_trace_name(t->trace), "log_format",
			 hes_trace_format_name(t->trace), "rows", rows, "dropped_outside",
			 t->options->drop_outside, "runtime_limits", limits, "jobs", jobs,
			 "arrivals", arrivals[t->options->arrivals], "origin_s", origin, "speedup",
			 t->options->speedup, "invented", invented, "unknown_workloads",
			 (json_int_t)a->unknown, "unknown_workload", a->unknown_workload,
			 "reference", t->reference);
}
