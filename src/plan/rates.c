/*
 * rates.c - the rate cache; see rates.h.
 *
 * Entries are found by a hash map. An entry holds the power that its set has as co-runners and,
 * after the first query, the rates of the set. Entries move when the array grows: no pointer to an
 * entry is kept over a prediction. What the predictor computes once for a member, whatever its
 * co-runners, is kept as well.
 */
#include "plan/rates.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash_map.h"
#include "predict/prepared.h"

#define LIMIT_MHZ  8     /* to which the clock of a lowered power limit is found */
#define ALONE      16384 /* members alone in the quick table */
#define PREPARED   16384 /* members that are prepared, at most */
#define MOST_BYTES ((size_t)256 << 20)

/* What is used of a prediction. */
struct predicted {
	double iteration_us;
	uint32_t power_mw;
	uint8_t outside;
	bool far;
};

struct entry {
	struct hes_set set;
	struct predicted last; /* of the last member added last: the set's power as co-runners */
	bool rated;
	struct hes_set_rates rates; /* once rated */
};

/* A member alone. */
struct alone {
	uint64_t key; /* 0: none */
	struct hes_alone is;
};

/* What the predictor computes once for a member. */
struct prepared {
	uint64_t key; /* 0: none */
	struct hes_prepared is;
};

struct hes_rates {
	const struct hes_predictor *predictor;
	const struct hes_gpu_type *const *types;
	const struct hes_profile *solo;
	size_t n_kinds;
	struct prepared *prepared; /* [PREPARED], by hash: the last one of those with the same */
	struct hes_hash_map map;   /* of a set: its entry */
	struct entry *entries;
	size_t n, most;
	uint64_t queries;
	struct alone alone[ALONE]; /* by hash: the last query of those with the same */
};

/* A set, and what the predictor has computed for each member. */
struct co_runners {
	struct hes_set set;
	const struct hes_prepared *of[HES_MAX_SHARING];
};

struct hes_rates *hes_rates_new(const struct hes_predictor *p,
				const struct hes_gpu_type *const *types,
				const struct hes_profile *solo, size_t n_kinds)
{
	struct hes_rates *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	*r = (struct hes_rates){ .predictor = p,
				 .types = types,
				 .solo = solo,
				 .n_kinds = n_kinds,
				 .most = MOST_BYTES / sizeof(*r->entries),
				 .prepared = calloc(PREPARED, sizeof(*r->prepared)) };
	if (r->prepared)
		return r;
	free(r);
	return NULL;
}

void hes_rates_free(struct hes_rates *r)
{
	if (!r)
		return;
	free(r->prepared);
	hes_hash_map_finish(&r->map);
	free(r->entries);
	free(r);
}

uint64_t hes_rates_queries(const struct hes_rates *r)
{
	return r->queries;
}

void hes_rates_limit(struct hes_rates *r, size_t bytes)
{
	r->most = bytes / sizeof(*r->entries);
}

void hes_rates_forget(struct hes_rates *r, size_t most)
{
	if (r->map.n <= most)
		return;
	hes_hash_map_clear(&r->map);
	r->n = 0;
}

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15u;
	return h ^ (h >> 29);
}

static uint64_t key_of(uint32_t type, uint32_t clock_mhz, struct hes_member m)
{
	return (uint64_t)(type + 1) << 48 | (uint64_t)clock_mhz << 32 | (uint64_t)m.kind << 16 |
	       m.sm_pct;
}

/* @param own  [s->n], for members that share an entry of the table */
static void prepare_all(struct hes_rates *r, const struct hes_set *s, struct hes_prepared *own,
			const struct hes_prepared **out)
{
	for (uint32_t i = 0; i < s->n; i++) {
		const uint64_t key = key_of(s->type, s->clock_mhz, s->m[i]);
		const struct hes_setting setting = { s->m[i].sm_pct, s->clock_mhz };
		struct prepared *slot = &r->prepared[mix(0, key) >> 40 & (PREPARED - 1)];
		bool taken = false;

		for (uint32_t k = 0; k < i; k++)
			taken |= out[k] == &slot->is;
		out[i] = slot->key == key || !taken ? &slot->is : &own[i];
		if (slot->key == key)
			continue;
		hes_prepare(r->predictor, r->types[s->type],
			    &r->solo[s->type * r->n_kinds + s->m[i].kind], &setting,
			    taken ? &own[i] : &slot->is);
		slot->key = taken ? slot->key : key;
	}
}

