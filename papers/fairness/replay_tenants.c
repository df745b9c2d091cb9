/*
 * replay_tenants.c - `fair_simulate`: replay the tenants of a file on a virtual clock; see
 * replay_tenants.h.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "replay_tenants.h"
#include "usage.h"

#define DEFAULT_SECONDS 60.0
#define MOST_WINDOWS    1000000 /* times tenants */

struct simulate_opts {
	const char *interval, *quantum, *policy, *sweep, *csv, *figure;
	double phi, duration_s, switch_us, every_s; /* duration and every, 0: not given */
	uint64_t seed;
	bool json;
};

static void offer_policies(opt_say_fn *say, void *ctx)
{
	for (const struct hes_fair_policy *p = hes_fair_policies; p->name; p++)
		say(p->name, ctx);
}

#define AT(member) .offset = offsetof(struct simulate_opts, member)

/* clang-format off */
static const struct opt simulate_opts[] = {
	{ .name = "interval", .kind = OPT_TEXT, AT(interval), .arg = "TIME", .def = "200ms",
	  .help = "length of an interval" },
	{ .name = "quantum", .kind = OPT_TEXT, AT(quantum), .arg = "TIME", .def = "1ms",
	  .help = "slices are multiples of this" },
	{ .name = "policy", .kind = OPT_CHOICE, AT(policy), .arg = "NAME", .def = "etf",
	  .offer = offer_policies,
	  .help = "what to make fair" },
	{ .name = "phi", .kind = OPT_DOUBLE, AT(phi), .arg = "PHI", .def = "0.7", .max = 1,
	  .help = "guaranteed part of the fair share of time (policy etf) or energy (etf-energy)" },
	{ .name = "sweep", .kind = OPT_TEXT, AT(sweep), .arg = "LOW:HIGH:STEP",
	  .help = "replay for each phi from LOW to HIGH, such as 0:1:0.1" },
	{ .name = "duration", .kind = OPT_DOUBLE, AT(duration_s), .arg = "SECONDS", .min = 1e-6,
	  .max = 1e6,
	  .help = "length of the replay; without it, until the last departure, or 60" },
	{ .name = "switch", .kind = OPT_DOUBLE, AT(switch_us), .arg = "US", .def = "0", .max = 1e9,
	  .help = "GPU time lost when the tenant changes, us" },
	{ .name = "seed", .kind = OPT_U64, AT(seed), .arg = "N", .def = "1", .max = 0x1p53,
	  .help = "seed of random request times" },
	{ .name = "every", .kind = OPT_DOUBLE, AT(every_s), .arg = "SECONDS", .min = 1e-6,
	  .max = 1e6,
	  .help = "print shares over time, in windows of this length; for --csv and --figure "
		  "without it, a hundredth of the duration" },
	{ .name = "csv", .kind = OPT_FILE, AT(csv), .arg = "FILE",
	  .help = "write shares over time, or over phi with --sweep, as CSV" },
	{ .name = "figure", .kind = OPT_FILE, AT(figure), .arg = "FILE",
	  .help = "draw the same as an SVG file" },
	{ .name = "json", .kind = OPT_FLAG, AT(json),
	  .help = "print one JSON document" },
	{ 0 }
};
/* clang-format on */

static const struct command program = {
	.name = "fair_simulate",
	.args = "TENANTS",
	.min_args = 1,
	.max_args = 1,
	.summary = "Replay the tenants of a file (tenants.md) on a virtual clock.",
	.opts = simulate_opts,
};

double fair_time_share(const struct fair_simulation *s, const struct fair_simulation_run *r,
		       size_t tenant)
{
	double sum = 0;

	for (size_t i = 0; i < s->t.n; i++)
		sum += (double)r->usage[i].time_ns;
	return sum > 0 ? (double)r->usage[tenant].time_ns / sum : 0;
}

double fair_energy_share(const struct fair_simulation *s, const struct fair_simulation_run *r,
			 size_t tenant)
{
	double sum = 0;

	for (size_t i = 0; i < s->t.n; i++)
		sum += r->usage[i].energy_j;
	return sum > 0 ? r->usage[tenant].energy_j / sum : 0;
}

/* --- options --- */

