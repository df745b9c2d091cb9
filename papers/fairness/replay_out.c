/*
 * replay_out.c - print and write the results of `fair_simulate`; see replay_tenants.h.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/csv.h"
#include "base/file.h"
#include "base/visible.h"
#include "cli/cli.h"
#include "replay_tenants.h"

#define SWEEP_TENANTS 4 /* whose shares have room in a line */
#define SHARES_WIDTH  20

static double seconds(uint64_t ns)
{
	return (double)ns / 1e9;
}

static double per_second(const struct fair_replay_usage *u)
{
	return u->present_ns ? (double)u->requests / seconds(u->present_ns) : 0;
}

static double idle_s(const struct fair_simulation *s, const struct fair_simulation_run *r)
{
	uint64_t idle = s->c.duration_ns;

	for (size_t i = 0; i < s->t.n; i++)
		idle -= r->usage[i].time_ns;
	return seconds(idle);
}

/* --- for people --- */

static void print_head(const struct fair_simulation *s)
{
	const struct hes_fair_queue_config *q = &s->c.queue;

	printf("%g s, intervals of %" PRIu64 " quanta of %g ms, policy %s",
	       seconds(s->c.duration_ns), q->interval, (double)q->quantum_ns / 1e6,
	       q->policy->name);
	if (q->policy->takes_phi && !s->sweep)
		printf(", phi %g", q->phi);
	if (s->c.switch_ns)
		printf(", %g us a switch", (double)s->c.switch_ns / 1e3);
	printf("\n\n");
}

static int names_width(const struct fair_tenants *t)
{
	size_t width = strlen("tenant");

	for (size_t i = 0; i < t->n; i++)
		width = strlen(t->names[i]) > width ? strlen(t->names[i]) : width;
	return (int)width;
}

static void print_tenant(const struct fair_simulation *s, const struct fair_simulation_run *r,
			 size_t i)
{
	const struct fair_replay_usage *u = &r->usage[i];
	const struct fair_replay_tenant *t = &s->t.v[i];

	hes_visible_put(stdout, names_width(&s->t), s->t.names[i]);
	if (s->t.any_clock && s->t.clock_mhz[i] > 0)
		printf(" %7.6g", s->t.clock_mhz[i]);
	else if (s->t.any_clock)
		printf(" %7s", "-");
	printf(" %8.5g %6.4g %9.3f %6.1f %10.4g %8.1f", t->power_w, t->weight, seconds(u->time_ns),
	       100 * fair_time_share(s, r, i), u->energy_j, 100 * fair_energy_share(s, r, i));
	if (s->t.any_request && t->request_ns)
		printf(" %9" PRIu64 " %10.4g %8" PRIu64 " %9.4g %9.4g", u->requests, per_second(u),
		       u->waiting, u->mean_latency_ns / 1e6, (double)u->p99_latency_ns / 1e6);
	else if (s->t.any_request)
		printf(" %9s %10s %8s %9s %9s", "-", "-", "-", "-", "-");
	putchar('\n');
}

static void print_run(const struct fair_simulation *s)
{
	const struct fair_simulation_run *r = &s->runs[0];

	printf("%-*s", names_width(&s->t), "tenant");
	if (s->t.any_clock)
		printf(" %7s", "MHz");
	printf(" %8s %6s %9s %6s %10s %8s", "power W", "weight", "time s", "time %", "energy J",
	       "energy %");
	if (s->t.any_request)
		printf(" %9s %10s %8s %9s %9s", "requests", "per second", "waiting", "mean ms",
		       "p99 ms");
	putchar('\n');
	for (size_t i = 0; i < s->t.n; i++)
		print_tenant(s, r, i);
	printf("\nidle: %.3f s\n", idle_s(s, r));
	printf("fairness: time %.3f, energy %.3f, system %.3f (1 is even)\n", r->f.time,
	       r->f.energy, r->f.system);
}

