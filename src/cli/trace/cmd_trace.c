/*
 * cmd_trace.c - `heshare trace`: draw jobs from cluster logs or from a generator.
 *
 * The table of workloads that jobs may run comes from the GPU model or from measured profiles
 * (src/app/trace_draw.c).
 */
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/plural.h"
#include "base/texts.h"
#include "cli/cli.h"
#include "cli/inputs/inputs.h"
#include "cli/commands.h"
#include "app/catalogue.h"
#include "app/trace_draw.h"
#include "cli/trace/trace_account.h"
#include "heshare/trace.h"

struct trace_opts {
	const char *output, *format, *columns, *timezone, *arrivals, *durations, *mix, *profiles,
		*workloads, *reference, *catalogue;
	uint64_t jobs, rows, seed, max_memory_mib;
	double min_s, max_s, gap_s, first_gap_s, speedup;
	const char *jobs_given, *min_given, *max_given;
	bool burst, drop, any_gpus, list, stats, json;
};

static const char *const arrival_names[] = { "poisson", "burst", "trace", NULL };
static const char *const duration_names[] = { "clamp", "trace", NULL };
static const char *const mix_names[] = { "low", "medium", "high", "all", NULL };

static void offer_formats(opt_say_fn *say, void *ctx)
{
	for (size_t i = 0; hes_trace_formats[i]; i++)
		say(hes_trace_formats[i]->name, ctx);
}

static void offer_fields(opt_say_fn *say, void *ctx)
{
	for (size_t i = 0; hes_trace_fields[i]; i++) {
		char name[HES_NAME_MAX];

		snprintf(name, sizeof(name), "%s=", hes_trace_fields[i]);
		say(name, ctx);
	}
}

#define AT(member)        .offset = offsetof(struct trace_opts, member)
#define TEXT_OF_NUMBER(n) #n
#define TEXT_OF(macro)    TEXT_OF_NUMBER(macro)

