/*
 * account.c - a board's joules, segment by segment, to the jobs that were there; what jobs
 * print of their progress; see runner.h.
 *
 * A segment is a stretch with the same jobs and clock. Its joules are the meter's between its two ends,
 * split by hes_attribute.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "run/runner.h"

#define WHOLE 0.9  /* part of a segment that must have power readings where there is no counter */

int run_meter_start(struct runner *r, struct hes_err *err)
{
	size_t *devices = calloc(r->n_boards + 1, sizeof(*devices));
	int rc = devices ? 0 : hes_fail(err, -ENOMEM, "out of memory for %zu boards", r->n_boards);

	for (size_t i = 0; !rc && i < r->n_boards; i++) {
		devices[i] = r->boards[i].device;
		r->boards[i].metered = i;
	}
	if (!rc)
		rc = hes_meter_start(&r->meter, r->q->devices, devices, r->n_boards, err);
	free(devices);
	if (!rc)
		rc = hes_window_begin(r->meter, &r->window, err);
	for (size_t i = 0; !rc && i < r->n_boards; i++)
		hes_window_look_at(r->window, i, &r->boards[i].last);
	return rc;
}

double run_activity(const struct runner *r, const struct run_board *b, const struct hes_job *job, uint32_t sm_pct, uint32_t clock_mhz)
{
	const struct hes_gpu_type *type = r->q->fleet->gpus[b->gpu].type;
	struct hes_profile solo;
	struct hes_load load = { 0 };

	if (!r->q->profiles || hes_profile_find(r->q->profiles, job->workload, job->batch_size, type->name, &solo, NULL))
		return 0;
	hes_load_add(&load, type, &solo, sm_pct, clock_mhz);
	return load.solo_power_mw * 1e-3;
}

/* Joules between two looks. @return false they are not known */
static bool between(const struct hes_measured *a, const struct hes_measured *b, double *out)
{
	double s = b->seconds - a->seconds, power_s = b->power_s - a->power_s;

	if (a->from == HES_ENERGY_COUNTER && b->from == HES_ENERGY_COUNTER && b->energy_j >= a->energy_j)
		*out = b->energy_j - a->energy_j;
	else if (s > 0 && power_s >= WHOLE * s)
		*out = (b->integral_j - a->integral_j) * s / power_s;
	else
		*out = 0;
	return s <= 0 || (a->from == HES_ENERGY_COUNTER && b->from == HES_ENERGY_COUNTER) || power_s >= WHOLE * s;
}

/* Known activities compare with one another; else shares stand for them. */
static void split(struct runner *r, struct run_board *b, double joules, double seconds)
{
	double idle_w = r->q->fleet->gpus[b->gpu].type->idle_power_mw * 1e-3, nobody_j = 0;
	struct hes_sharer v[HES_MAX_SHARING];
	bool known = true;

	for (uint32_t i = 0; i < b->n_residents; i++)
		known &= r->tasks[b->residents[i]].activity > 0;
	for (uint32_t i = 0; i < b->n_residents; i++) {
		const struct run_task *t = &r->tasks[b->residents[i]];
		uint32_t sm_pct = b->queue.v[t->place].sm_pct;

		v[i] = (struct hes_sharer){ .end_s = seconds, .sm_pct = sm_pct, .activity = known ? t->activity : sm_pct };
	}
	if (hes_attribute(joules, idle_w, seconds, v, b->n_residents, &nobody_j, NULL))
		return;
	for (uint32_t i = 0; i < b->n_residents; i++)
		r->tasks[b->residents[i]].energy_j += v[i].energy_j;
}

static void keep_segment(struct run_board *b)
{
	if (b->n_segments == b->room) {
		size_t room = b->room ? 2 * b->room : 16;
		struct run_segment *v = reallocarray(b->segments, room, sizeof(*v));

		/* Without memory less is learnt. */
		if (!v)
			return;
		b->segments = v;
		b->room = room;
	}
	b->segments[b->n_segments++] = b->now;
}

/*
 * Over a gap of the sensors a board's joules come from the counter at its other end, but whose they were is not
 * known: those of the jobs that were there are missing.
 */
static void lose(struct runner *r, struct run_board *b)
{
	for (uint32_t i = 0; i < b->n_residents; i++)
		r->tasks[b->residents[i]].energy_missing = true;
	b->now.has_energy = false;
	b->lost_busy |= b->n_residents > 0;
}

void run_account(struct runner *r, struct run_board *b)
{
	struct hes_measured m;
	double joules, seconds;
	bool known;

	if (!r->window)
		return;
	for (uint32_t i = 0; i < b->n_residents; i++)
		run_look(r, &r->tasks[b->residents[i]]);
	hes_window_look_at(r->window, b->metered, &m);
	known = between(&b->last, &m, &joules);
	seconds = m.seconds - b->last.seconds;
	r->longest_gap_s = fmax(r->longest_gap_s, m.longest_gap_s);
	if (!known || b->energy_missing)
		lose(r, b);
	b->energy_missing = !known;
	if (!known)
		return;
	b->last = m;
	if (!b->n_residents && !b->lost_busy) {
		b->idle_j += joules;
		return;
	}
	b->busy_j += joules;
	b->busy_s += seconds;
	b->now.energy_j += joules;
	b->now.seconds += seconds;
	if (b->now.has_energy)
		split(r, b, joules, seconds);
	b->lost_busy = false;
}

void run_segment_begin(struct runner *r, struct run_board *b)
{
	int64_t now = run_now_us(r);

	if (b->now.n) {
		b->now.end_us = now;
		keep_segment(b);
	}
	b->now = (struct run_segment){ .start_us = now, .clock_mhz = b->clock_mhz, .n = b->n_residents, .has_energy = true };
	for (uint32_t i = 0; i < b->n_residents; i++)
		b->now.paces[i].task = b->residents[i];
}

void run_look(struct runner *r, struct run_task *t)
{
	struct run_segment *s = &r->boards[t->board].now;
	uint32_t task = (uint32_t)(t - r->tasks);

	if (t->progress.fd < 0 || hes_progress_read(&t->progress) <= 0)
		return;
	t->told_us = run_now_us(r);
	for (uint32_t i = 0; i < s->n; i++) {
		struct run_pace *p = &s->paces[i];

		if (p->task != task)
			continue;
		if (!p->seen)
			*p = (struct run_pace){ task, true, t->told_us, t->told_us, t->progress.iterations, t->progress.iterations };
		p->last_us = t->told_us;
		p->last = t->progress.iterations;
	}
}
