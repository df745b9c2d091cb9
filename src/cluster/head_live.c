/*
 * head_live.c - what is known of a run on several nodes while it goes on; see head_state.h.
 *
 * Each runner writes live.json in the folder of its node; the head joins them to the one of the
 * run, which `heshare status` reads.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/grow.h"
#include "cluster/head_state.h"
#include "launch/job_files.h"
#include "run/live.h"

static struct hes_run_live_gpu *live_find_gpu(const struct hes_run_live *all, const char *gpu)
{
	for (size_t i = all->n_gpus; i-- > 0;)
		if (strcmp(all->gpus[i].gpu, gpu) == 0)
			return &all->gpus[i];
	return NULL;
}

/* Joules of several parts on one GPU sum up; the part that runs comes last. */
static void live_add_gpu(struct hes_run_live *all, struct hes_run_live_gpu g)
{
	struct hes_run_live_gpu *before = live_find_gpu(all, g.gpu), *v;

	if (before) {
		g.has_energy &= before->has_energy;
		g.energy_j += before->energy_j;
		*before = g;
	} else if ((v = hes_grow(all->gpus, all->n_gpus, sizeof(*v)))) {
		all->gpus = v;
		v[all->n_gpus++] = g;
	}
}

static void live_add_node(struct hes_run_live *all, const struct hes_run_live *l)
{
	for (size_t i = 0; i < l->n_gpus; i++)
		live_add_gpu(all, l->gpus[i]);
	for (size_t i = 0; i < l->n_jobs; i++) {
		struct hes_run_live_job *v = hes_grow(all->jobs, all->n_jobs, sizeof(*v));

		if (!v)
			return;
		all->jobs = v;
		v[all->n_jobs++] = l->jobs[i];
	}
	all->left_us = l->left_us > all->left_us ? l->left_us : all->left_us;
}

/* Of a part that has ended its joules stay. */
static void live_add_ended(struct hes_run_live *all, const struct part *p)
{
	for (size_t i = 0; i < p->n_gpus; i++) {
		struct hes_run_live_gpu g = {
			.has_energy = p->gpus[i].measured,
			.energy_j = (double)(p->gpus[i].busy_mj + p->gpus[i].idle_mj) * 1e-3
		};

		memcpy(g.gpu, p->gpus[i].gpu, sizeof(g.gpu));
		live_add_gpu(all, g);
	}
}

static void live_tell_progress(const struct head *h, const struct hes_run_live *all)
{
	struct hes_run_progress p = { .jobs = h->q->jobs->n,
				      .now_us = all->now_us,
				      .left_us = all->left_us,
				      .running = all->n_jobs };

	for (size_t i = 0; i < h->q->jobs->n; i++) {
		p.done += h->state[i] == HES_RUN_JOB_DONE;
		p.failed += h->state[i] == HES_RUN_JOB_FAILED;
		p.early += h->state[i] == HES_RUN_JOB_EARLY;
	}
	if (h->q->listener.progress)
		h->q->listener.progress(h->q->listener.ctx, &p);
}

void head_live_write(const struct head *h)
{
	struct hes_run_live all = { .at_us = hes_wall_us() };

	all.now_us = all.at_us > h->run->started_us ? all.at_us - h->run->started_us : 0;
	for (size_t i = 0; i < h->n_parts; i++) {
		const struct part *p = &h->parts[i];
		struct hes_run_live live;

		if (p->state == PART_OVER || p->state == PART_QUERIED)
			live_add_ended(&all, p);
		if (p->state != PART_RUNNING || !p->known ||
		    hes_run_live_load(&p->run, &live, NULL))
			continue;
		live_add_node(&all, &live);
		hes_run_live_free(&live);
	}
	live_tell_progress(h, &all);
	run_live_put(&h->folder, h->run->id, &all);
	hes_run_live_free(&all);
}

json_t *head_nodes_json(const struct head *h)
{
	json_t *out = json_array();

	for (size_t i = 0; i < h->q->launcher->n; i++) {
		const char *name = h->q->launcher->nodes[i];
		size_t rounds = 0;

		for (size_t k = 0; k < h->n_parts; k++)
			rounds += strcmp(h->parts[k].node, name) == 0 && h->parts[k].known;
		json_array_append_new(
			out,
			json_pack("{s:s, s:s, s:I, s:I, s:I, s:o}", "node", name, "state",
				  h->nodes[i].drained ? "drained"
				  : h->nodes[i].lost  ? "lost"
				  : h->offers[i].good ? "used"
						      : "left out",
				  "gpus", (json_int_t)h->offers[i].n, "rounds", (json_int_t)rounds,
				  "failures", (json_int_t)h->nodes[i].failures, "why",
				  h->offers[i].why[0] ? json_string(h->offers[i].why)
						      : json_null()));
	}
	return out;
}
