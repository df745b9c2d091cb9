/*
 * cmd_partition.c - `heshare partition`: find the split of a GPU's SMs between jobs, and the jobs
 * that should share a GPU.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "cli/cli.h"
#include "cli/inputs/inputs.h"
#include "cli/commands.h"
#include "app/catalogue.h"
#include "cli/inputs/offers.h"
#include "cli/partition/partition.h"
#include "cli/partition/split_out.h"
#include "cli/partition/split_run.h"
#include "app/known_store.h"
#include "app/gpus_chosen.h"
#include "app/gpus_visible.h"
#include "heshare/profiler.h"

static const char *const methods[] = { "corrected", "paper", NULL };

#define AT(member) .offset = offsetof(struct partition_opts, member)

/* clang-format off */
static const struct opt partition_opts[] = {
	{ .heading = "one GPU",
	  .name = "gpu", .letter = 'g', .kind = OPT_TEXT, AT(gpu), .arg = "TYPE|INDEX",
	  .offer = offer_gpu_types,
	  .help = "GPU type, or index of a GPU of this machine; without it, the type that all jobs "
		  "were profiled on, V100-SXM2-32 with --modelled" },
	CLI_CATALOGUE_OPT(offsetof(struct partition_opts, catalogue)),
	{ .name = "objective", .kind = OPT_CHOICE, AT(objective), .arg = "WHAT",
	  .choices = hes_partition_objectives,
	  .help = "what to maximise for each watt; without it throughput, with --jobs energy" },
	{ .name = "floor", .kind = OPT_TEXT, AT(floor), .arg = "LIST",
	  .help = "least throughput of a job, as a part of its throughput alone: B=0.5, with "
		  "commas; or 0.3 for all" },
	{ .name = "step", .kind = OPT_U64, AT(step), .arg = "PCT", .def = "10", .min = 1, .max = 50,
	  .help = "shares are multiples of this, %" },
	{ .name = "clocks", .kind = OPT_TEXT, AT(clocks), .arg = "LIST", .def = "default",
	  .help = "clocks to choose from in MHz, such as 900,1200; default: the default clock; "
		  "all: every profiled clock" },
	{ .name = "split", .kind = OPT_TEXT, AT(split), .arg = "LIST",
	  .help = "also predict this split, such as 30,70: % of the SMs in the order of the jobs" },
	{ .heading = "carry it out",
	  .name = "run", .kind = OPT_FLAG, AT(run),
	  .help = "with --gpu INDEX: run the jobs with the best split, or that of --split, measure "
		  "and compare with the prediction" },
	{ .name = "for", .kind = OPT_DOUBLE, AT(for_s), .arg = "S", .def = "0", .max = 1e9,
	  .help = "with --run: end the jobs after this time, seconds; 0: wait until they end, or "
		  "for Ctrl-C" },
	{ .name = "logs", .kind = OPT_FILE, AT(logs), .arg = "DIR",
	  .help = "with --run: folder for the output of the jobs; without it, partition.run" },
	{ .heading = "output",
	  .name = "all", .kind = OPT_FLAG, AT(all), .help = "print every split" },
	{ .name = "plot", .kind = OPT_FILE, AT(plot), .arg = "FILE",
	  .help = "draw the splits as an SVG file (needs gnuplot)" },
	{ .name = "json", .kind = OPT_FLAG, AT(json), .help = "print one JSON document" },
	{ .heading = "a fleet",
	  .name = "jobs", .letter = 'j', .kind = OPT_FILE, AT(jobs), .arg = "FILE",
	  .help = "put these jobs on the GPUs of a fleet, instead of JOB JOB" },
	{ .name = "fleet", .letter = 'f', .kind = OPT_FILE, AT(fleet), .arg = "FILE",
	  .help = "with --jobs: fleet file; without it, the eight GPUs of the HeShare paper" },
	{ .name = "most", .kind = OPT_U64, AT(most), .given = offsetof(struct partition_opts,
	  most_given), .arg = "N", .def = "2", .min = 1, .max = HES_PARTITION_MAX_JOBS,
	  .help = "with --jobs: most jobs on one GPU at a time" },
	{ .name = "effort", .kind = OPT_U64, AT(effort), .given = offsetof(struct partition_opts,
	  effort_given), .arg = "N", .def = "0", .max = 1e12,
	  .help = "with --jobs: number of groups to try; 0: 50000, plus 700 for each job" },
	{ .name = "seed", .letter = 's', .kind = OPT_U64, AT(seed),
	  .given = offsetof(struct partition_opts, seed_given), .arg = "S", .def = "1",
	  .max = 0x1p64,
	  .help = "with --jobs: seed of the search" },
	{ .heading = "predictions",
	  .name = "method", .kind = OPT_CHOICE, AT(method), .arg = "HOW", .def = "corrected",
	  .choices = methods,
	  .help = "how to predict throughput and power; see above" },
	{ .name = "store", .kind = OPT_FILE, AT(from.store), .arg = "FILE",
	  .help = "store with measured points; without it " CLI_STORE_PLACE },
	{ .name = "points", .kind = OPT_FILE, AT(from.points), .arg = "FILE",
	  .help = "points.csv or its folder, from heshare profiles export, instead of the store" },
	{ .name = "modelled", .kind = OPT_FLAG, AT(from.modelled),
	  .help = "draw points from the GPU model; needs no GPU" },
	{ 0 }
};
/* clang-format on */

