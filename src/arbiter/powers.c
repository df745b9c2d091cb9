/*
 * powers.c - the power of a tenant; see powers.h.
 */
#include "arbiter/powers.h"

#include <math.h>

#define ROUNDS      3
#define STEADY_CV   0.05
#define PART_OF_NEW 0.2  /* of a new measurement in the running average */
#define NOTICEABLE  0.02 /* a smaller change of power does not change slices */
#define WORTH_STORE 0.05
/* Of a profiling lease: the first, which does not count, and one for delays. */
#define EXTRA_PARTS 2

void power_forget(struct power *p, bool requested)
{
	p->profile = (struct profile){ .state = requested ? PROFILE_REQUESTED : PROFILE_NONE };
	p->known = false;
}

static bool power_queue(struct power *p, double watts)
{
	watts = fmin(fmax(watts, HES_FAIR_MIN_NUMBER), HES_FAIR_MAX_NUMBER);
	if (fabs(watts / p->queued_w - 1) < NOTICEABLE)
		return false;
	p->queued_w = watts;
	return true;
}

static bool power_learn(struct power *p, double watts)
{
	p->known = true;
	p->mean_w = watts;
	return power_queue(p, watts);
}

bool power_assume(struct power *p, double watts)
{
	return !p->known && power_queue(p, watts);
}

bool power_found(struct power *p, double watts)
{
	p->profile.state = PROFILE_NONE;
	if (!(watts >= HES_FAIR_MIN_NUMBER && watts <= HES_FAIR_MAX_NUMBER))
		return false;
	p->profile.state = PROFILE_KNOWN;
	p->profile.kept_w = watts;
	return power_learn(p, watts);
}

double power_watts(const struct power *p)
{
	return p->known ? p->mean_w : p->queued_w;
}

bool power_keep(struct power *p)
{
	if (!p->known || fabs(p->mean_w / p->profile.kept_w - 1) < WORTH_STORE)
		return false;
	p->profile.kept_w = p->mean_w;
	return true;
}

static double parts_cv(const struct profile *p)
{
	double mean = p->sum_w / p->parts, variance = p->sum_w2 / p->parts - mean * mean;

	return variance > 0 && mean > 0 ? sqrt(variance) / mean : 0;
}

/* Its parts are steady, or have been tried often enough. */
static void profile_finish(struct power *p, struct power_news *news)
{
	struct profile *f = &p->profile;

	f->over = true;
	f->state = PROFILE_KNOWN;
	f->kept_w = 0;
	news->changed |= power_learn(p, f->sum_w / f->parts);
	news->profiled = true;
	news->cv = parts_cv(f);
	news->seconds = (double)f->measured_ns * 1e-9;
}

static void profile_end_round(struct power *p, struct power_news *news)
{
	struct profile *f = &p->profile;

	f->rounds++;
	if (f->parts >= 2 && (parts_cv(f) <= STEADY_CV || f->rounds >= ROUNDS))
		profile_finish(p, news);
	else
		f->over = f->rounds >= ROUNDS;
	f->parts = 0;
	f->sum_w = f->sum_w2 = 0;
	f->measured_ns = f->held_ns = 0;
}

bool profile_is_missing(const struct power *p)
{
	return p->profile.state == PROFILE_NONE && !p->profile.over;
}

static void profile_add(struct power *p, const struct profile_lengths *l, double watts, uint64_t ns,
			struct power_news *news)
{
	struct profile *f = &p->profile;

	if (!profile_is_missing(p) || !l->profile_ns)
		return;
	f->parts++;
	f->sum_w += watts;
	f->sum_w2 += watts * watts;
	f->measured_ns += ns;
	if (f->measured_ns + l->part_ns / 2 >= l->profile_ns)
		profile_end_round(p, news);
}

struct power_news power_measured(struct power *p, const struct profile_lengths *l, double watts,
				 uint64_t ns, bool first_part)
{
	struct power_news news = { 0 };

	/* The first part has what the sensor still shows of the time before. */
	if (!(watts > 0) || !isfinite(watts) || (first_part && !p->known))
		return news;
	news.changed = power_learn(p, p->known ? (1 - PART_OF_NEW) * p->mean_w + PART_OF_NEW * watts
					       : watts);
	if (!first_part)
		profile_add(p, l, watts, ns, &news);
	return news;
}

uint64_t profile_length(const struct power *p, const struct profile_lengths *l)
{
	uint64_t measured = p->profile.measured_ns;

	return EXTRA_PARTS * l->part_ns + (measured < l->profile_ns ? l->profile_ns - measured : 0);
}

void profile_begin(struct power *p)
{
	p->profile.begun = true;
}

struct power_news profile_end(struct power *p, const struct profile_lengths *l, unsigned rounds,
			      uint64_t held_ns)
{
	struct profile *f = &p->profile;
	struct power_news news = { 0 };

	if (!profile_is_missing(p) || f->rounds != rounds)
		return news;
	f->held_ns += held_ns;
	if (f->held_ns >= l->profile_ns + 2 * EXTRA_PARTS * l->part_ns)
		profile_end_round(p, &news);
	return news;
}

void profile_give_up(struct power *p)
{
	p->profile.over = true;
}
