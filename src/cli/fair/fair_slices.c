/*
 * fair_slices.c - `heshare fair slices`: compute the slices of an interval from powers, weights and
 * demands; see fair.h.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/plural.h"
#include "base/texts.h"
#include "cli/cli.h"
#include "cli/fair/fair.h"
#include "heshare/fair.h"

struct slices_opts {
	const char *interval;
	double phi;
	const char *power, *weight, *demand; /* lists, commas between values; NULL: not given */
	const char *policy;
	bool json;
};

#define AT(member) .offset = offsetof(struct slices_opts, member)

/* clang-format off */
static const struct opt slices_opts[] = {
	{ .name = "interval", .kind = OPT_TEXT, AT(interval), .arg = "QUANTA",
	  .help = "number of quanta to share" },
	{ .name = "power", .kind = OPT_TEXT, AT(power), .arg = "LIST",
	  .help = "power of each tenant while it runs, W, with commas" },
	{ .name = "phi", .kind = OPT_DOUBLE, AT(phi), .arg = "PHI", .def = "0.7", .max = 1,
	  .help = "guaranteed part of the fair share of time (policy etf) or energy (etf-energy)" },
	{ .name = "weight", .kind = OPT_TEXT, AT(weight), .arg = "LIST",
	  .help = "weight of each tenant, with commas, 1 if empty" },
	{ .name = "demand", .kind = OPT_TEXT, AT(demand), .arg = "LIST",
	  .help = "most quanta that each tenant can use, with commas; no limit if empty" },
	FAIR_POLICY_OPT(offsetof(struct slices_opts, policy)),
	{ .name = "json", .kind = OPT_FLAG, AT(json), .help = "print one JSON document" },
	{ 0 }
};
/* clang-format on */

typedef int fair_parse_fn(const char *what, const char *text, struct hes_fair_tenant *t,
			  struct hes_err *err);

static int power_parse(const char *what, const char *text, struct hes_fair_tenant *t,
		       struct hes_err *err)
{
	return hes_parse_double(what, text, HES_FAIR_MIN_NUMBER, HES_FAIR_MAX_NUMBER, &t->power_w,
				err);
}

static int weight_parse(const char *what, const char *text, struct hes_fair_tenant *t,
			struct hes_err *err)
{
	return hes_parse_double(what, text, HES_FAIR_MIN_NUMBER, HES_FAIR_MAX_NUMBER, &t->weight,
				err);
}

static int demand_parse(const char *what, const char *text, struct hes_fair_tenant *t,
			struct hes_err *err)
{
	return hes_parse_u64(what, text, 0, HES_FAIR_MAX_INTERVAL, &t->demand, err);
}

static size_t list_length(const char *list)
{
	size_t n = 1;

	for (; *list; list++)
		n += *list == ',';
	return n;
}

/* A value for each tenant. An empty one leaves the default where @may_be_empty. */
static int list_parse(const char *option, const char *list, bool may_be_empty, fair_parse_fn *parse,
		      struct hes_fair_tenant *t, size_t n, struct hes_err *err)
{
	char one[64], what[40];
	int rc = 0;

	if (list_length(list) != n)
		return hes_fail(err, -EINVAL, "%s: %zu value%s where --power has %zu", option,
				list_length(list), hes_s(list_length(list)), n);
	for (size_t i = 0; !rc && hes_text_next(&list, one, sizeof(one)); i++) {
		snprintf(what, sizeof(what), "%s, tenant %zu", option, i + 1);
		if (*one || !may_be_empty)
			rc = parse(what, one, &t[i], err);
	}
	return rc;
}

static int tenants_parse(const struct slices_opts *o, struct hes_fair_tenant *t, size_t n,
			 struct hes_err *err)
{
	int rc;

	for (size_t i = 0; i < n; i++)
		t[i] = (struct hes_fair_tenant){ .weight = 1, .demand = HES_FAIR_BACKLOGGED };
	rc = list_parse("--power", o->power, false, power_parse, t, n, err);
	if (!rc && o->weight)
		rc = list_parse("--weight", o->weight, true, weight_parse, t, n, err);
	if (!rc && o->demand)
		rc = list_parse("--demand", o->demand, true, demand_parse, t, n, err);
	return rc;
}

/* A whole number is written as one: 28, not 28.0. */
static json_t *number_json(double x)
{
	return x == floor(x) && fabs(x) < 0x1p53 ? json_integer((json_int_t)x) : json_real(x);
}

static json_t *answer_json(const struct hes_fair_request *r, const uint64_t *slices,
			   const struct hes_fairness *f)
{
	json_t *slice = json_array(), *energy = json_array();

	for (size_t i = 0; i < r->n; i++) {
		json_array_append_new(slice, json_integer((json_int_t)slices[i]));
		json_array_append_new(energy,
				      number_json(hes_fair_energy(&r->tenants[i], slices[i])));
	}
	return json_pack("{s:o, s:o, s:f, s:f, s:f, s:f}", "slices", slice, "energy", energy,
			 "time_fairness", f->time, "energy_fairness", f->energy, "system_fairness",
			 f->system, "phi_fair", hes_fair_phi_fair(r->tenants, r->n));
}