int partition_word(const char *word, const char *const *words)
{
	for (int i = 0; words[i]; i++)
		if (strcmp(word, words[i]) == 0)
			return i;
	return 0; /* the table of options lets no other word through */
}

enum hes_partition_method partition_method(const struct partition_opts *o)
{
	return (enum hes_partition_method)partition_word(o->method, methods);
}

static int floor_of(const char *text, bool in_list, const struct partition_name *jobs, size_t n,
		    double *floor, struct hes_err *err)
{
	const char *equals = strchr(text, '=');
	struct partition_name name = { .batch_size = 0 };
	char job[2 * HES_NAME_MAX] = "";
	bool found = !equals;
	double part;
	int rc;

	if (equals) {
		snprintf(job, sizeof(job), "%.*s", (int)(equals - text), text);
		rc = partition_name_parse(job, &name, err);
		if (rc)
			return hes_fail_in(err, "--floor");
	}
	rc = hes_parse_double("--floor", equals ? equals + 1 : text, 0, 1, &part, err);
	if (!rc && !equals && in_list)
		rc = hes_fail(
			err, -EINVAL,
			"--floor: %s is for all jobs and stands alone; write JOB=%s for one job",
			text, text);
	for (size_t i = 0; i < n && !rc; i++)
		if (!equals || (strcmp(jobs[i].workload, name.workload) == 0 &&
				(!name.batch_size || !jobs[i].batch_size ||
				 name.batch_size == jobs[i].batch_size))) {
			floor[i] = part;
			found = true;
		}
	return rc || found ? rc
			   : hes_fail(err, -ENOENT, "--floor: \"%.60s\" is none of the jobs", job);
}

int partition_floors(const char *list, const struct partition_name *jobs, size_t n, double *floor,
		     struct hes_err *err)
{
	char *text = strdup(list ? list : ""), *rest, *one;
	int rc = text ? 0 : hes_fail(err, -ENOMEM, "out of memory");

	for (one = text ? strtok_r(text, ",", &rest) : NULL; one && !rc;
	     one = strtok_r(NULL, ",", &rest))
		rc = floor_of(one, strchr(list, ',') != NULL, jobs, n, floor, err);
	free(text);
	return rc;
}

static bool is_index(const char *gpu)
{
	return gpu && *gpu && !gpu[strspn(gpu, "0123456789")];
}

