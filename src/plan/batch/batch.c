/*
 * batch.c - a group of jobs on one GPU, phase by phase; see batch.h.
 */
#include "plan/batch/batch.h"

#include <math.h>

/* A job that still runs. */
struct running {
	struct hes_member member;
	uint32_t at;      /* in the group */
	double left;      /* iterations */
	double begins_us; /* when its start-up is over */
};

static bool before(const struct running *a, const struct running *b)
{
	if (a->member.kind != b->member.kind)
		return a->member.kind < b->member.kind;
	return a->member.sm_pct < b->member.sm_pct;
}

/* Sort the group in the order of its set; equal members stay in the group's order. */
static void group_sort(const struct hes_problem *p, uint32_t type, const struct hes_group *g,
		       struct running *r)
{
	for (uint32_t i = 0; i < g->n; i++) {
		const struct hes_problem_job *job = &p->jobs[g->m[i].job];
		struct running one = {
			{ (uint16_t)job->kind, (uint16_t)g->m[i].sm_pct },
			i,
			job->iterations,
			hes_problem_start_us(p, g->m[i].job, type),
		};
		uint32_t at = i;

		for (; at > 0 && before(&one, &r[at - 1]); at--)
			r[at] = r[at - 1];
		r[at] = one;
	}
}

/* Until the first job ends or its start-up is over. */
static double until_change(const struct running *r, uint32_t n, double now_us,
			   const struct hes_set_rates *rate)
{
	double least = INFINITY;

	for (uint32_t i = 0; i < n; i++)
		least = fmin(least, r[i].begins_us > now_us ? r[i].begins_us - now_us
							    : r[i].left * rate->iteration_us[i]);
	return least;
}

/* Attribute a phase. */
static void add_parts(const struct hes_problem *p, uint32_t type, const struct running *r,
		      uint32_t n, uint32_t starting, double mj, double us, const double *activity_w,
		      double *part_mj)
{
	struct hes_sharer v[HES_MAX_SHARING];

	for (uint32_t i = 0; i < n; i++)
		v[i] = (struct hes_sharer){ .end_s = us * 1e-6,
					    .sm_pct = r[i].member.sm_pct,
					    .activity = activity_w[r[i].at],
					    .starting = starting >> i & 1 };
	if (!hes_attribute_known(mj * 1e-3, p->types[type]->idle_power_mw * 1e-3, us * 1e-6, v, n))
		for (uint32_t i = 0; i < n; i++)
			part_mj[r[i].at] += v[i].energy_j * 1e3;
}

/* @activity_w, @part_mj: both, or NULL */
static void group_run(const struct hes_problem *p, uint32_t type, uint32_t clock_mhz,
		      const struct hes_group *g, struct hes_group_cost *out,
		      const double *activity_w, double *part_mj)
{
	struct running r[HES_MAX_SHARING];
	struct hes_group_cost c = { .energy_mj = 0 };
	uint32_t n = g->n;

	group_sort(p, type, g, r);
	while (n > 0) {
		struct hes_set set = { .type = type, .clock_mhz = clock_mhz, .n = n };
		struct hes_set_rates rate;
		uint32_t still = 0, starting = 0;
		double phase_us;

		for (uint32_t i = 0; i < n; i++) {
			set.m[i] = r[i].member;
			starting |= (uint32_t)(r[i].begins_us > c.last_us) << i;
		}
		if (starting)
			hes_rates_of_starting(p->rates, &set, starting, &rate);
		else
			hes_rates_of(p->rates, &set, &rate);
		phase_us = until_change(r, n, c.last_us, &rate);
		c.last_us += phase_us;
		c.energy_mj += phase_us * rate.power_mw * 1e-6;
		c.peak_mw = fmax(c.peak_mw, rate.power_mw);
		if (part_mj)
			add_parts(p, type, r, n, starting, phase_us * rate.power_mw * 1e-6,
				  phase_us, activity_w, part_mj);
		c.far |= rate.far;
		for (uint32_t i = 0; i < n; i++) {
			c.breaks_floor |= hes_problem_breaks_floor(p, p->rates, g->m[r[i].at].job,
								   &set, i, &rate);
			c.outside[r[i].at] |= rate.outside[i];
			/* Rounding: a job with less than a billionth of the phase left has ended.
			 */
			if (r[i].left * rate.iteration_us[i] <= phase_us * (1 + 1e-9)) {
				c.end_us[r[i].at] = c.last_us;
				c.ends_us += c.last_us;
			} else {
				r[i].left -= phase_us / rate.iteration_us[i];
				r[still++] = r[i];
			}
		}
		n = still;
	}
	*out = c;
}

void hes_group_run(const struct hes_problem *p, uint32_t type, uint32_t clock_mhz,
		   const struct hes_group *g, struct hes_group_cost *out)
{
	group_run(p, type, clock_mhz, g, out, NULL, NULL);
}

void hes_group_run_parts(const struct hes_problem *p, uint32_t type, uint32_t clock_mhz,
			 const struct hes_group *g, struct hes_group_cost *out,
			 double activity_w[HES_MAX_SHARING], double part_mj[HES_MAX_SHARING])
{
	for (uint32_t i = 0; i < g->n; i++) {
		activity_w[i] =
			hes_problem_activity_w(p, g->m[i].job, type, g->m[i].sm_pct, clock_mhz);
		part_mj[i] = 0;
	}
	group_run(p, type, clock_mhz, g, out, activity_w, part_mj);
}

bool hes_group_fits(const struct hes_problem *p, uint32_t type, const struct hes_group *g)
{
	uint64_t memory_mib = 0;

	if (g->n > 1 && p->types[type]->alone)
		return false;
	for (uint32_t i = 0; i < g->n; i++) {
		if (!hes_problem_runs(p, g->m[i].job, type))
			return false;
		memory_mib += hes_problem_memory_mib(p, g->m[i].job, type);
	}
	return memory_mib <= p->types[type]->memory_mib;
}

bool hes_default_is_far(const struct hes_problem *p)
{
	for (size_t t = 0; t < p->n_types; t++)
		for (size_t i = 0; i < p->n; i++) {
			const struct hes_group alone = { 1, { { (uint32_t)i, 100 } } };
			struct hes_group_cost cost;

			if (!hes_problem_runs(p, i, t))
				continue;
			hes_group_run(p, (uint32_t)t, p->types[t]->clock_default_mhz, &alone,
				      &cost);
			if (cost.far)
				return true;
		}
	return false;
}