/* clang-format off */
static const struct opt trace_opts[] = {
	{ .heading = "jobs",
	  .name = "output", .letter = 'o', .kind = OPT_FILE, AT(output), .arg = "FILE", .def = "-",
	  .written = true, .without = "stats,list",
	  .help = "write the jobs to this file; -: standard output" },
	{ .name = "jobs", .letter = 'n', .kind = OPT_U64, AT(jobs),
	  .given = offsetof(struct trace_opts, jobs_given), .arg = "N", .def = "60",
	  .max = HES_MAX_JOBS, .without = "stats,list",
	  .help = "draw this many jobs; 0: take every one; without it, at most 60" },
	{ .name = "seed", .letter = 's', .kind = OPT_U64, AT(seed), .arg = "N", .def = "1",
	  .max = 0x1p64, .without = "list", .help = "seed of the random choices" },
	{ .heading = "workloads",
	  .name = "mix", .kind = OPT_CHOICE, AT(mix), .arg = "CLASS", .def = "all",
	  .choices = mix_names, .without = "stats,list", .help = "choose workloads of this load" },
	{ .name = "workloads", .kind = OPT_TEXT, AT(workloads), .arg = "A,B,...",
	  .offer = offer_workloads, .many = true, .without = "stats,list",
	  .help = "choose from these workloads only (heshare model --list)" },
	{ .heading = "arrivals",
	  .name = "arrivals", .kind = OPT_CHOICE, AT(arrivals), .arg = "HOW", .def = "poisson",
	  .choices = arrival_names, .without = "stats,list",
	  .help = "how jobs arrive; trace: as in the log" },
	{ .name = "burst", .kind = OPT_FLAG, AT(burst), .without = "stats,list",
	  .help = "let all jobs arrive at once, same as --arrivals burst" },
	{ .name = "gap", .kind = OPT_DOUBLE, AT(gap_s), .arg = "S", .def = "60", .min = 1e-3,
	  .max = 1e6, .without = "stats,list",
	  .help = "mean time between Poisson arrivals, seconds" },
	{ .name = "first-gap", .kind = OPT_DOUBLE, AT(first_gap_s), .arg = "S", .def = "30",
	  .min = 1e-3, .max = 1e6, .without = "stats,list",
	  .help = "the same for the first third of the jobs" },
	{ .name = "speedup", .kind = OPT_DOUBLE, AT(speedup), .arg = "X", .def = "1", .min = 1e-3,
	  .max = 1e6, .without = "stats,list",
	  .help = "divide the arrival times of the log by X (--arrivals trace)" },
	{ .heading = "run times and GPUs",
	  .name = "durations", .kind = OPT_CHOICE, AT(durations), .arg = "HOW", .def = "clamp",
	  .choices = duration_names, .without = "stats,list",
	  .help = "how long jobs run; clamp: between the two limits below; trace: as in the log" },
	{ .name = "min-runtime", .kind = OPT_DOUBLE, AT(min_s),
	  .given = offsetof(struct trace_opts, min_given), .arg = "S", .def = "120", .min = 1e-3,
	  .max = 1e8, .without = "stats,list", .help = "shortest run time, seconds" },
	{ .name = "max-runtime", .kind = OPT_DOUBLE, AT(max_s),
	  .given = offsetof(struct trace_opts, max_given), .arg = "S", .def = "6082", .min = 1e-3,
	  .max = 1e8, .without = "stats,list", .help = "longest run time, seconds" },
	{ .name = "drop", .kind = OPT_FLAG, AT(drop), .without = "stats,list",
	  .help = "leave out jobs outside of these limits instead of clamping them" },
	{ .name = "any-gpus", .kind = OPT_FLAG, AT(any_gpus), .without = "stats,list",
	  .help = "also draw from jobs on several GPUs, as jobs on one GPU" },
	{ .heading = "the log",
	  .name = "format", .kind = OPT_CHOICE, AT(format), .arg = "NAME", .offer = offer_formats,
	  .without = "list", .help = "format of the log, if its columns do not show it" },
	{ .name = "columns", .kind = OPT_TEXT, AT(columns), .arg = "FIELD=COLUMN,...",
	  .offer = offer_fields, .many = true, .without = "list,format",
	  .help = "columns of a log of your own, by name or number, with a unit (runtime=took:min, "
		  "gpus=9:percent). Needed: runtime, or start and end, or iterations" },
	{ .name = "timezone", .kind = OPT_TEXT, AT(timezone), .arg = "ZONE", .without = "list",
	  .help = "zone of dates without one, such as Europe/Berlin; without it, UTC" },
	{ .name = "rows", .kind = OPT_U64, AT(rows), .arg = "N", .def = TEXT_OF(TRACE_ROWS),
	  .min = 1, .max = HES_MAX_JOBS, .without = "list",
	  .help = "jobs that the generator makes, to draw from" },
	{ .heading = "time and memory of workloads",
	  .name = "profiles", .kind = OPT_FILE, AT(profiles), .arg = "FILE",
	  .without = "stats,list",
	  .help = "take iteration times and memory from this profiles.csv, or its folder, instead "
		  "of the model" },
	{ .name = "reference", .kind = OPT_TEXT, AT(reference), .arg = "TYPE",
	  .def = TRACE_REFERENCE, .offer = offer_gpu_types, .without = "stats,list",
	  .help = "GPU type on which a job alone has its run time" },
	CLI_CATALOGUE_OPT(offsetof(struct trace_opts, catalogue)),
	{ .name = "max-memory", .kind = OPT_U64, AT(max_memory_mib), .arg = "MIB",
	  .def = TEXT_OF(TRACE_MAX_MEMORY_MIB), .min = 1, .max = 16777216, .without = "stats,list",
	  .help = "memory of the largest job, MiB; the default fits a T4" },
	{ .heading = "information",
	  .name = "list", .kind = OPT_FLAG, AT(list), .alone = true,
	  .help = "list the formats and generators" },
	{ .name = "stats", .kind = OPT_FLAG, AT(stats), .without = "list",
	  .help = "summarise SOURCE instead of drawing jobs" },
	{ .name = "json", .kind = OPT_FLAG, AT(json),
	  .help = "print --list, --stats, or with -o what became of the rows, as one JSON "
		  "document" },
	{ 0 }
};
/* clang-format on */

static json_t *format_json(const struct hes_trace_format *f)
{
	json_t *layouts = json_array();

	for (size_t i = 0; i < HES_TRACE_LAYOUTS && f->layouts[i]; i++) {
		json_t *columns = json_array();

		for (size_t k = 0; f->layouts[i][k]; k++)
			json_array_append_new(columns, json_string(f->layouts[i][k]));
		json_array_append_new(layouts, columns);
	}
	return json_pack("{s:s, s:s, s:s, s:o}", "name", f->name, "kind", "log", "summary",
			 f->summary, "layouts", layouts);
}