/* The GPU of this machine that an index names. */
static int find_gpu(const char *index, const struct hes_catalogue *c,
		    const struct hes_gpu_type **out, struct hes_device_info *info,
		    struct hes_err *err)
{
	struct hes_devices *d = NULL;
	int rc = app_devices_open(cli_app(), c, &d, err);
	long i = rc ? -1 : gpus_find(d, "--gpu", index, err);

	if (!rc && i < 0)
		rc = (int)i;
	if (!rc)
		rc = hes_device_info(d, (size_t)i, info, err);
	*out = rc ? NULL : app_gpu_type(d, (size_t)i, c, err);
	hes_devices_close(d);
	return rc || *out ? rc : err->code;
}

static int choose_type(const struct partition_opts *o, const struct hes_catalogue *c,
		       const struct hes_gpu_type **out, struct hes_device_info *info,
		       struct hes_err *err)
{
	if (is_index(o->gpu))
		return find_gpu(o->gpu, c, out, info, err);
	*out = o->gpu || o->from.modelled
		       ? hes_gpu_type_find(c, o->gpu ? o->gpu : "V100-SXM2-32", err)
		       : NULL;
	if (!*out && o->gpu)
		return hes_fail_in(err, "--gpu");
	return *out || (!o->gpu && !o->from.modelled) ? 0 : -ENOENT;
}

static bool all_have(const struct partition_inputs *in, const struct partition_name *jobs, size_t n,
		     const struct hes_gpu_type *g, uint32_t clock_mhz)
{
	for (size_t i = 0; i < n; i++)
		if (!partition_find(in, &jobs[i], g, clock_mhz, NULL))
			return false;
	return true;
}

static int add_clock(struct partition_answer *a, uint32_t mhz, struct hes_err *err)
{
	for (size_t k = 0; k < a->n_clocks; k++)
		if (a->clocks_mhz[k] == mhz)
			return 0;
	if (a->n_clocks == PARTITION_CLOCKS)
		return hes_fail(err, -E2BIG, "--clocks: more than %d clocks", PARTITION_CLOCKS);
	a->clocks_mhz[a->n_clocks++] = mhz;
	return 0;
}

/* Clocks that every job was profiled at; the default where there is none, so that the error says
 * what is missing. */
static int add_all_clocks(const struct partition_inputs *in, const struct partition_name *jobs,
			  struct partition_answer *a, struct hes_err *err)
{
	uint32_t standard = a->g->clock_default_mhz;
	int rc = all_have(in, jobs, a->n, a->g, standard) ? add_clock(a, standard, err) : 0;

	for (size_t i = 0; i < in->profiles.n && !rc; i++)
		if (all_have(in, jobs, a->n, a->g, in->profiles.v[i].clock_mhz))
			rc = add_clock(a, in->profiles.v[i].clock_mhz, err);
	return rc || a->n_clocks ? rc : add_clock(a, standard, err);
}

static int choose_clocks(const struct partition_opts *o, const struct partition_inputs *in,
			 const struct partition_name *jobs, struct partition_answer *a,
			 struct hes_err *err)
{
	uint32_t mhz[PARTITION_CLOCKS];
	int n, rc = 0;

	if (strcmp(o->clocks, "default") == 0)
		return add_clock(a, a->g->clock_default_mhz, err);
	if (strcmp(o->clocks, "all") == 0)
		return add_all_clocks(in, jobs, a, err);
	n = hes_ranges_parse("--clocks", o->clocks, 1, 10000, mhz, PARTITION_CLOCKS, err);
	for (int i = 0; i < n && !rc; i++)
		rc = add_clock(a, mhz[i], err);
	return n < 0 ? n : rc;
}

static int find_jobs(const struct partition_inputs *in, const struct partition_name *jobs,
		     const struct partition_answer *a, uint32_t clock_mhz,
		     const struct hes_share_profile **out, struct hes_err *err)
{
	for (size_t i = 0; i < a->n; i++) {
		out[i] = partition_find(in, &jobs[i], a->g, clock_mhz, err);
		if (!out[i])
			return -ENOENT;
	}
	return 0;
}

