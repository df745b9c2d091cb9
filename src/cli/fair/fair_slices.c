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
#include "cli/cli.h"
#include "cli/fair/fair.h"
#include "heshare/fair.h"

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
	char *text, *rest, *one, what[40];
	int rc = 0;

	if (list_length(list) != n)
		return hes_fail(err, -EINVAL, "%s: %zu value%s where --power has %zu", option,
				list_length(list), hes_s(list_length(list)), n);
	text = rest = strdup(list);
	if (!text)
		return hes_fail(err, -ENOMEM, "out of memory");
	for (size_t i = 0; !rc && (one = strsep(&rest, ",")); i++) {
		snprintf(what, sizeof(what), "%s, tenant %zu", option, i + 1);
		if (*one || !may_be_empty)
			rc = parse(what, one, &t[i], err);
	}
	free(text);
	return rc;
}

static int tenants_parse(const struct fair_opts *o, struct hes_fair_tenant *t, size_t n,
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

	for (size_t i = 0; i < r->n; i++) {
		time += (double)slices[i];
		energy += hes_fair_energy(&r->tenants[i], slices[i]);
	}
	printf("%6s %9s %7s %13s %13s %7s %13s %9s\n", "tenant", "power W", "weight", "demand",
	       "slice", "time %", "energy", "energy %");
	for (size_t i = 0; i < r->n; i++) {
		const struct hes_fair_tenant *t = &r->tenants[i];
		char demand[24] = "-";

		if (t->demand != HES_FAIR_BACKLOGGED)
			snprintf(demand, sizeof(demand), "%" PRIu64, t->demand);
		printf("%6zu %9.6g %7.5g %13s %13" PRIu64 " %7.1f %13.6g %9.1f\n", i + 1,
		       t->power_w, t->weight, demand, slices[i], percent((double)slices[i], time),
		       hes_fair_energy(t, slices[i]),
		       percent(hes_fair_energy(t, slices[i]), energy));
	}
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
static const char *missing(const struct fair_opts *o)
{
	if (!o->interval)
		return "--interval is missing: the number of quanta to divide";
	return o->power
		       ? NULL
		       : "--power is missing: the power of each tenant in W, such as --power 2,3,8";
}

int fair_slices(const struct fair_opts *o, int n_args, char **args)
{
	const char *wrong = missing(o);
	struct hes_fair_request r = { .phi = o->phi };
	struct hes_fair_tenant *tenants;
	uint64_t *slices;
	struct hes_err err;
	int rc;

	(void)n_args;
	(void)args;
	if (wrong) {
		fprintf(stderr, "heshare fair: %s\n", wrong);
		return 2;
	}
	r.n = list_length(o->power);
	r.policy = hes_fair_policy_find(o->policy, &err);
	r.tenants = tenants = malloc(r.n * sizeof(*tenants));
	slices = malloc(r.n * sizeof(*slices));
	rc = tenants && slices ? hes_parse_u64("--interval", o->interval, 1, HES_FAIR_MAX_INTERVAL,
					       &r.interval, &err)
			       : hes_fail(&err, -ENOMEM, "out of memory");
	if (!rc)
		rc = tenants_parse(o, tenants, r.n, &err);
	if (!rc)
		rc = answer(&r, slices, o->json, &err);
	free(slices);
	free(tenants);
	if (rc < 0)
		cli_fail("fair", &err);
	return rc == -EINVAL || rc == -ERANGE ? 2 : rc < 0 ? 1 : rc;
}
