/*
 * groups_values.c - sets of jobs and their cached values; see groups_values.h.
 */
#include "partition/groups_values.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define CACHE_LEAST 1024
#define CACHE_MOST  (1u << 20) /* 16 MiB */

struct groups_cached {
	uint64_t key; /* 0: none */
	double value;
};

int groups_values_init(struct groups_values *v, const struct groups_problem *p,
		       uint64_t evaluations)
{
	uint64_t room = CACHE_LEAST;

	while (room < CACHE_MOST && room / 2 < evaluations)
		room *= 2;
	*v = (struct groups_values){ .p = p, .mask = room - 1 };
	v->cache = calloc(room, sizeof(*v->cache));
	return v->cache ? 0 : -ENOMEM;
}

void groups_values_finish(struct groups_values *v)
{
	free(v->cache);
	v->cache = NULL;
}

/* The finalizer of splitmix64. */
static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

/* The jobs that a set's jobs stand in for, ascending. */
static struct groups_set set_same(const struct groups_problem *p, const struct groups_set *set)
{
	struct groups_set same = { .n = 0 };

	for (uint32_t i = 0; i < set->n; i++)
		same = groups_set_with(&same, p->same_as[set->job[i]]);
	return same;
}

static uint64_t set_key(uint32_t kind, const struct groups_set *set)
{
	uint64_t key = mix(kind + 0x9e3779b97f4a7c15u);

	for (uint32_t i = 0; i < set->n; i++)
		key = mix(key + set->job[i] + 0x9e3779b97f4a7c15u);
	return key | 1;
}

double groups_value(struct groups_values *v, uint32_t kind, const struct groups_set *set)
{
	const struct groups_set same = v->p->same_as ? set_same(v->p, set) : *set;
	const uint64_t key = set_key(kind, &same);
	struct groups_cached *bucket = &v->cache[key & v->mask & ~(uint64_t)1];
	double value;

	for (int i = 0; i < 2; i++)
		if (bucket[i].key == key) {
			v->hits++;
			return bucket[i].value;
		}
	v->calls++;
	value = v->p->value(v->p->ctx, kind, same.job, same.n);
	bucket[1] = bucket[0];
	bucket[0] = (struct groups_cached){ key, isfinite(value) ? value : -INFINITY };
	return bucket[0].value;
}

struct groups_set groups_set_with(const struct groups_set *s, uint32_t job)
{
	struct groups_set t = *s;
	uint32_t at = t.n++;

	for (; at > 0 && t.job[at - 1] > job; at--)
		t.job[at] = t.job[at - 1];
	t.job[at] = job;
	return t;
}