static void format_row(struct table *t, const char *name, const char *what)
{
	const struct cell row[] = {
		cell_text(NULL, "format", name),
		cell_text(NULL, "what it is, and its columns", what),
	};

	TABLE_ROW(t, row);
}

static void format_rows(struct table *t, const struct hes_trace_format *f)
{
	format_row(t, f->name, f->summary);
	for (size_t i = 0; i < HES_TRACE_LAYOUTS && f->layouts[i]; i++) {
		char columns[512] = "columns: ";

		for (size_t k = 0; f->layouts[i][k]; k++)
			hes_text_add(columns, sizeof(columns), k ? ", " : "", "%s",
				     f->layouts[i][k]);
		format_row(t, "", columns);
	}
}

static const char generator_summary[] =
	"jobs made up from distributions fitted to Helios; no file needed";

static int list(bool json)
{
	json_t *doc = json ? json_array() : NULL;
	struct table t = { 0 };

	for (size_t i = 0; hes_trace_formats[i]; i++) {
		const struct hes_trace_format *f = hes_trace_formats[i];

		if (json)
			json_array_append_new(doc, format_json(f));
		else
			format_rows(&t, f);
	}
	if (!json)
		format_row(&t, HES_TRACE_GENERATOR, generator_summary);
	else
		json_array_append_new(doc,
				      json_pack("{s:s, s:s, s:s}", "name", HES_TRACE_GENERATOR,
						"kind", "generator", "summary", generator_summary));
	cli_print_table(&t, stdout, 0);
	return json ? cli_print_json("heshare-trace-list", json_pack("{s:o}", "formats", doc)) : 0;
}

/* Make @zone that of the process. @return false: it is not known here */
static bool set_timezone(const char *zone)
{
	const char *folder = getenv("TZDIR");
	char path[PATH_MAX];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", folder ? folder : "/usr/share/zoneinfo", zone);
	if (*zone == '/' || strstr(zone, "..") ||
	    ((stat(path, &st) || !S_ISREG(st.st_mode)) && strcmp(zone, "UTC") != 0))
		return false;
	setenv("TZ", zone, 1);
	tzset();
	return true;
}

static const char *const size_names[HES_TRACE_GPU_SIZES] = { "<1",  "1",    "2",  "3-4",
							     "5-8", "9-16", ">16" };

static json_t *quantiles_json(const int64_t *us)
{
	json_t *doc = json_object();

	for (size_t i = 0; i < HES_TRACE_QUANTILES; i++) {
		char name[16];

		snprintf(name, sizeof(name), "p%g", hes_trace_quantiles[i] * 100);
		json_object_set_new(doc, name, json_real((double)us[i] / 1e6));
	}
	return doc;
}

static double per_hour(const struct hes_trace_summary *s)
{
	return s->span_us ? (double)(s->jobs - 1) / ((double)s->span_us / 3.6e9) : 0;
}

static int print_stats_json(const struct hes_trace *t, const struct hes_trace_summary *s)
{
	json_t *sizes = json_object(), *hours = json_array();

	for (size_t i = 0; i < HES_TRACE_GPU_SIZES; i++)
		json_object_set_new(sizes, size_names[i], json_integer((json_int_t)s->by_gpus[i]));
	for (size_t i = 0; i < 24; i++)
		json_array_append_new(hours, json_integer((json_int_t)s->by_hour[i]));
	return cli_print_json(
		"heshare-trace-stats",
		json_pack("{s:s, s:s, s:I, s:I, s:o, s:f, s:f, s:f, s:f, s:o, s:o, s:o, s:o}",
			  "source", hes_trace_name(t), "log_format", hes_trace_format_name(t),
			  "jobs", (json_int_t)s->jobs, "skipped",
			  (json_int_t)trace_skipped(s->skipped), "skipped_by",
			  trace_skipped_json(s->skipped), "span_s", (double)s->span_us / 1e6,
			  "jobs_per_hour", per_hour(s), "gpu_hours", s->gpu_hours, "mean_runtime_s",
			  s->mean_runtime_s, "runtime_s", quantiles_json(s->runtime_us), "gap_s",
			  quantiles_json(s->gap_us), "jobs_by_gpus", sizes, "jobs_by_hour", hours));
}