/* LOW:HIGH:STEP to the phi of each run. */
static int sweep_parse(struct fair_simulation *s, const char *text, struct hes_err *err)
{
	static const char *const names[] = { "--sweep, LOW", "--sweep, HIGH", "--sweep, STEP" };
	double v[3];
	char copy[100], *rest = copy, *one;
	size_t n = 0;

	snprintf(copy, sizeof(copy), "%s", text);
	for (; n < 3 && (one = strsep(&rest, ":")); n++) {
		int rc = hes_parse_double(names[n], one, n == 2 ? 1e-3 : 0, 1, &v[n], err);

		if (rc)
			return rc;
	}
	if (n < 3 || rest)
		return hes_fail(err, -EINVAL,
				"--sweep: \"%.60s\" is not LOW:HIGH:STEP, such as 0:1:0.1", text);
	if (v[1] < v[0])
		return hes_fail(err, -EINVAL, "--sweep: HIGH %g is below LOW %g", v[1], v[0]);
	s->n_runs = (size_t)floor((v[1] - v[0]) / v[2] + 1e-9) + 1;
	s->runs = calloc(s->n_runs, sizeof(*s->runs));
	if (!s->runs)
		return hes_fail(err, -ENOMEM, "out of memory for %zu replays", s->n_runs);
	for (size_t i = 0; i < s->n_runs; i++)
		s->runs[i].phi = fmin(v[0] + (double)i * v[2], 1);
	return 0;
}

static int runs_create(struct fair_simulation *s, const struct simulate_opts *o,
		       struct hes_err *err)
{
	int rc = 0;

	s->sweep = o->sweep;
	if (s->sweep)
		rc = sweep_parse(s, o->sweep, err);
	else {
		s->n_runs = 1;
		s->runs = calloc(1, sizeof(*s->runs));
		rc = s->runs ? 0 : hes_fail(err, -ENOMEM, "out of memory for a replay");
	}
	if (!rc && !s->sweep)
		s->runs[0].phi = o->phi;
	for (size_t i = 0; i < s->n_runs && !rc; i++) {
		s->runs[i].usage = calloc(s->t.n, sizeof(*s->runs[i].usage));
		rc = s->runs[i].usage
			     ? 0
			     : hes_fail(err, -ENOMEM, "out of memory for %zu tenants", s->t.n);
	}
	return rc;
}

/* The last departure, or a minute. */
static double default_duration(const struct fair_tenants *t)
{
	uint64_t last = 0;

	for (size_t i = 0; i < t->n; i++)
		if (t->v[i].departure_ns != FAIR_REPLAY_NEVER && t->v[i].departure_ns > last)
			last = t->v[i].departure_ns;
	return last ? (double)last / 1e9 : DEFAULT_SECONDS;
}

static int config_fill(struct fair_simulation *s, const struct simulate_opts *o,
		       struct hes_err *err)
{
	double duration = o->duration_s > 0 ? o->duration_s : default_duration(&s->t),
	       every = o->every_s;
	uint64_t interval_ns, quantum_ns;
	int rc = hes_parse_time("--interval", o->interval, HES_FAIR_MAX_NS, &interval_ns, err);

	if (!rc)
		rc = hes_parse_time("--quantum", o->quantum, HES_FAIR_MAX_NS, &quantum_ns, err);
	if (!rc && (quantum_ns < 1 || interval_ns < quantum_ns))
		rc = hes_fail(err, -EINVAL,
			      "--quantum: it is at least 0.001us, and no longer than --interval");
	if (rc)
		return rc;
	s->timed = every > 0;
	if (!(every > 0) && !s->sweep && (o->csv || o->figure))
		every = duration / 100;
	if (every > 0 && duration / every * (double)s->t.n > MOST_WINDOWS)
		return hes_fail(err, -EINVAL,
				"--every: %g s are more than %d windows times tenants in %g s",
				every, MOST_WINDOWS, duration);
	s->c = (struct fair_replay_config){
		.queue = { hes_fair_policy_find(o->policy, err), o->phi, interval_ns / quantum_ns,
			   quantum_ns },
		.duration_ns = (uint64_t)llround(duration * 1e9),
		.every_ns = s->sweep ? 0 : (uint64_t)llround(every * 1e9),
		.switch_ns = (uint64_t)llround(o->switch_us * 1e3),
		.seed = o->seed,
	};
	return 0;
}

