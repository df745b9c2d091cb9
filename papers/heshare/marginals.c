/*
 * marginals.c - what each job adds on each GPU; see marginals.h.
 */
#include "marginals.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

int hes_marginals_init(struct hes_marginals *m, const struct hes_assign *a)
{
	*m = (struct hes_marginals){ .a = a };
	m->adds_us = calloc(a->n * a->k + 1, sizeof(*m->adds_us));
	m->gpu_of = calloc(a->n + 1, sizeof(*m->gpu_of));
	if (m->adds_us && m->gpu_of)
		return 0;
	hes_marginals_finish(m);
	return -ENOMEM;
}

void hes_marginals_finish(struct hes_marginals *m)
{
	free(m->adds_us);
	free(m->gpu_of);
	*m = (struct hes_marginals){ 0 };
}

/* Update a GPU's values for a job that comes (sign 1) or leaves (-1). */
static void update_gpu(struct hes_marginals *m, uint32_t job, size_t gpu, double sign)
{
	const struct hes_cost *cost = hes_marginals_costs(m, gpu);
	const double time_us = cost[job].time_us, own = m->adds_us[gpu * m->a->n + job];
	double *adds = &m->adds_us[gpu * m->a->n];

	for (size_t i = 0; i < m->a->n; i++)
		adds[i] += sign * (cost[i].time_us < time_us ? cost[i].time_us : time_us);
	adds[job] = own;
}

void hes_marginals_move(struct hes_marginals *m, uint32_t job, uint32_t gpu)
{
	const struct hes_objectives change = hes_marginals_of_move(m, job, gpu);

	if (m->gpu_of[job] == gpu)
		return;
	update_gpu(m, job, m->gpu_of[job], -1);
	update_gpu(m, job, gpu, 1);
	m->gpu_of[job] = gpu;
	m->at.energy_mj += change.energy_mj;
	m->at.jct_us += change.jct_us;
}

static void build(struct hes_marginals *m, const uint32_t *gpu_of)
{
	const struct hes_assign *a = m->a;

	for (size_t g = 0; g < a->k; g++)
		for (size_t i = 0; i < a->n; i++)
			m->adds_us[g * a->n + i] =
				a->exact_wait_us[g] + hes_marginals_costs(m, g)[i].time_us;
	m->at = (struct hes_objectives){ 0, 0 };
	m->placed = true;
	for (uint32_t i = 0; i < a->n; i++) {
		m->gpu_of[i] = gpu_of[i];
		m->at.energy_mj += hes_marginals_costs(m, gpu_of[i])[i].energy_mj;
		m->at.jct_us += m->adds_us[gpu_of[i] * a->n + i];
		update_gpu(m, i, gpu_of[i], 1);
	}
}

#define MOVES_PER_BUILD 3 /* a build updates once per job, a move twice */

void hes_marginals_set(struct hes_marginals *m, const uint32_t *gpu_of)
{
	size_t differing = 0;

	for (size_t i = 0; i < m->a->n; i++)
		differing += m->gpu_of[i] != gpu_of[i];
	if (!m->placed || differing > m->a->n / MOVES_PER_BUILD) {
		build(m, gpu_of);
		return;
	}
	for (uint32_t i = 0; i < m->a->n && differing; i++)
		if (m->gpu_of[i] != gpu_of[i]) {
			hes_marginals_move(m, i, gpu_of[i]);
			differing--;
		}
}

struct hes_objectives hes_marginals_of_swap(const struct hes_marginals *m, uint32_t i, uint32_t j)
{
	const uint32_t g = m->gpu_of[i], h = m->gpu_of[j];
	const struct hes_cost *on_g = hes_marginals_costs(m, g), *on_h = hes_marginals_costs(m, h);
	const size_t n = m->a->n;

	/* Each joins a queue that the other has left. */
	return (struct hes_objectives){
		on_h[i].energy_mj + on_g[j].energy_mj - on_g[i].energy_mj - on_h[j].energy_mj,
		m->adds_us[h * n + i] - m->adds_us[g * n + i] + m->adds_us[g * n + j] -
			m->adds_us[h * n + j] - fmin(on_h[i].time_us, on_h[j].time_us) -
			fmin(on_g[i].time_us, on_g[j].time_us),
	};
}
