/*
 * rates.c - the memo of predictions; see rates.h.
 *
 * Open addressing over entries that lie one behind the other in one growing
 * array, each as long as its set is large; an entry is never removed, but all
 * those that were not asked about from one turn to the next. An entry holds
 * the power its set has as somebody's neighbours and, once asked for, the
 * set's rates.
 */
#include "plan/rates.h"

#include <stdlib.h>
#include <string.h>

#include "base/touched.h"
#include "plan/residents.h"

#define USUAL 4 /* members that room for a set is meant for */

/* What matters of an estimate. */
struct said {
	double   iteration_us;
	uint32_t power_mw;
	uint8_t  outside;
	bool     far;
};

struct rated_member {
	double            iteration_us; /* of the last one also where nothing is rated: beside the others */
	struct hes_member m;
	uint8_t           outside;       /* ... */
};

struct entry {
	double              power_mw;      /* rates' */
	uint32_t            type;
	uint32_t            clock_mhz;
	uint32_t            last_power_mw; /* of the last member beside the others: what neighbours see */
	uint8_t             n;
	bool                rated;
	bool                last_far;
	bool                far;           /* rates' */
	struct rated_member of[];          /* [n] */
};

#define UNIT sizeof(struct rated_member) /* bytes that entries are counted in */
_Static_assert(sizeof(struct entry) % sizeof(double) == 0 && UNIT % sizeof(double) == 0, "entries are aligned");

/* With its hash here, hardly another set's entry is read on the way, and none where slots become more. */
struct slot {
	uint32_t at;   /* of the entry, in units, from 1; 0: empty */
	uint32_t hash;
};

struct hes_rates {
	const struct hes_predictor       *predictor;
	const struct hes_gpu_type *const *types;
	const struct hes_profile         *solo;
	size_t                            n_kinds;
	struct rated_member              *entries;  /* units */
	size_t                            used, units;
	size_t                            n, room;  /* sets */
	struct slot                      *slots;
	size_t                            n_slots;  /* a power of two, twice the room */
	struct hes_residents             *residents;
	uint64_t                          queries;
	struct hes_rates                 *before;   /* entries and slots alone: those before the last turn; may be NULL */
};

struct hes_rates *hes_rates_new(const struct hes_predictor *p, const struct hes_gpu_type *const *types,
				const struct hes_profile *solo, size_t n_kinds)
{
	struct hes_rates *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	*r = (struct hes_rates){ .predictor = p, .types = types, .solo = solo, .n_kinds = n_kinds,
				 .residents = hes_residents_new(p, types, solo, n_kinds) };
	if (!r->residents) {
		free(r);
		return NULL;
	}
	return r;
}

void hes_rates_free(struct hes_rates *r)
{
	if (!r)
		return;
	hes_rates_free(r->before);
	hes_residents_free(r->residents);
	free(r->entries);
	free(r->slots);
	free(r);
}

uint64_t hes_rates_queries(const struct hes_rates *r)
{
	return r->queries;
}

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15u;
	return h ^ (h >> 29);
}

static uint32_t hash(const struct hes_set *s)
{
	uint64_t h = mix(s->n, (uint64_t)s->type << 32 | s->clock_mhz);

	for (uint32_t i = 0; i < s->n; i++)
		h = mix(h, (uint64_t)s->m[i].kind << 16 | s->m[i].sm_pct);
	return (uint32_t)(h >> 32);
}

static size_t units_of(uint32_t n)
{
	return (sizeof(struct entry) + n * sizeof(struct rated_member) + UNIT - 1) / UNIT;
}

static struct entry *entry_at(const struct hes_rates *r, size_t at)
{
	return (void *)&r->entries[at];
}

static bool is_of(const struct entry *e, const struct hes_set *s)
{
	if (e->type != s->type || e->clock_mhz != s->clock_mhz || e->n != s->n)
		return false;
	for (uint32_t i = 0; i < s->n; i++)
		if (e->of[i].m.kind != s->m[i].kind || e->of[i].m.sm_pct != s->m[i].sm_pct)
			return false;
	return true;
}