static bool svg_name(const char *path)
{
	return strlen(path) > 4 && strcmp(path + strlen(path) - 4, ".svg") == 0;
}

/* What does not go together; NULL: nothing. */
static const char *options_conflict(const struct simulate_opts *o)
{
	const struct hes_fair_policy *policy = hes_fair_policy_find(o->policy, NULL);

	if (o->sweep && policy && !policy->takes_phi)
		return "--sweep varies phi, which only policies etf and etf-energy read";
	if (o->sweep && o->every_s > 0)
		return "--every is of one replay; it does not go with --sweep";
	if (o->figure && !svg_name(o->figure))
		return "--figure writes an SVG file: its name must end with .svg";
	return NULL;
}

/* --- the replays --- */

static double phi_fair(const struct fair_tenants *t)
{
	struct hes_fair_tenant *v = calloc(t->n, sizeof(*v));
	double phi = (double)NAN;

	for (size_t i = 0; v && i < t->n; i++)
		v[i] = (struct hes_fair_tenant){ t->v[i].power_w, t->v[i].weight,
						 HES_FAIR_BACKLOGGED };
	if (v)
		phi = hes_fair_phi_fair(v, t->n);
	free(v);
	return phi;
}

static int simulation_run(struct fair_simulation *s, struct hes_err *err)
{
	int rc = 0;

	s->series.n = s->t.n;
	s->phi_fair = phi_fair(&s->t);
	for (size_t i = 0; i < s->n_runs && !rc; i++) {
		struct fair_simulation_run *r = &s->runs[i];

		s->c.queue.phi = r->phi;
		rc = fair_replay(&s->c, s->t.v, s->t.n, s->c.every_ns ? fair_series_sample : NULL,
				 &s->series, r->usage, err);
		if (!rc)
			fair_replay_measure(s->t.v, r->usage, s->t.n, &r->f);
	}
	if (!rc && (s->series.failed || isnan(s->phi_fair)))
		rc = hes_fail(err, -ENOMEM, "out of memory for shares over time");
	return rc;
}

static int simulation_write(const struct fair_simulation *s, const struct simulate_opts *o,
			    struct hes_err *err)
{
	int rc = o->csv ? fair_simulation_write_csv(s, o->csv, err) : 0;

	if (!rc && o->figure)
		rc = fair_simulation_plot(s, o->figure, err);
	if (!rc && o->json)
		return fair_simulation_print_json(s);
	if (!rc)
		fair_simulation_print(s);
	return rc;
}

static void simulation_free(struct fair_simulation *s)
{
	for (size_t i = 0; s->runs && i < s->n_runs; i++)
		free(s->runs[i].usage);
	free(s->runs);
	fair_series_free(&s->series);
	fair_tenants_free(&s->t);
}

static int simulate(const struct simulate_opts *o, const char *path)
{
	const char *wrong = options_conflict(o);
	struct fair_simulation s = { 0 };
	struct hes_err err = { 0 };
	int rc;

	if (wrong) {
		fprintf(stderr, "fair_simulate: %s\n", wrong);
		return 2;
	}
	rc = fair_tenants_load(path, &s.t, &err);
	if (rc) {
		fprintf(stderr, "fair_simulate: %s\n", err.msg);
		return 1;
	}
	rc = runs_create(&s, o, &err);
	if (!rc)
		rc = config_fill(&s, o, &err);
	if (!rc)
		rc = simulation_run(&s, &err);
	if (!rc)
		rc = simulation_write(&s, o, &err);
	simulation_free(&s);
	if (rc < 0)
		fprintf(stderr, "fair_simulate: %s\n", err.msg);
	return rc == -EINVAL || rc == -ERANGE ? 2 : rc < 0 ? 1 : rc;
}

int main(int argc, char **argv)
{
	struct simulate_opts o = { 0 };
	int status;

	if (usage_parse(&program, argc, argv, &o, &status) < 0)
		return status;
	return simulate(&o, argv[1]);
}