/* A row with a column for each quantile. */
static void quantiles_row(struct table *t, const char *name, const int64_t *us)
{
	struct cell row[1 + HES_TRACE_QUANTILES] = { cell_text(NULL, "quantile %", name) };
	char headings[HES_TRACE_QUANTILES][16];

	for (size_t i = 0; i < HES_TRACE_QUANTILES; i++) {
		snprintf(headings[i], sizeof(headings[i]), "%g", hes_trace_quantiles[i] * 100);
		row[1 + i] = cell_real(NULL, headings[i], -6, (double)us[i] / 1e6);
	}
	TABLE_ROW(t, row);
}

static void print_quantiles(const struct hes_trace_summary *s)
{
	struct table t = { 0 };

	quantiles_row(&t, "run time s", s->runtime_us);
	quantiles_row(&t, "arrival gap s", s->gap_us);
	cli_print_table(&t, stdout, 0);
}

static void print_sizes(const struct hes_trace_summary *s)
{
	struct cell row[1 + HES_TRACE_GPU_SIZES] = { cell_text(NULL, "GPUs", "jobs") };
	struct table t = { 0 };

	for (size_t i = 0; i < HES_TRACE_GPU_SIZES; i++)
		row[1 + i] = cell_count(NULL, size_names[i], (int64_t)s->by_gpus[i]);
	TABLE_ROW(&t, row);
	cli_print_table(&t, stdout, 0);
}

static void print_hours(const struct hes_trace_summary *s)
{
	struct cell row[12];
	struct table t = { 0 };

	for (size_t i = 0; i < 24; i++) {
		row[i % 12] = cell_count(NULL, "", (int64_t)s->by_hour[i]);
		if (i % 12 == 11)
			TABLE_ROW(&t, row);
	}
	cli_print_table(&t, stdout, 0);
}

static int print_stats(const struct hes_trace *t, const struct hes_trace_summary *s)
{
	printf("%s (%s): %" PRIu64 " job%s", hes_trace_name(t), hes_trace_format_name(t), s->jobs,
	       hes_s(s->jobs));
	for (size_t i = 0; i < HES_TRACE_SKIPS; i++)
		if (s->skipped[i])
			printf(", %" PRIu64 " row%s %s", s->skipped[i], hes_s(s->skipped[i]),
			       hes_trace_skip_words[i]);
	putchar('\n');
	trace_note_zone(t, stdout);
	printf("span %.1f days, %.1f jobs an hour, %.0f GPU-hours, mean run time %.0f s\n\n",
	       (double)s->span_us / 8.64e10, per_hour(s), s->gpu_hours, s->mean_runtime_s);
	print_quantiles(s);
	putchar('\n');
	print_sizes(s);
	puts("\narrivals by hour from the first one's");
	print_hours(s);
	return 0;
}

static int stats(const struct trace_opts *o, struct hes_trace *t, struct hes_err *err)
{
	struct hes_trace_summary s;
	int rc = hes_trace_summarise(t, &s, err);

	if (rc)
		return rc;
	return o->json ? print_stats_json(t, &s) : print_stats(t, &s);
}

static unsigned mix_of(const char *name)
{
	static const unsigned classes[] = { HES_MIX_LOW, HES_MIX_MEDIUM, HES_MIX_HIGH,
					    HES_MIX_ALL };
	size_t i = 0;

	while (strcmp(mix_names[i], name) != 0)
		i++;
	return classes[i];
}

static struct hes_trace_options draw_of(const struct trace_opts *o)
{
	struct hes_trace_options d;

	hes_trace_options_defaults(&d);
	d.seed = o->seed;
	d.n_jobs = (size_t)o->jobs;
	d.fewer = !o->jobs_given;
	d.any_gpus = o->any_gpus;
	d.min_runtime_us = (int64_t)(o->min_s * 1e6);
	d.max_runtime_us = (int64_t)(o->max_s * 1e6);
	d.drop_outside = o->drop;
	if (strcmp(o->durations, "trace") == 0) {
		d.min_runtime_us = 0;
		d.max_runtime_us = INT64_MAX;
	}
	d.gap_s = o->gap_s;
	d.first_gap_s = o->first_gap_s;
	d.speedup = o->speedup;
	d.mix = mix_of(o->mix);
	if (o->burst || strcmp(o->arrivals, "burst") == 0)
		d.arrivals = HES_ARRIVALS_BURST;
	else if (strcmp(o->arrivals, "trace") == 0)
		d.arrivals = HES_ARRIVALS_TRACE;
	return d;
}