static struct hes_set set_of(const struct entry *e)
{
	struct hes_set s = { .type = e->type, .clock_mhz = e->clock_mhz, .n = e->n };

	for (uint32_t i = 0; i < e->n; i++)
		s.m[i] = e->of[i].m;
	return s;
}

static void tell(const struct entry *e, struct hes_pace *out)
{
	*out = (struct hes_pace){ .power_mw = e->power_mw, .far = e->far };
	for (uint32_t i = 0; i < e->n; i++) {
		out->iteration_us[i] = e->of[i].iteration_us;
		out->outside[i] = e->of[i].outside;
	}
}

/* @return what is known of a set of that hash; NULL: nothing */
static struct entry *find(const struct hes_rates *r, const struct hes_set *s, uint32_t h)
{
	size_t at = h & (r->n_slots - 1);

	if (!r->n_slots)
		return NULL;
	for (; r->slots[at].at; at = (at + 1) & (r->n_slots - 1)) {
		struct entry *e = entry_at(r, r->slots[at].at - 1);

		if (r->slots[at].hash == h && is_of(e, s))
			return e;
	}
	return NULL;
}

/* Let a slot tell of an entry that none tells of yet. */
static void put(struct hes_rates *r, struct slot of)
{
	size_t at = of.hash & (r->n_slots - 1);

	while (r->slots[at].at)
		at = (at + 1) & (r->n_slots - 1);
	r->slots[at] = of;
}

static bool grow_to(struct hes_rates *r, size_t room)
{
	const size_t units = room * units_of(USUAL), n_old = r->n_slots;
	struct rated_member *entries;
	struct slot *slots, *old = r->slots;

	if (units > UINT32_MAX / 4)
		return false;
	slots = hes_touched(2 * room, sizeof(*slots));
	entries = slots ? reallocarray(r->entries, units, UNIT) : NULL;
	if (!entries) {
		free(slots);
		return false;
	}
	r->entries = entries;
	r->units = units;
	r->slots = slots;
	r->room = room;
	r->n_slots = 2 * room;
	for (size_t i = 0; i < n_old; i++)
		if (old[i].at)
			put(r, old[i]);
	free(old);
	return true;
}

/* Larger sets than usual may take the memory of more. @return false: it is short */
static bool has_room(struct hes_rates *r, uint32_t n)
{
	while (r->n == r->room || r->units - r->used < units_of(n))
		if (!grow_to(r, r->room ? 2 * r->room : 1024))
			return false;
	return true;
}

void hes_rates_reserve(struct hes_rates *r, size_t more)
{
	size_t room = r->room ? r->room : 1024;

	while (room < r->n + more || room * units_of(USUAL) < r->used + more * units_of(USUAL))
		room *= 2;
	if (room > r->room && !grow_to(r, room))
		return;
	/* Pages that have been written to once are there, as those of slots are. */
	memset(&r->entries[r->used], 0, (r->units - r->used) * UNIT);
}

size_t hes_rates_room(const struct hes_rates *r)
{
	const size_t sets = r->room - r->n, of_usual = (r->units - r->used) / units_of(USUAL);

	return sets < of_usual ? sets : of_usual;
}

void hes_rates_turn(struct hes_rates *r)
{
	struct hes_rates *b = r->before ? r->before : calloc(1, sizeof(*b));
	struct hes_rates now = *r;

	r->before = b;
	if (!b || (b->room < r->room && !grow_to(b, r->room)))
		return;
	r->entries = b->entries;
	r->units = b->units;
	r->slots = b->slots;
	r->room = b->room;
	r->n_slots = b->n_slots;
	r->n = r->used = 0;
	if (r->n_slots)
		memset(r->slots, 0, r->n_slots * sizeof(*r->slots));
	*b = (struct hes_rates){ .entries = now.entries, .used = now.used, .units = now.units, .n = now.n, .room = now.room,
				 .slots = now.slots, .n_slots = now.n_slots };
}

/* @return an entry of a set that has none; NULL: memory is short */
static struct entry *add(struct hes_rates *r, const struct hes_set *s, uint32_t h)
{
	struct entry *e;

