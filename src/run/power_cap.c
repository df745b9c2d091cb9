/*
 * power_cap.c - predict the power of what runs; see power_cap.h.
 *
 * Above idle power a GPU draws at most the sum of its jobs' activities. Jobs that share draw less;
 * by how much is known of the plan as a whole: its predicted power, as a part of the sum of the
 * activities at its highest. This part holds for as much activity as was planned on a GPU at a
 * time, and for more. So the jobs of a plan that keeps its cap wait only where more runs
 * together than was planned to.
 */
#include "run/power_cap.h"

#include <math.h>

static double activity_of(const struct hes_gpu_type *g, double activity_w, uint32_t sm_pct)
{
	return activity_w > 0
		       ? activity_w
		       : ((double)g->power_limit_mw - g->idle_power_mw) * 1e-3 * sm_pct / 100;
}

struct planned {
	int64_t end_us;
	double activity_w;
};

/* The highest sum of the activities that are planned on a GPU at a time. Jobs of a queue are in the
 * order of their starts. */
static double most_planned(const struct hes_queue *q, const struct hes_gpu_type *type)
{
	struct planned v[HES_MAX_SHARING];
	double most = 0;
	uint32_t n = 0;

	for (size_t b = 0; b < q->n; b++)
		for (uint32_t i = 0; i < q->batches[b].n; i++) {
			const struct hes_placement *p = &q->batches[b].jobs[i];
			double sum = 0;
			uint32_t still = 0;

			/* Times are rounded. */
			for (uint32_t k = 0; k < n; k++)
				if (v[k].end_us > p->start_us + 1)
					v[still++] = v[k];
			n = still < HES_MAX_SHARING ? still : HES_MAX_SHARING - 1;
			v[n++] = (struct planned){
				p->end_us, activity_of(type, p->activity_mw * 1e-3, p->sm_pct)
			};
			for (uint32_t k = 0; k < n; k++)
				sum += v[k].activity_w;
			most = fmax(most, sum);
		}
	return most;
}

void run_cap_init(struct run_cap *c, const struct hes_plan *p, const struct hes_fleet *f,
		  const long *here, struct run_gpu *gpus)
{
	double idle_w = 0, most_w = 0;
	size_t n = 0;

	*c = (struct run_cap){ .cap_w = (double)p->power_cap_mw * 1e-3,
			       .scale = 1,
			       .limit_us = RUN_NEVER_US,
			       .next_us = RUN_NEVER_US };
	if (!p->power_cap_mw)
		return;
	for (size_t g = 0; g < f->n; g++) {
		idle_w += f->gpus[g].type->idle_power_mw * 1e-3;
		most_w += most_planned(&p->queues[g], f->gpus[g].type);
	}
	if (most_w > 0 && (double)p->peak_mw * 1e-3 > idle_w)
		c->scale = ((double)p->peak_mw * 1e-3 - idle_w) / most_w;
	c->scale = fmin(c->scale, 1);
	for (size_t g = 0; g < f->n; g++) {
		const double most = most_planned(&p->queues[g], f->gpus[g].type);

		if (here[g] != HES_RUN_NO_GPU)
			gpus[n++].planned_most_w = most;
		else
			c->cap_w -= f->gpus[g].type->idle_power_mw * 1e-3 + c->scale * most;
	}
	/* A cap that leaves nothing is still a cap. */
	c->cap_w = fmax(c->cap_w, 1);
}

void run_cap_replan(struct run_cap *c, const struct hes_plan *p, const struct hes_fleet *f,
		    const long *here, struct run_gpu *gpus)
{
	const struct run_cap before = *c;

	run_cap_init(c, p, f, here, gpus);
	c->delayed = before.delayed;
	c->earlier_over_us = before.earlier_over_us;
	c->earlier_peak_mw = before.earlier_peak_mw;
}

void run_cap_round(struct run_cap *c)
{
	c->limit_us = c->next_us;
	c->next_us = RUN_NEVER_US;
}

/* Power of a GPU with what has started there, and with @also. A job that is killed and stuck has no
 * work left. */
static double gpu_power_w(const struct run_cap *c, const struct run_gpu *g,
			  const struct run_task *also, size_t *n_started)
{
	const struct hes_gpu_type *type = g->planned->type;
	double sum = 0;

	for (size_t i = g->queue.over; i < g->queue.reach; i++) {
		const struct run_place *p = &g->queue.v[i];
		const struct run_task *t = p->task;

		/* A held one may go on at any time. */
		if (p->state == RUN_WAITING || p->state == RUN_OVER || task_state(t) == TASK_STUCK)
			continue;
		sum += activity_of(type, task_activity(t), p->sm_pct);
		(*n_started)++;
	}
	if (also && also->gpu == g)
		sum += activity_of(type, task_activity(also), also->place->sm_pct);
	sum = fmin(sum, c->scale * fmax(sum, g->planned_most_w));
	return fmin(type->idle_power_mw * 1e-3 + sum, type->power_limit_mw * 1e-3);
}

bool run_cap_delays(struct run_cap *c, const struct run_gpu *gpus, size_t n,
		    const struct run_task *t, double now_w, double *out_w)
{
	double before = 0, with = 0;
	size_t n_started = 0, ignored = 0;

	for (size_t i = 0; i < n; i++) {
		before += gpu_power_w(c, &gpus[i], NULL, &n_started);
		with += gpu_power_w(c, &gpus[i], t, &ignored);
	}
	*out_w = fmax(before, now_w) + with - before;
	/* Rounding: a plan that keeps its cap to the watt is kept. */
	if (!n_started || *out_w <= c->cap_w * (1 + 1e-6)) {
		if (!n_started || t->planned_start_us <= c->limit_us)
			return false;
	} else if (t->planned_start_us < c->next_us) {
		c->next_us = t->planned_start_us;
	}
	return true;
}