static void print_sweep(const struct fair_simulation *s)
{
	const struct fair_simulation_run *best = &s->runs[0], *worst = best;
	size_t n = s->t.n < SWEEP_TENANTS ? s->t.n : SWEEP_TENANTS;

	printf("%5s %8s %8s %8s", "phi", "time", "energy", "system");
	for (size_t i = 0; i < n; i++) {
		fputs("  ", stdout);
		hes_visible_put(stdout, SHARES_WIDTH, s->t.names[i]);
	}
	printf("\n%5s %26s", "", "fairness (1 is even)");
	for (size_t i = 0; i < n; i++)
		printf("  %*s", SHARES_WIDTH, "time %  energy %");
	putchar('\n');
	for (size_t k = 0; k < s->n_runs; k++) {
		const struct fair_simulation_run *r = &s->runs[k];

		best = r->f.system > best->f.system ? r : best;
		worst = r->f.system < worst->f.system ? r : worst;
		printf("%5.3g %8.3f %8.3f %8.3f", r->phi, r->f.time, r->f.energy, r->f.system);
		for (size_t i = 0; i < n; i++)
			printf("  %10.1f %9.1f", 100 * fair_time_share(s, r, i),
			       100 * fair_energy_share(s, r, i));
		putchar('\n');
	}
	if (best->f.system > worst->f.system)
		printf("\nsystem fairness is highest at phi %.3g: %.3f\n", best->phi,
		       best->f.system);
	else
		printf("\nsystem fairness is the same at every phi: %.3f\n", best->f.system);
	if (n < s->t.n)
		printf("(%zu of %zu tenants; --csv and --json have all)\n", n, s->t.n);
}

void fair_simulation_print(const struct fair_simulation *s)
{
	print_head(s);
	if (s->sweep)
		print_sweep(s);
	else
		print_run(s);
	if (s->c.queue.policy->takes_phi && !s->c.queue.policy->equal_time)
		printf("energy can be equal up to phi %.3f, if all tenants are there and have "
		       "work\n",
		       s->phi_fair);
}

/* --- for programs --- */

static json_t *tenant_json(const struct fair_simulation *s, const struct fair_simulation_run *r,
			   size_t i)
{
	const struct fair_replay_usage *u = &r->usage[i];
	const struct fair_replay_tenant *t = &s->t.v[i];
	json_t *doc =
		json_pack("{s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:I}", "name", s->t.names[i],
			  "power_w", t->power_w, "weight", t->weight, "present_s",
			  seconds(u->present_ns), "time_s", seconds(u->time_ns), "time_share",
			  fair_time_share(s, r, i), "energy_j", u->energy_j, "energy_share",
			  fair_energy_share(s, r, i), "turns", (json_int_t)u->turns);

	if (s->t.clock_mhz[i] > 0)
		json_object_set_new(doc, "clock_mhz", json_real(s->t.clock_mhz[i]));
	if (!t->request_ns)
		return doc;
	json_object_set_new(doc, "requests", json_integer((json_int_t)u->requests));
	json_object_set_new(doc, "waiting", json_integer((json_int_t)u->waiting));
	json_object_set_new(doc, "requests_per_s", json_real(per_second(u)));
	if (u->requests) {
		json_object_set_new(doc, "mean_latency_ms", json_real(u->mean_latency_ns / 1e6));
		json_object_set_new(doc, "median_latency_ms",
				    json_real((double)u->median_latency_ns / 1e6));
		json_object_set_new(doc, "p99_latency_ms",
				    json_real((double)u->p99_latency_ns / 1e6));
	}
	return doc;
}

