/*
 * residents.c - candidates by type and kind, residents in chunks that are
 * found by a hash; see residents.h.
 */
#include "plan/residents.h"

#include <stdlib.h>
#include <string.h>

#include "base/touched.h"

#define MOST  16384 /* residents: 7 MiB; a plan of 60 jobs asks about half as many */
#define FIRST_SLOTS 128

struct slot {
	uint32_t          type, clock_mhz;
	struct hes_member m;
	uint32_t          at; /* from 1; 0: empty */
};

/* Of one type. */
struct candidates {
	struct hes_prepared_job **of; /* [n_kinds], NULL: never asked about */
};

struct hes_residents {
	const struct hes_predictor       *p;
	const struct hes_gpu_type *const *types;
	const struct hes_profile         *solo;
	size_t                            n_kinds;
	struct candidates                *candidates; /* by type */
	size_t                            n_types;    /* asked about so far, and those before them */
	struct hes_prepared             *of[MOST];
	size_t                            n;
	struct slot                      *slots;
	size_t                            n_slots;    /* a power of two, more than twice what there is */
};

struct hes_residents *hes_residents_new(const struct hes_predictor *p, const struct hes_gpu_type *const *types,
					const struct hes_profile *solo, size_t n_kinds)
{
	struct hes_residents *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	*r = (struct hes_residents){ .p = p, .types = types, .solo = solo, .n_kinds = n_kinds,
				     .n_slots = FIRST_SLOTS };
	r->slots = calloc(r->n_slots, sizeof(*r->slots));
	if (!r->slots) {
		free(r);
		return NULL;
	}
	return r;
}

void hes_residents_free(struct hes_residents *r)
{
	if (!r)
		return;
	for (size_t t = 0; t < r->n_types; t++) {
		for (size_t k = 0; k < r->n_kinds && r->candidates[t].of; k++)
			hes_prepared_job_free(r->candidates[t].of[k]);
		free(r->candidates[t].of);
	}
	for (size_t i = 0; i < r->n; i++)
		hes_prepared_free(r->of[i]);
	free(r->candidates);
	free(r->slots);
	free(r);
}

/* @return NULL: memory is short */
static const struct hes_prepared_job *candidate_of(struct hes_residents *r, uint32_t type, uint32_t kind)
{
	struct hes_prepared_job **of;

	if (type >= r->n_types) {
		struct candidates *more = reallocarray(r->candidates, type + 1, sizeof(*more));

		if (!more)
			return NULL;
		memset(more + r->n_types, 0, (type + 1 - r->n_types) * sizeof(*more));
		r->candidates = more;
		r->n_types = type + 1;
	}
	if (!r->candidates[type].of)
		r->candidates[type].of = calloc(r->n_kinds, sizeof(struct hes_prepared_job *));
	of = r->candidates[type].of;
	if (of && !of[kind])
		of[kind] = hes_prepared_job_new(r->p, r->types[type], &r->solo[type * r->n_kinds + kind]);
	return of ? of[kind] : NULL;
}

/* The slot of a member of a set, or the empty one where it belongs. */
static struct slot *slot_of(const struct hes_residents *r, uint32_t type, uint32_t clock_mhz, struct hes_member m)
{
	uint64_t h = ((uint64_t)m.kind << 16 | m.sm_pct) * 0x9e3779b97f4a7c15u;
	size_t at;

	h = (h ^ h >> 32 ^ ((uint64_t)type << 32 | clock_mhz)) * 0x9e3779b97f4a7c15u;
	for (at = (size_t)(h >> 32) & (r->n_slots - 1); r->slots[at].at; at = (at + 1) & (r->n_slots - 1)) {
		const struct slot *s = &r->slots[at];

		if (s->m.kind == m.kind && s->m.sm_pct == m.sm_pct && s->clock_mhz == clock_mhz && s->type == type)
			break;
	}
	return &r->slots[at];
}

static bool double_slots(struct hes_residents *r)
{
	struct slot *old = r->slots, *more = hes_touched(2 * r->n_slots, sizeof(*more));
	const size_t n_old = r->n_slots;

	if (!more)
		return false;
	r->slots = more;
	r->n_slots *= 2;
	for (size_t i = 0; i < n_old; i++)
		if (old[i].at)
			*slot_of(r, old[i].type, old[i].clock_mhz, old[i].m) = old[i];
	free(old);
	return true;
}

/* @return false: it is full */
static bool has_room(struct hes_residents *r)
{
	return r->n < MOST && (2 * (r->n + 1) <= r->n_slots || double_slots(r));
}

static void forget(struct hes_residents *r)
{
	memset(r->slots, 0, r->n_slots * sizeof(*r->slots));
	while (r->n)
		hes_prepared_free(r->of[--r->n]);
}

/* @return NULL: there is no room for it */
static const struct hes_prepared *find_or_add(struct hes_residents *r, uint32_t type, uint32_t clock_mhz,
					      struct hes_member m)
{
	struct slot *slot = slot_of(r, type, clock_mhz, m);
	const struct hes_prepared_job *c;
	struct hes_prepared *made;

	if (slot->at)
		return r->of[slot->at - 1];
	c = candidate_of(r, type, m.kind);
	if (!c || !has_room(r))
		return NULL;
	made = hes_prepared_new(c, &(struct hes_setting){ m.sm_pct, clock_mhz });
	if (!made)
		return NULL;
	r->of[r->n++] = made;
	*slot_of(r, type, clock_mhz, m) = (struct slot){ type, clock_mhz, m, (uint32_t)r->n };
	return made;
}

static bool all_of(struct hes_residents *r, const struct hes_set *s, const struct hes_prepared **out)
{
	for (uint32_t i = 0; i < s->n; i++) {
		out[i] = find_or_add(r, s->type, s->clock_mhz, s->m[i]);
		if (!out[i])
			return false;
	}
	return true;
}

bool hes_residents_of(struct hes_residents *r, const struct hes_set *s, const struct hes_prepared **out)
{
	if (all_of(r, s, out))
		return true;
	forget(r);
	return all_of(r, s, out);
}