	if (!has_room(r, s->n))
		return NULL;
	e = entry_at(r, r->used);
	*e = (struct entry){ .type = s->type, .clock_mhz = s->clock_mhz, .n = (uint8_t)s->n };
	for (uint32_t i = 0; i < s->n; i++)
		e->of[i] = (struct rated_member){ .m = s->m[i] };
	put(r, (struct slot){ (uint32_t)r->used + 1, h });
	r->used += units_of(s->n);
	r->n++;
	return e;
}

/* A set, and what the predictor has worked out of its members. */
struct company {
	struct hes_set             set;
	const struct hes_prepared *who[HES_MAX_SHARING];
	bool                       known; /* who is valid */
};

static struct company without(const struct company *c, uint32_t member)
{
	struct company rest;

	rest.known = c->known;
	rest.set.type = c->set.type;
	rest.set.clock_mhz = c->set.clock_mhz;
	rest.set.n = 0;
	for (uint32_t i = 0; i < c->set.n; i++)
		if (i != member) {
			rest.set.m[rest.set.n] = c->set.m[i];
			rest.who[rest.set.n++] = c->who[i];
		}
	return rest;
}

/* Where there is no memory for what is worked out once. */
static struct said ask_from_scratch(const struct hes_rates *r, const struct company *rest, struct hes_member m,
				    struct hes_load *co_runners)
{
	const struct hes_gpu_type *g = r->types[rest->set.type];
	const struct hes_profile *solo = &r->solo[rest->set.type * r->n_kinds];
	const uint32_t clock_mhz = rest->set.clock_mhz;
	struct hes_estimate e;

	for (uint32_t i = 0; i < rest->set.n; i++)
		hes_predict_load_add(r->predictor, g, &solo[rest->set.m[i].kind],
				   &(struct hes_setting){ rest->set.m[i].sm_pct, clock_mhz }, co_runners);
	hes_predict(r->predictor, g, &solo[m.kind], &(struct hes_setting){ m.sm_pct, clock_mhz }, co_runners, &e);
	return (struct said){ e.iteration_us, e.power_mw, (uint8_t)e.outside,
			      (e.outside & HES_OUTSIDE_SETTING) && e.novelty >= HES_RATES_FAR };
}

/* All of a set but one. */
struct others {
	struct company c;
	uint32_t       hash;
};

/* All but one. Its slot is fetched meanwhile: ask for all members' others before any is looked up. */
static struct others others_of(const struct hes_rates *r, const struct company *c, uint32_t member)
{
	struct others o = { .c = without(c, member) };

	o.hash = hash(&o.c.set);
	if (r->n_slots)
		__builtin_prefetch(&r->slots[o.hash & (r->n_slots - 1)]);
	return o;
}

static uint32_t power_mw_of(struct hes_rates *r, const struct others *o);

/* One member of a set beside the others. */
static struct said ask(struct hes_rates *r, const struct company *c, uint32_t member, const struct others *o)
{
	const struct company *rest = &o->c;
	struct hes_load co_runners = { .power_mw = power_mw_of(r, o) };
	struct hes_quick_estimate out;

	r->queries++;
	co_runners.predicted_mw = rest->set.n ? co_runners.power_mw : 0;
	if (!c->known)
		return ask_from_scratch(r, rest, c->set.m[member], &co_runners);
	for (uint32_t i = 0; i < rest->set.n; i++)
		hes_load_join(&co_runners, hes_prepared_load(rest->who[i]));
	hes_prepared_predict(c->who[member], &co_runners, &out);
	return (struct said){ out.iteration_us, out.power_mw, (uint8_t)out.outside,
			      (out.outside & HES_OUTSIDE_SETTING) &&
			      hes_prepared_novelty(c->who[member], &co_runners) >= HES_RATES_FAR };
}

/* @return what is known of a set, remembered here if memory suffices; NULL: nothing */
static struct entry *look_up(struct hes_rates *r, const struct hes_set *s, uint32_t h)
{
	struct entry *known = find(r, s, h), *own;