/* Jobs that take turns alone on the whole GPU, equal times each, at a clock: measured, not
 * predicted. The best clock is kept. Nothing where 100 % was not profiled. */
static void judge_turns(size_t clock, const struct hes_partition_goal *goal,
			struct partition_answer *a)
{
	double n = (double)a->n, alone[HES_PARTITION_MAX_JOBS], turns_w[HES_PARTITION_MAX_JOBS];
	struct hes_split turns = { .low = 1, .high = 1, .allowed = true };

	for (size_t i = 0; i < a->n; i++) {
		const struct hes_share_profile *p = a->jobs[clock][i];
		const struct hes_share_point *whole = &p->at[p->n - 1];

		if (whole->sm_pct < 100)
			return;
		alone[i] = p->alone_rate;
		turns.sm_pct[i] = 100;
		turns.estimate.rate[i] = whole->rate / n;
		turns_w[i] = whole->power_w;
		turns.estimate.power_w += whole->power_w / n;
		turns.allowed &= !(turns.estimate.rate[i] < goal->floor[i] * alone[i]);
	}
	turns.work = hes_partition_work(a->objective, turns.estimate.rate, alone, a->n);
	turns.per_watt = turns.work / turns.estimate.power_w;
	if (turns.allowed > a->turns.allowed ||
	    (turns.allowed == a->turns.allowed && turns.per_watt > a->turns.per_watt)) {
		a->turns = turns;
		memcpy(a->turns_w, turns_w, sizeof(turns_w));
		a->turns_mhz = a->clocks_mhz[clock];
	}
}

/* Turns of equal length favour no job; a split may do more of the job that needs less power. It is
 * to gain against turns that do the same work, too. @return NULL: the jobs share */
static const char *turns_reason(const struct partition_answer *a)
{
	const struct hes_split *best = &a->splits[a->best].v[a->splits[a->best].best];
	double same_work_w = 0;

	for (size_t i = 0; i < a->n && a->turns.allowed; i++)
		same_work_w += best->estimate.rate[i] / ((double)a->n * a->turns.estimate.rate[i]) *
			       a->turns_w[i];
	if (!a->turns.allowed)
		return NULL;
	if (best->per_watt <= a->turns.per_watt)
		return "No split does more work per watt.";
	if (best->per_watt * best->low <= a->turns.per_watt)
		return "The gain of the best split is within its interval.";
	return best->estimate.power_w < same_work_w
		       ? NULL
		       : "Turns that do the work of the best split need less energy.";
}

/* Equal shares, at the default clock where the jobs were profiled there. */
static int judge_equal(const struct partition_inputs *in, const struct partition_name *jobs,
		       const struct hes_partition_goal *goal, struct partition_answer *a,
		       struct hes_err *err)
{
	const struct hes_share_profile *at[HES_PARTITION_MAX_JOBS];
	uint32_t shares[HES_PARTITION_MAX_JOBS];
	int rc;

	a->equal_mhz = all_have(in, jobs, a->n, a->g, a->g->clock_default_mhz)
			       ? a->g->clock_default_mhz
			       : a->clocks_mhz[0];
	for (size_t i = 0; i < a->n; i++)
		shares[i] = 100 / (uint32_t)a->n;
	rc = find_jobs(in, jobs, a, a->equal_mhz, at, err);
	if (rc)
		return rc;
	rc = hes_partition_judge(in->model, a->g, at, a->n, goal, shares, &a->equal, err);
	return rc == -ERANGE ? 0 : rc; /* equal shares were not profiled: nothing to compare with */
}

