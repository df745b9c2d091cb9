/*
 * sums.c - what a tenant has used; see sums.h.
 */
#include "arbiter/sums.h"

#include <math.h>

static struct recent *sums_now(struct sums *s, uint64_t now)
{
	uint64_t epoch = now / s->interval_ns;
	struct recent *r = &s->recent[epoch % RECENT];

	if (r->epoch != epoch)
		*r = (struct recent){ .epoch = epoch };
	return r;
}

void sums_want(struct sums *s, uint64_t now)
{
	sums_now(s, now)->wanted = true;
}

static void used_add(struct used *u, const struct used *more)
{
	u->ns += more->ns;
	u->joules = fmax(u->joules + more->joules, 0);
	u->fair_ns += more->fair_ns;
	u->fair_j = fmax(u->fair_j + more->fair_j, 0);
}

void sums_add(struct sums *s, uint64_t ns, double joules, double part, uint64_t now)
{
	const struct used more = { ns, joules, (double)ns / part, joules / part };
	struct recent *r = sums_now(s, now);

	used_add(&s->all, &more);
	used_add(&r->used, &more);
	r->wanted |= ns > 0;
}

struct recent sums_recent(const struct sums *s, uint64_t now)
{
	uint64_t epoch = now / s->interval_ns;
	struct recent sum = { .epoch = epoch };

	for (size_t i = 0; i < RECENT; i++)
		if (s->recent[i].epoch + RECENT > epoch) {
			used_add(&sum.used, &s->recent[i].used);
			sum.wanted |= s->recent[i].wanted;
		}
	return sum;
}

bool sums_not_kept(const struct sums *s, double *seconds, double *joules)
{
	*seconds = (double)(s->all.ns - s->kept.ns) * 1e-9;
	*joules = s->all.joules - s->kept.joules;
	return s->all.ns != s->kept.ns || s->all.joules != s->kept.joules;
}

void sums_kept(struct sums *s)
{
	s->kept = s->all;
}