static uint64_t hash_set(const struct hes_set *s)
{
	uint64_t h = mix(s->n, (uint64_t)s->type << 32 | s->clock_mhz);

	for (uint32_t i = 0; i < s->n; i++)
		h = mix(h, (uint64_t)s->m[i].kind << 16 | s->m[i].sm_pct);
	return h;
}

static bool is_same_set(const void *entries, uint32_t at, const void *key)
{
	const struct hes_set *a = &((const struct entry *)entries)[at].set, *b = key;

	return a->type == b->type && a->clock_mhz == b->clock_mhz && a->n == b->n &&
	       memcmp(a->m, b->m, a->n * sizeof(*a->m)) == 0;
}

/* @return NULL: the set is not in the cache */
static struct entry *find_entry(const struct hes_rates *r, const struct hes_set *s, uint64_t hash)
{
	const uint32_t at = hes_hash_map_find(&r->map, hash, is_same_set, r->entries, s);

	return at == HES_HASH_NONE ? NULL : &r->entries[at];
}

/* @return a new entry, not rated; NULL: out of memory */
static struct entry *add_entry(struct hes_rates *r, const struct hes_set *s, uint64_t hash)
{
	struct entry *entries;

	if (r->n >= r->most)
		hes_rates_forget(r, 0);
	entries = hes_grow(r->entries, r->n, sizeof(*entries));
	if (!entries)
		return NULL;
	r->entries = entries;
	if (hes_hash_map_add(&r->map, hash, (uint32_t)r->n))
		return NULL;
	entries[r->n] = (struct entry){ .set = *s };
	return &entries[r->n++];
}

static struct co_runners all_but(const struct co_runners *c, uint32_t member)
{
	struct co_runners rest;

	rest.set.type = c->set.type;
	rest.set.clock_mhz = c->set.clock_mhz;
	rest.set.n = 0;
	for (uint32_t i = 0; i < c->set.n; i++)
		if (i != member) {
			rest.set.m[rest.set.n] = c->set.m[i];
			rest.of[rest.set.n++] = c->of[i];
		}
	return rest;
}

static uint32_t co_power_mw(struct hes_rates *r, const struct co_runners *c);

/* One member with the others as co-runners. */
static struct predicted predict_member(struct hes_rates *r, const struct co_runners *c,
				       uint32_t member)
{
	const struct co_runners rest = all_but(c, member);
	struct hes_load load = { .power_mw = co_power_mw(r, &rest) };
	struct hes_quick_estimate out;

	r->queries++;
	load.predicted_mw = rest.set.n ? load.power_mw : 0;
	for (uint32_t i = 0; i < rest.set.n; i++)
		hes_load_join(&load, &rest.of[i]->load);
	hes_prepared_predict(c->of[member], &load, &out);
	return (struct predicted){ out.iteration_us, out.power_mw, (uint8_t)out.outside,
				   (out.outside & HES_OUTSIDE_SETTING) &&
					   hes_prepared_widening(c->of[member], &load) >=
						   HES_RATES_FAR };
}

/* The last member of a set that is not in the cache, and a new entry for it. */
static struct predicted predict_last(struct hes_rates *r, const struct co_runners *c, uint64_t hash)
{
	const struct predicted last = predict_member(r, c, c->set.n - 1);
	struct entry *e = add_entry(r, &c->set, hash);

	if (e)
		e->last = last;
	return last;
}

static bool is_lowered(const struct hes_gpu_type *g)
{
	return g->power_limit_mw < hes_gpu_type_default_limit_mw(g);
}

/* The power of co-runners before one more job joins them. */
static uint32_t co_power_mw(struct hes_rates *r, const struct co_runners *c)
{
	const uint64_t hash = hash_set(&c->set);
	const struct entry *e;

	if (c->set.n == 0)
		return r->types[c->set.type]->idle_power_mw;
	e = find_entry(r, &c->set, hash);
	return e ? e->last.power_mw : predict_last(r, c, hash).power_mw;
}

static bool are_equal(const struct hes_member *a, const struct hes_member *b)
{
	return a->kind == b->kind && a->sm_pct == b->sm_pct;
}