	if (known)
		return known;
	known = r->before ? find(r->before, s, h) : NULL;
	own = known ? add(r, s, h) : NULL;
	if (!own)
		return known;
	memcpy(own, known, sizeof(*own) + s->n * sizeof(own->of[0]));
	return own;
}

/* The last member of a set of which nothing is known; it is remembered. @param o  the others */
static struct said ask_last(struct hes_rates *r, const struct company *c, uint32_t h, const struct others *o)
{
	const struct said last = ask(r, c, c->set.n - 1, o);
	struct entry *e = add(r, &c->set, h);

	if (e) {
		e->last_power_mw = last.power_mw;
		e->last_far = last.far;
		e->of[e->n - 1].iteration_us = last.iteration_us;
		e->of[e->n - 1].outside = last.outside;
	}
	return last;
}

static struct said last_of(const struct entry *e)
{
	return (struct said){ e->of[e->n - 1].iteration_us, e->last_power_mw, e->of[e->n - 1].outside, e->last_far };
}

/* What neighbours draw before one more joins them. */
static uint32_t power_mw_of(struct hes_rates *r, const struct others *o)
{
	const struct company *c = &o->c;
	const struct entry *known;
	struct others rest;

	if (c->set.n == 0)
		return r->types[c->set.type]->idle_power_mw;
	known = look_up(r, &c->set, o->hash);
	if (known)
		return known->last_power_mw;
	rest = others_of(r, c, c->set.n - 1);
	return ask_last(r, c, o->hash, &rest).power_mw;
}

static bool is_alike(const struct hes_set *s, uint32_t a, uint32_t b)
{
	return memcmp(&s->m[a], &s->m[b], sizeof(s->m[a])) == 0;
}

/* Every member of a set beside the others. Equal members are neighbours in the order and fare alike. */
static struct hes_pace rate(struct hes_rates *r, const struct company *c, const struct others *o, const struct said *last)
{
	const struct hes_set *s = &c->set;
	struct hes_pace pace = { .power_mw = 0 };
	struct said each = *last;

	for (uint32_t i = 0; i < s->n; i++) {
		if (is_alike(s, i, s->n - 1))
			each = *last;
		else if (i == 0 || !is_alike(s, i, i - 1))
			each = ask(r, c, i, &o[i]);
		pace.iteration_us[i] = each.iteration_us;
		pace.outside[i] = each.outside;
		pace.far |= each.far;
		pace.power_mw += each.power_mw;
	}
	pace.power_mw /= s->n;
	return pace;
}

static void keep_rates(struct entry *e, const struct hes_pace *pace)
{
	e->rated = true;
	e->power_mw = pace->power_mw;
	e->far = pace->far;
	for (uint32_t i = 0; i < e->n; i++) {
		e->of[i].iteration_us = pace->iteration_us[i];
		e->of[i].outside = pace->outside[i];
	}
}

void hes_rates_of(struct hes_rates *r, const struct hes_set *s, struct hes_pace *out)
{
	const uint32_t h = hash(s);
	struct entry *e = look_up(r, s, h);
	struct others o[HES_MAX_SHARING];
	struct company c;
	struct said last;

	if (e && e->rated) {
		tell(e, out);
		return;
	}
	c.set = *s;
	c.known = hes_residents_of(r->residents, s, c.who);
	for (uint32_t i = 0; i < s->n; i++)
		o[i] = others_of(r, &c, i);
	last = e ? last_of(e) : ask_last(r, &c, h, &o[s->n - 1]);
	*out = rate(r, &c, o, &last);
	e = find(r, s, h); /* as others were added, it may lie elsewhere */
	if (e)
		keep_rates(e, out);
}

void hes_rates_each(const struct hes_rates *r,
		    void (*each)(void *ctx, const struct hes_set *s, const struct hes_pace *pace), void *ctx)
{
	for (size_t at = 0; at < r->used; at += units_of(entry_at(r, at)->n)) {
		const struct entry *e = entry_at(r, at);
		const struct hes_set s = set_of(e);
		struct hes_pace pace;

		if (!e->rated)
			continue;
		tell(e, &pace);
		each(ctx, &s, &pace);
	}
}