static double percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

static void print_tenants(const struct hes_fair_request *r, const uint64_t *slices)
{
	double time = 0, energy = 0;
	struct table table = { 0 };

	for (size_t i = 0; i < r->n; i++) {
		time += (double)slices[i];
		energy += hes_fair_energy(&r->tenants[i], slices[i]);
	}
	for (size_t i = 0; i < r->n; i++) {
		const struct hes_fair_tenant *t = &r->tenants[i];
		const double own = hes_fair_energy(t, slices[i]);
		const struct cell row[] = {
			cell_count(NULL, "tenant", (int64_t)i + 1),
			cell_real(NULL, "power W", -6, t->power_w),
			cell_real(NULL, "weight", -5, t->weight),
			cell_if(t->demand != HES_FAIR_BACKLOGGED,
				cell_count(NULL, "demand", (int64_t)t->demand)),
			cell_count(NULL, "slice", (int64_t)slices[i]),
			cell_real(NULL, "time %", 1, percent((double)slices[i], time)),
			cell_real(NULL, "energy", -6, own),
			cell_real(NULL, "energy %", 1, percent(own, energy)),
		};

		TABLE_ROW(&table, row);
	}
	cli_print_table(&table, stdout, 0);
}

static void print_answer(const struct hes_fair_request *r, const uint64_t *slices,
			 const struct hes_fairness *f)
{
	printf("%" PRIu64 " quanta, policy %s", r->interval, r->policy->name);
	if (r->policy->takes_phi)
		printf(", phi %g", r->phi);
	printf(": %s\n\n", r->policy->summary);
	print_tenants(r, slices);
	printf("\nfairness: time %.3f, energy %.3f, system %.3f (1 is even)\n", f->time, f->energy,
	       f->system);
	if (r->policy->takes_phi && !r->policy->equal_time)
		printf("energy can be equal up to phi %.3f, if no tenant runs out of work\n",
		       hes_fair_phi_fair(r->tenants, r->n));
}

static int answer(const struct hes_fair_request *r, uint64_t *slices, bool json,
		  struct hes_err *err)
{
	struct hes_fairness f;
	int rc = hes_fair_slices(r, slices, err);

	if (rc)
		return rc;
	hes_fair_measure(r->tenants, r->n, slices, &f);
	if (json)
		return cli_print_json("heshare-slices", answer_json(r, slices, &f));
	print_answer(r, slices, &f);
	return 0;
}

/* What is missing; NULL: nothing. */
static const char *missing(const struct slices_opts *o)
{
	if (!o->interval)
		return "--interval is missing: the number of quanta to divide";
	return o->power
		       ? NULL
		       : "--power is missing: the power of each tenant in W, such as --power 2,3,8";
}

static int slices_run(const struct call *call, struct hes_err *err)
{
	const struct slices_opts *o = call->opts;
	const char *wrong = missing(o);
	struct hes_fair_request r = { .phi = o->phi };
	struct hes_fair_tenant *tenants;
	uint64_t *slices;
	int rc;

	if (wrong)
		return opt_usage(err, wrong);
	r.n = list_length(o->power);
	r.policy = hes_fair_policy_find(o->policy, err);
	r.tenants = tenants = malloc(r.n * sizeof(*tenants));
	slices = malloc(r.n * sizeof(*slices));
	rc = tenants && slices ? hes_parse_u64("--interval", o->interval, 1, HES_FAIR_MAX_INTERVAL,
					       &r.interval, err)
			       : hes_fail(err, -ENOMEM, "out of memory");
	if (!rc)
		rc = tenants_parse(o, tenants, r.n, err);
	if (!rc)
		rc = answer(&r, slices, o->json, err);
	free(slices);
	free(tenants);
	return rc == -EINVAL || rc == -ERANGE ? OPT_USAGE : rc;
}

const struct command cmd_fair_slices = {
	.name = "fair slices",
	.args = "",
	.summary = "compute how many quanta of an interval each tenant gets",
	.text = "Divides the quanta of an interval between tenants of given powers, weights and "
		"demands.\n\n"
		"Fairness of time is the least time of a tenant divided by the greatest, each "
		"relative to the weight; 1 is equal. Fairness of energy is the same for energy. "
		"System fairness is the lesser of both. phi_fair is the greatest phi at which "
		"energy can still be equal. Energy is in W times quanta: joules if a quantum is a "
		"second.",
	.example = "  heshare fair slices --interval 30 --phi 0.7 --power 2,3,8\n"
		   "  heshare fair slices --interval 1000 --power 250,120 --weight 2,1 --demand "
		   ",300 --json",
	.opts = slices_opts,
	.opts_size = sizeof(struct slices_opts),
	.run = slices_run,
};