/* Equal members are next to each other and have equal rates. */
static void predict_rest(struct hes_rates *r, const struct co_runners *c,
			 const struct predicted *last, struct hes_set_rates *out)
{
	const struct hes_set *s = &c->set;
	struct predicted each = *last;

	*out = (struct hes_set_rates){ .power_mw = 0 };
	for (uint32_t i = 0; i < s->n; i++) {
		if (are_equal(&s->m[i], &s->m[s->n - 1]))
			each = *last;
		else if (i == 0 || !are_equal(&s->m[i], &s->m[i - 1]))
			each = predict_member(r, c, i);
		out->iteration_us[i] = each.iteration_us;
		out->outside[i] = each.outside;
		out->far |= each.far;
		out->power_mw += each.power_mw;
	}
	out->power_mw /= s->n;
}

static void rates_at(struct hes_rates *r, const struct hes_set *s, struct hes_set_rates *out)
{
	const uint64_t hash = hash_set(s);
	struct entry *e = find_entry(r, s, hash);
	struct hes_prepared own[HES_MAX_SHARING];
	struct co_runners c;
	struct predicted last;

	if (e && e->rated) {
		*out = e->rates;
		return;
	}
	c.set = *s;
	prepare_all(r, s, own, c.of);
	last = e ? e->last : predict_last(r, &c, hash);
	predict_rest(r, &c, &last, out);
	e = find_entry(r, s, hash);
	if (e) {
		e->rated = true;
		e->rates = *out;
	}
}

/*
 * Predictors know the default power limit. Below a lower one the GPU holds the clock at which it
 * draws what it may: the rates are those of that clock.
 */
static void rates_at_limit(struct hes_rates *r, const struct hes_set *s, struct hes_set_rates *out)
{
	const uint32_t limit_mw = r->types[s->type]->power_limit_mw;
	const struct hes_set_rates requested = *out;
	struct hes_set at = *s;
	uint32_t low_mhz = r->types[s->type]->clock_min_mhz, high_mhz = s->clock_mhz;

	do {
		at.clock_mhz = low_mhz + (high_mhz - low_mhz) / 2;
		rates_at(r, &at, out);
		if (out->power_mw > limit_mw)
			high_mhz = at.clock_mhz;
		else
			low_mhz = at.clock_mhz;
	} while (high_mhz - low_mhz > LIMIT_MHZ);
	if (out->power_mw > limit_mw)
		out->power_mw = limit_mw;
	/* What is outside of the training range is so by the clock that was requested. */
	memcpy(out->outside, requested.outside, sizeof(out->outside));
	out->far = requested.far;
}

void hes_rates_of(struct hes_rates *r, const struct hes_set *s, struct hes_set_rates *out)
{
	rates_at(r, s, out);
	if (is_lowered(r->types[s->type]) && out->power_mw > r->types[s->type]->power_limit_mw)
		rates_at_limit(r, s, out);
}

void hes_rates_of_starting(struct hes_rates *r, const struct hes_set *s, uint32_t starting,
			   struct hes_set_rates *out)
{
	struct hes_set working = { .type = s->type, .clock_mhz = s->clock_mhz };
	struct hes_set_rates rates = { .power_mw = r->types[s->type]->idle_power_mw };
	uint32_t next = 0;

	for (uint32_t i = 0; i < s->n; i++)
		if (!(starting >> i & 1))
			working.m[working.n++] = s->m[i];
	if (working.n)
		hes_rates_of(r, &working, &rates);
	*out = (struct hes_set_rates){ .power_mw = rates.power_mw, .far = rates.far };
	for (uint32_t i = 0; i < s->n; i++) {
		if (starting >> i & 1) {
			out->iteration_us[i] = INFINITY;
			continue;
		}
		out->iteration_us[i] = rates.iteration_us[next];
		out->outside[i] = rates.outside[next++];
	}
}

void hes_rates_each(const struct hes_rates *r, hes_rates_set_fn *each, void *ctx)
{
	for (const struct entry *e = r->entries; e < r->entries + r->n; e++)
		/* Those at a lowered power limit are at clocks of no plan. */
		if (e->rated && !is_lowered(r->types[e->set.type]))
			each(ctx, &e->set, &e->rates);
}

struct hes_alone hes_rates_alone(struct hes_rates *r, uint32_t type, struct hes_member m,
				 uint32_t clock_mhz)
{
	const uint64_t key = key_of(type, clock_mhz, m);
	struct alone *known = &r->alone[mix(0, key) >> 40 & (ALONE - 1)];
	struct hes_set_rates rates;

	if (known->key != key) {
		hes_rates_of(r,
			     &(struct hes_set){
				     .type = type, .clock_mhz = clock_mhz, .n = 1, .m = { m } },
			     &rates);
		*known = (struct alone){ key,
					 { (float)rates.iteration_us[0], (float)rates.power_mw } };
	}
	return known->is;
}