/* The shares of --split, one for each of @n_jobs. */
static int split_parse(const char *split, size_t n_jobs, uint32_t *shares, struct hes_err *err)
{
	char *text = strdup(split), *rest, *one;
	size_t n = 0;
	uint32_t sum = 0;
	int rc = text ? 0 : hes_fail(err, -ENOMEM, "out of memory");

	for (one = text ? strtok_r(text, ",", &rest) : NULL; one && !rc && n < n_jobs;
	     one = strtok_r(NULL, ",", &rest)) {
		rc = hes_parse_u32("--split", one, 1, 100, &shares[n], err);
		sum += rc ? 0 : shares[n++];
	}
	if (!rc && (n < n_jobs || one))
		rc = hes_fail(err, -EINVAL,
			      "--split: %s does not give one share for each of %zu jobs", split,
			      n_jobs);
	if (!rc && sum > 100)
		rc = hes_fail(err, -ERANGE,
			      "--split: shares that sum to %u %%; they may sum to 100 %% at most",
			      sum);
	free(text);
	return rc;
}

/* Clocks are numbers, or a word that the GPUs know. */
static int check_clocks(const char *clocks, struct hes_err *err)
{
	uint32_t mhz[PARTITION_CLOCKS];
	int n = strcmp(clocks, "default") && strcmp(clocks, "all")
			? hes_ranges_parse("--clocks", clocks, 1, 10000, mhz, PARTITION_CLOCKS, err)
			: 0;

	return n < 0 ? n : 0;
}

/* The split of --split, at the best clock. */
static int judge_given(const struct partition_opts *o, const struct partition_inputs *in,
		       const struct hes_partition_goal *goal, struct partition_answer *a,
		       struct hes_err *err)
{
	uint32_t shares[HES_PARTITION_MAX_JOBS];
	int rc = split_parse(o->split, a->n, shares, err);

	if (rc)
		return rc;
	rc = hes_partition_judge(in->model, a->g, a->jobs[a->best], a->n, goal, shares, &a->given,
				 err);
	return rc ? hes_fail_in(err, "--split") : 0;
}

/* The best split of each clock. A clock at which no split keeps the floors is passed over where
 * there are others. */
static int search_clocks(const struct partition_inputs *in, const struct partition_name *jobs,
			 const struct hes_partition_goal *goal, struct partition_answer *a,
			 struct hes_err *err)
{
	struct hes_err why = { .code = 0 };
	bool found = false;

	for (size_t c = 0; c < a->n_clocks; c++) {
		int rc = find_jobs(in, jobs, a, a->clocks_mhz[c], a->jobs[c], err);

		if (rc)
			return rc;
		judge_turns(c, goal, a);
		rc = hes_partition_search(in->model, a->g, a->jobs[c], a->n, goal, &a->splits[c],
					  &why);
		if (rc == -ERANGE)
			continue;
		if (rc)
			return hes_fail(err, rc, "%s", why.msg);
		if (!found || a->splits[c].v[a->splits[c].best].per_watt >
				      a->splits[a->best].v[a->splits[a->best].best].per_watt)
			a->best = c;
		found = true;
	}
	if (!found)
		return hes_fail(err, why.code, "%s", why.msg);
	a->take_turns = turns_reason(a);
	return 0;
}

static int answer(const struct partition_opts *o, struct partition_inputs *in,
		  const struct partition_name *jobs, struct partition_answer *a,
		  struct hes_err *err)
{
	struct hes_partition_goal goal = { .objective = a->objective, .step = a->step };
	int rc = 0;

	if (!a->g)
		a->g = partition_only_type(in, jobs, a->n, err);
	if (!a->g)
		return -ENOENT;
	rc = choose_clocks(o, in, jobs, a, err);
	if (!rc)
		rc = find_jobs(in, jobs, a, a->clocks_mhz[0], a->jobs[0], err);
	if (!rc)
		rc = partition_inputs_train(in, partition_method(o), &a->g, 1, err);
	if (!rc)
		rc = partition_floors(o->floor, jobs, a->n, goal.floor, err);
	if (!rc)
		rc = search_clocks(in, jobs, &goal, a, err);
	if (!rc)
		rc = judge_equal(in, jobs, &goal, a, err);
	if (!rc && o->split)
		rc = judge_given(o, in, &goal, a, err);
	if (rc)
		return rc;
	a->all_clocks = strcmp(o->clocks, "all") == 0;
	a->model = hes_partition_about(in->model, a->g);
	return o->plot ? partition_plot(o->plot, a, err) : 0;
}

