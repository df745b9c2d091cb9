/*
 * powers.c - the power of a tenant; see powers.h.
 */
#include "arbiter/powers.h"

#include <math.h>

#define VALUES      5     /* at least, for a standard error */
#define SMALL_ERROR 0.015 /* of the mean */
#define PART_OF_NEW 0.2   /* of a new value in the running average */
#define NOTICEABLE  0.02  /* a smaller change of power does not change slices */
#define WORTH_STORE 0.05

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

bool power_not_kept(const struct power *p)
{
	return p->known && !(fabs(p->mean_w / p->profile.kept_w - 1) < WORTH_STORE);
}

void power_kept(struct power *p)
{
	p->profile.kept_w = p->mean_w;
}

bool power_is_missing(const struct power *p)
{
	return p->profile.state == PROFILE_NONE;
}

/* Variation of the values, each with the weight of its time. */
static double profile_cv(const struct profile *f)
{
	double mean = f->joules / f->seconds, variance = f->joules_watts / f->seconds - mean * mean;

	return variance > 0 ? sqrt(variance) / mean : 0;
}

static bool profile_is_complete(const struct profile *f, uint64_t profile_ns)
{
	if (f->n < VALUES)
		return false;
	return profile_cv(f) / sqrt(f->n - 1.0) <= SMALL_ERROR ||
	       f->seconds * 1e9 >= (double)profile_ns;
}

static void profile_add(struct profile *f, double watts, uint64_t ns)
{
	const double seconds = (double)ns * 1e-9;

	f->n++;
	f->seconds += seconds;
	f->joules += watts * seconds;
	f->joules_watts += watts * watts * seconds;
}

struct power_news power_measured(struct power *p, double watts, uint64_t ns, uint64_t profile_ns)
{
	struct profile *f = &p->profile;
	struct power_news news = { 0 };

	if (!(watts > 0) || !isfinite(watts) || !ns)
		return news;
	if (!profile_ns || !power_is_missing(p)) {
		news.changed = power_learn(
			p, p->known ? (1 - PART_OF_NEW) * p->mean_w + PART_OF_NEW * watts : watts);
		return news;
	}
	profile_add(f, watts, ns);
	news.changed = power_learn(p, f->joules / f->seconds);
	if (!profile_is_complete(f, profile_ns))
		return news;
	f->state = PROFILE_KNOWN;
	news.profiled = true;
	news.cv = profile_cv(f);
	news.seconds = f->seconds;
	return news;
}