static int draw(const struct trace_opts *o, struct hes_trace *t, struct hes_err *err)
{
	const struct hes_trace_options d = draw_of(o);
	struct hes_trace_account account;
	const struct trace_result result = { t, &d, &account, o->reference,
					     strcmp(o->durations, "clamp") == 0 };
	const struct trace_choices_from from = {
		.app = cli_app(),
		.profiles = o->profiles,
		.reference = o->reference,
		.catalogue = o->catalogue,
		.workloads = o->workloads,
		.max_memory_mib = (uint32_t)o->max_memory_mib,
	};
	struct hes_jobs jobs;
	int rc = trace_draw(t, &from, &d, &jobs, &account, err);

	if (!rc) {
		rc = hes_jobs_save(o->output, &jobs, err);
		hes_jobs_free(&jobs);
	}
	if (rc)
		return rc;
	if (o->json)
		return cli_print_json("heshare-trace", trace_account_json(&result));
	trace_account_print(&result, stderr);
	return 0;
}

static int run_trace(const struct call *call, struct hes_err *err)
{
	const struct trace_opts *o = call->opts;
	struct trace_source source;
	struct hes_trace *t;
	int rc;

	if (o->list)
		return list(o->json);
	if (call->n == 0)
		return opt_usage(err, "a SOURCE is needed: a log, or " HES_TRACE_GENERATOR
				      "; see heshare trace --list");
	if (o->min_s > o->max_s)
		return opt_usage(err, "--min-runtime is above --max-runtime");
	if ((o->columns || o->format) && trace_is_generator(call->args[0]))
		return opt_usage(err, "--columns and --format go with a log, not with a generator");
	if (o->timezone && trace_is_generator(call->args[0]))
		return opt_usage(err, "--timezone goes with a log, not with a generator");
	if (o->timezone && !set_timezone(o->timezone))
		return opt_usage(err,
				 "--timezone: this machine knows no such zone; write it as "
				 "Europe/Berlin (timedatectl list-timezones), and install tzdata");
	if (strcmp(o->durations, "trace") == 0 && (o->min_given || o->max_given || o->drop))
		return opt_usage(err, "--durations trace has no limits; leave out --min-runtime, "
				      "--max-runtime and --drop");
	if (o->json && !o->stats && strcmp(o->output, "-") == 0)
		return opt_usage(
			err,
			"--json goes with --list, --stats or -o FILE; jobs are written as CSV");
	source = (struct trace_source){ .path = call->args[0],
					.format = o->format,
					.columns = o->columns,
					.rows = o->rows,
					.seed = o->seed,
					.local_time = o->timezone };
	rc = trace_open(&source, &t, err);
	if (rc)
		return rc;
	rc = o->stats ? stats(o, t, err) : draw(o, t, err);
	hes_trace_close(t);
	return rc;
}

const struct command cmd_trace = {
	.name = "trace",
	.args = "[SOURCE]",
	.max_args = 1,
	.summary = "turn a cluster's log into jobs, or summarise it",
	.text = "SOURCE is the log of a cluster, also gzip, " HES_TRACE_GENERATOR
		" (a generator fitted to the Helios log), or a generator's "
		"profile that you write (.yaml).\n\n"
		"--list names the logs that are known, among them Slurm's: sacct --parsable2 "
		"--format=JobID,Submit,Elapsed,AllocTRES. Others need --columns. Columns are "
		"separated by , ; | or tab. Rows without a run time, a GPU or an arrival are "
		"skipped and counted.\n\n"
		"Makes jobs as the MISO and HeShare papers do. Single-GPU jobs are drawn at "
		"random, and their run times are clamped. Arrivals are Poisson, twice as fast in "
		"the first third of the jobs. Each job gets a workload, and the number of "
		"iterations that takes the job's run time alone on the reference GPU. What was "
		"dropped, clamped and invented is printed on standard error.",
	.example = "  heshare trace " HES_TRACE_GENERATOR " -o jobs.csv\n"
		   "  heshare trace venus_gpu_jobs.csv.gz --seed 7 --burst --mix high -o jobs.csv\n"
		   "  heshare trace philly.csv.gz --arrivals trace --durations trace -o jobs.csv\n"
		   "  heshare trace philly.csv.gz --stats\n"
		   "  heshare trace mine.csv --columns "
		   "arrival=submit,runtime=duration,gpus=num_gpu -o jobs.csv\n"
		   "  heshare trace tasks.csv --columns start=5,end=6,gpus=9:percent --stats",
	.opts = trace_opts,
	.opts_size = sizeof(struct trace_opts),
	.run = run_trace,
};