/* @param lines  commands of --run; NULL: those that were profiled. @return exit status */
static int tell_split(const struct partition_opts *o, const struct partition_answer *a,
		      const struct hes_catalogue *c, char *const *lines, struct hes_err *err)
{
	int status = 0, rc = 0;

	if (!o->json)
		rc = partition_print(a, o->all, !o->run, err);
	else if (!o->run || !partition_chosen(a))
		status = cli_print_json("heshare-partition", partition_json(a));
	if (!rc && o->run)
		rc = partition_run(o, a, c, lines, &status, err);
	return rc ? cli_fail("partition", err) : status;
}

static int run_split(const struct partition_opts *o, const struct partition_name *jobs, size_t n,
		     char *const *lines)
{
	struct partition_inputs in = { .modelled = false };
	struct hes_device_info info = { .uuid = "" };
	struct partition_answer a = {
		.n = n,
		.uuid = info.uuid,
		.what = in.what,
		.step = (uint32_t)o->step,
		.objective = HES_PARTITION_NORMALIZED,
	};
	struct hes_err err;
	int status, rc = app_catalogue_load(cli_app(), o->catalogue, !o->from.modelled,
					    &in.catalogue, &err);

	if (o->objective)
		a.objective = (enum hes_partition_objective)partition_word(
			o->objective, hes_partition_objectives);
	if (!rc)
		rc = choose_type(o, &in.catalogue, &a.g, &info, &err);
	if (!rc)
		rc = partition_inputs_load(&o->from, jobs, n, &a.g, 1, &in, &err);
	if (!rc)
		rc = answer(o, &in, jobs, &a, &err);
	status = rc ? cli_fail("partition", &err) : tell_split(o, &a, &in.catalogue, lines, &err);
	for (size_t c = 0; c < a.n_clocks; c++)
		hes_splits_free(&a.splits[c]);
	partition_inputs_free(&in);
	return status;
}

/* What is wrong with the options together; NULL: nothing. */
static const char *misuse(const struct partition_opts *o, int n_args)
{
	const int n_jobs = o->n_jobs < 0 ? n_args : o->n_jobs;

	if (!o->run && (o->n_jobs >= 0 || o->for_s > 0 || o->logs))
		return "--for, --logs and commands after -- go with --run";
	if (o->run && (o->jobs || !is_index(o->gpu)))
		return "--run carries the split of one GPU out: name the GPU of this machine by "
		       "--gpu INDEX";
	if (o->n_jobs >= 0 && n_args != 2 * n_jobs)
		return "as many commands as jobs are needed after --, each in quotes";
	if (o->jobs && n_args)
		return "JOB JOB or --jobs, not both";
	if (!o->jobs && n_jobs < 2)
		return "two jobs or more are needed, or --jobs FILE; see heshare partition --help";
	if (!o->jobs && (o->fleet || o->most_given || o->effort_given || o->seed_given))
		return "--fleet, --most, --effort and --seed go with --jobs";
	if (o->jobs && (o->plot || o->split || o->all || o->gpu))
		return "--gpu, --split, --all and --plot are of one GPU; they do not go with "
		       "--jobs";
	if (o->jobs && strcmp(o->clocks, "default"))
		return "--clocks is of one GPU; with --jobs, GPUs run at their default clocks";
	if (o->plot && (strlen(o->plot) < 5 || strcmp(o->plot + strlen(o->plot) - 4, ".svg")))
		return "--plot writes an SVG file: its name must end with .svg";
	if (o->from.modelled + !!o->from.points + !!o->from.store > 1)
		return "one of --modelled, --points and --store";
	return NULL;
}