static json_t *run_json(const struct fair_simulation *s, const struct fair_simulation_run *r)
{
	json_t *tenants = json_array();
	json_t *doc = json_pack("{s:s, s:o?, s:I, s:f, s:f}", "policy", s->c.queue.policy->name,
				"phi", s->c.queue.policy->takes_phi ? json_real(r->phi) : NULL,
				"interval", (json_int_t)s->c.queue.interval, "quantum_ms",
				(double)s->c.queue.quantum_ns / 1e6, "duration_s",
				seconds(s->c.duration_ns));

	for (size_t i = 0; i < s->t.n; i++)
		json_array_append_new(tenants, tenant_json(s, r, i));
	json_object_set_new(doc, "tenants", tenants);
	json_object_set_new(doc, "idle_s", json_real(idle_s(s, r)));
	json_object_set_new(doc, "time_fairness", json_real(r->f.time));
	json_object_set_new(doc, "energy_fairness", json_real(r->f.energy));
	json_object_set_new(doc, "system_fairness", json_real(r->f.system));
	json_object_set_new(doc, "phi_fair", json_real(s->phi_fair));
	return doc;
}

static json_t *numbers_json(const double *v, size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, json_real(v[i]));
	return list;
}

static json_t *series_json(const struct fair_series *v)
{
	json_t *list = json_array();

	for (size_t k = 0; k < v->n_samples; k++)
		json_array_append_new(
			list,
			json_pack("{s:f, s:o, s:o}", "until_s", v->at_s[k], "time_share",
				  numbers_json(v->time_share + k * v->n, v->n), "energy_share",
				  numbers_json(v->energy_share + k * v->n, v->n)));
	return list;
}

int fair_simulation_print_json(const struct fair_simulation *s)
{
	json_t *runs, *doc;

	if (!s->sweep) {
		doc = run_json(s, &s->runs[0]);
		if (s->timed)
			json_object_set_new(doc, "series", series_json(&s->series));
		return cli_print_json("heshare-fair-replay", doc);
	}
	runs = json_array();
	for (size_t k = 0; k < s->n_runs; k++)
		json_array_append_new(runs, run_json(s, &s->runs[k]));
	return cli_print_json("heshare-fair-replay-sweep", json_pack("{s:o}", "runs", runs));
}

static void put_series(FILE *f, const struct fair_simulation *s)
{
	fputs("until_s,tenant,time_share,energy_share\n", f);
	for (size_t k = 0; k < s->series.n_samples; k++)
		for (size_t i = 0; i < s->t.n; i++) {
			fprintf(f, "%.9g,", s->series.at_s[k]);
			hes_csv_put(f, s->t.names[i]);
			fprintf(f, ",%.6g,%.6g\n", s->series.time_share[k * s->t.n + i],
				s->series.energy_share[k * s->t.n + i]);
		}
}

static void put_runs(FILE *f, const struct fair_simulation *s)
{
	fputs("phi,tenant,time_share,energy_share,time_s,energy_j,requests,requests_per_s,mean_"
	      "latency_ms,time_fairness,energy_fairness,"
	      "system_fairness\n",
	      f);
	for (size_t k = 0; k < s->n_runs; k++)
		for (size_t i = 0; i < s->t.n; i++) {
			const struct fair_simulation_run *r = &s->runs[k];
			const struct fair_replay_usage *u = &r->usage[i];

			fprintf(f, "%.9g,", r->phi);
			hes_csv_put(f, s->t.names[i]);
			fprintf(f, ",%.6g,%.6g,%.9g,%.9g,", fair_time_share(s, r, i),
				fair_energy_share(s, r, i), seconds(u->time_ns), u->energy_j);
			if (s->t.v[i].request_ns)
				fprintf(f, "%" PRIu64 ",%.6g,%.6g", u->requests, per_second(u),
					u->mean_latency_ns / 1e6);
			else
				fputs(",,", f);
			fprintf(f, ",%.6g,%.6g,%.6g\n", r->f.time, r->f.energy, r->f.system);
		}
}

int fair_simulation_write_csv(const struct fair_simulation *s, const char *path,
			      struct hes_err *err)
{
	struct hes_file out;
	int rc = hes_file_create(&out, path, err);

	if (rc)
		return rc;
	if (s->sweep)
		put_runs(out.f, s);
	else
		put_series(out.f, s);
	return hes_file_commit(&out, err);
}
