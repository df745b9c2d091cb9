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

void sums_add_time(struct sums *s, uint64_t ns, uint64_t now)
{
	struct recent *r = sums_now(s, now);

	s->time_ns += ns;
	r->time_ns += ns;
	r->wanted = true;
}

void sums_add_energy(struct sums *s, double joules, uint64_t now)
{
	struct recent *r = sums_now(s, now);

	s->energy_j = fmax(s->energy_j + joules, 0);
	r->energy_j = fmax(r->energy_j + joules, 0);
}

struct recent sums_recent(const struct sums *s, uint64_t now)
{
	uint64_t epoch = now / s->interval_ns;
	struct recent sum = { .epoch = epoch };

	for (size_t i = 0; i < RECENT; i++)
		if (s->recent[i].epoch + RECENT > epoch) {
			sum.time_ns += s->recent[i].time_ns;
			sum.energy_j += s->recent[i].energy_j;
			sum.wanted |= s->recent[i].wanted;
		}
	return sum;
}

bool sums_not_kept(const struct sums *s, double *seconds, double *joules)
{
	*seconds = (double)(s->time_ns - s->kept_ns) * 1e-9;
	*joules = s->energy_j - s->kept_j;
	return s->time_ns != s->kept_ns || s->energy_j != s->kept_j;
}

void sums_kept(struct sums *s)
{
	s->kept_ns = s->time_ns;
	s->kept_j = s->energy_j;
}