static int run_partition(const void *opts, int n_args, char **args)
{
	const struct partition_opts *o = opts;
	struct partition_name jobs[HES_PARTITION_MAX_JOBS];
	uint32_t shares[HES_PARTITION_MAX_JOBS];
	double floor[HES_PARTITION_MAX_JOBS];
	const char *wrong = misuse(o, n_args);
	const int n_jobs = o->n_jobs < 0 ? n_args : o->n_jobs;
	struct hes_err err;

	if (wrong) {
		fprintf(stderr, "heshare partition: %s\n", wrong);
		return 2;
	}
	if (o->jobs)
		return partition_fleet(o);
	for (int i = 0; i < n_jobs; i++) {
		if (partition_name_parse(args[i], &jobs[i], &err)) {
			cli_fail("partition", &err);
			return 2;
		}
		if (o->from.modelled && !jobs[i].batch_size)
			jobs[i].batch_size = PARTITION_MODELLED_BATCH;
	}
	/* What is wrong whatever was measured. */
	if (check_clocks(o->clocks, &err) ||
	    (o->split && split_parse(o->split, (size_t)n_jobs, shares, &err)) ||
	    partition_floors(o->floor, jobs, (size_t)n_jobs, floor, &err))
		return cli_fail("partition", &err);
	return run_split(o, jobs, (size_t)n_jobs, o->n_jobs < 0 ? NULL : args + n_jobs);
}

const struct command cmd_partition = {
	.name = "partition",
	.args = "[JOB JOB... [-- 'COMMAND' 'COMMAND'...]]",
	.min_args = 0,
	.max_args = 2 * HES_PARTITION_MAX_JOBS,
	.max_before = HES_PARTITION_MAX_JOBS,
	.before = offsetof(struct partition_opts, n_jobs),
	.summary = "find the split of a GPU's SMs with the most work per watt",
	.text = "Predicts, for every split of a GPU's SMs between jobs (MPS), the throughput of "
		"each job, the GPU's power and the work per watt, from measurements of each job "
		"alone. Marks the best split and prints the commands that apply it, or says that "
		"the jobs are to take turns: one at a time on the whole GPU, without MPS. It says "
		"so unless the best split does more work per watt by its whole interval. A JOB is "
		"NAME, "
		"or NAME/BATCH, as heshare profile measured it; with --modelled, NAME alone is "
		"batch size 8.\n\n"
		"Objectives. normalized: each job's throughput counts as a part of its own alone "
		"on the whole GPU, summed. energy: the harmonic mean of these parts, so that no "
		"job is starved for another. sum: the sum of iterations a second, as in the paper; "
		"it favours a job with short iterations.\n\n"
		"Methods. corrected: a closed form for each job, corrected by extra trees where "
		"jobs were measured together. paper: extra trees on the nine features of Han et "
		"al.; it needs jobs measured together.\n\n"
		"--run carries the best split out on a GPU of this machine, with MPS, shares and "
		"clock. Where the jobs are to take turns, it runs nothing unless --split names a "
		"split. It prints for each job its iterations, speed and joules next to the "
		"prediction. It runs the commands after --, one for each job, each a line for the "
		"shell; without them those that heshare profile measured. A job that ends with 0, "
		"or that --for or Ctrl-C ends, counts as done.\n\n"
		"With --jobs, puts many jobs on the GPUs of a fleet: which of them share a GPU, "
		"with which split.",
	.example = "  heshare partition resnet50/8 bert-large/8 --gpu 0\n"
		   "  heshare partition resnet50 vgg16 bert-large --modelled --objective energy "
		   "--floor bert-large=0.3\n"
		   "  heshare partition resnet50/8 bert-large/8 --gpu 0 --run --for 60\n"
		   "  heshare partition --jobs jobs.csv --fleet fleet.yaml --most 3 --modelled",
	.opts = partition_opts,
	.opts_size = sizeof(struct partition_opts),
	.run = run_partition,
};
