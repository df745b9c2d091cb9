/*
 * rates.c - the memo of predictions; see rates.h.
 *
 * Open addressing over entries in one growing array; an entry is never
 * removed, but all those that were not asked about from one turn to the next. An entry holds the power its set has as somebody's neighbours and,
 * once asked for, the set's rates.
 */
#include "plan/rates.h"

#include <stdlib.h>
#include <string.h>

#include "plan/residents.h"

/* What matters of an estimate. */
struct said {
	double   iteration_us;
	uint32_t power_mw;
	uint8_t  beyond;
	bool     far;
};

struct entry {
	struct hes_set  set;
	struct said     last;  /* of the last member beside the others; its power is what neighbours see */
	bool            rated;
	struct hes_pace rate;  /* valid if rated */
};

/* The mark is part of the hash: of other sets hardly one in a billion is looked at. */
struct slot {
	uint32_t entry; /* from 1; 0: empty */
	uint32_t mark;
};

struct hes_rates {
	const struct hes_predictor       *predictor;
	const struct hes_gpu_type *const *types;
	const struct hes_profile         *solo;
	size_t                            n_kinds;
	struct entry                     *entries;
	size_t                            n, room;
	struct slot                      *slots;
	size_t                            n_slots;  /* a power of two, twice the room */
	struct hes_residents             *residents;
	uint64_t                          queries;
	const struct hes_rates           *older;    /* another's memo; may be NULL */
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

void hes_rates_build_on(struct hes_rates *r, const struct hes_rates *older)
{
	r->older = older;
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

static uint64_t hash(const struct hes_set *s)
{
	uint64_t h = mix(s->n, (uint64_t)s->type << 32 | s->clock_mhz);

	for (uint32_t i = 0; i < s->n; i++)
		h = mix(h, (uint64_t)s->m[i].kind << 16 | s->m[i].sm_pct);
	return h ^ (h >> 32);
}

static bool same(const struct hes_set *a, const struct hes_set *b)
{
	return a->type == b->type && a->clock_mhz == b->clock_mhz && a->n == b->n &&
	       memcmp(a->m, b->m, a->n * sizeof(a->m[0])) == 0;
}

/* The slot of a set, or the empty one where it belongs. There must be slots. */
static struct slot *slot_of(const struct hes_rates *r, const struct hes_set *s)
{
	const uint64_t h = hash(s);
	const uint32_t mark = (uint32_t)(h >> 32);
	size_t at = (size_t)h & (r->n_slots - 1);

	while (r->slots[at].entry &&
	       (r->slots[at].mark != mark || !same(&r->entries[r->slots[at].entry - 1].set, s)))
		at = (at + 1) & (r->n_slots - 1);
	return &r->slots[at];
}

static void put(struct hes_rates *r, const struct hes_set *s, size_t entry)
{
	*slot_of(r, s) = (struct slot){ (uint32_t)entry + 1, (uint32_t)(hash(s) >> 32) };
}

static struct entry *find(const struct hes_rates *r, const struct hes_set *s)
{
	uint32_t entry = r->n_slots ? slot_of(r, s)->entry : 0;

	return entry ? &r->entries[entry - 1] : NULL;
}

static bool grow_to(struct hes_rates *r, size_t room)
{
	struct entry *entries;
	struct slot *slots;

	if (room > UINT32_MAX / 4)
		return false;
	slots = calloc(2 * room, sizeof(*slots));
	entries = slots ? reallocarray(r->entries, room, sizeof(*entries)) : NULL;
	if (!entries) {
		free(slots);
		return false;
	}
	free(r->slots);
	r->entries = entries;
	r->slots = slots;
	r->room = room;
	r->n_slots = 2 * room;
	for (size_t i = 0; i < r->n; i++)
		put(r, &entries[i].set, i);
	return true;
}

static bool grow(struct hes_rates *r)
{
	return grow_to(r, r->room ? 2 * r->room : 1024);
}

void hes_rates_reserve(struct hes_rates *r, size_t more)
{
	size_t room = r->room ? r->room : 1024;

	while (room < r->n + more)
		room *= 2;
	if (room > r->room && !grow_to(r, room))
		return;
	/* Pages that have been written to once are there. */
	memset(&r->entries[r->n], 0, (r->room - r->n) * sizeof(*r->entries));
	memset(r->slots, 0, r->n_slots * sizeof(*r->slots));
	for (size_t i = 0; i < r->n; i++)
		put(r, &r->entries[i].set, i);
}

size_t hes_rates_room(const struct hes_rates *r)
{
	return r->room - r->n;
}

void hes_rates_turn(struct hes_rates *r)
{
	struct hes_rates *b = r->before ? r->before : calloc(1, sizeof(*b));
	struct hes_rates now = *r;

	r->before = b;
	if (!b || (b->room < r->room && !grow_to(b, r->room)))
		return;
	r->entries = b->entries;
	r->slots = b->slots;
	r->room = b->room;
	r->n_slots = b->n_slots;
	r->n = 0;
	if (r->n_slots)
		memset(r->slots, 0, r->n_slots * sizeof(*r->slots));
	*b = (struct hes_rates){ .entries = now.entries, .n = now.n, .room = now.room, .slots = now.slots, .n_slots = now.n_slots };
}

static void remember(struct hes_rates *r, const struct entry *e)
{
	struct entry *known = find(r, &e->set);

	if (known) {
		*known = *e;
	} else if (r->n < r->room || grow(r)) {
		r->entries[r->n] = *e;
		put(r, &e->set, r->n++);
	}
}

/* A set, and what the predictor has worked out of its members. */
struct company {
	struct hes_set             set;
	const struct hes_resident *who[HES_MAX_SHARING];
	bool                       known; /* who is valid */
};

static struct company without(const struct company *c, uint32_t member)
{
	struct company rest = { .known = c->known };

	rest.set.type = c->set.type;
	rest.set.clock_mhz = c->set.clock_mhz;
	for (uint32_t i = 0; i < c->set.n; i++)
		if (i != member) {
			rest.set.m[rest.set.n] = c->set.m[i];
			rest.who[rest.set.n++] = c->who[i];
		}
	return rest;
}

/* Where there is no memory for what is worked out once. */
static struct said ask_from_scratch(const struct hes_rates *r, const struct company *rest, struct hes_member m,
				    struct hes_load *beside)
{
	const struct hes_gpu_type *g = r->types[rest->set.type];
	const struct hes_profile *solo = &r->solo[rest->set.type * r->n_kinds];
	const uint32_t clock_mhz = rest->set.clock_mhz;
	struct hes_estimate e;

	for (uint32_t i = 0; i < rest->set.n; i++)
		hes_predict_beside(r->predictor, g, &solo[rest->set.m[i].kind],
				   &(struct hes_setting){ rest->set.m[i].sm_pct, clock_mhz }, beside);
	hes_predict(r->predictor, g, &solo[m.kind], &(struct hes_setting){ m.sm_pct, clock_mhz }, beside, &e);
	return (struct said){ e.iteration_us, e.power_mw, (uint8_t)e.beyond,
			      (e.beyond & HES_BEYOND_SETTING) && e.novelty >= HES_RATES_FAR };
}

static uint32_t neighbour_power_mw(struct hes_rates *r, const struct company *c);

/* One member of a set beside the others. */
static struct said ask(struct hes_rates *r, const struct company *c, uint32_t member)
{
	const struct company rest = without(c, member);
	struct hes_load beside = { .power_mw = neighbour_power_mw(r, &rest) };
	struct hes_outlook o;

	r->queries++;
	beside.told_mw = rest.set.n ? beside.power_mw : 0;
	if (!c->known)
		return ask_from_scratch(r, &rest, c->set.m[member], &beside);
	for (uint32_t i = 0; i < rest.set.n; i++)
		hes_load_join(&beside, hes_resident_load(rest.who[i]));
	hes_resident_predict(c->who[member], &beside, &o);
	return (struct said){ o.iteration_us, o.power_mw, (uint8_t)o.beyond,
			      (o.beyond & HES_BEYOND_SETTING) &&
			      hes_resident_novelty(c->who[member], &beside) >= HES_RATES_FAR };
}

/* @return what is known of a set, remembered here; NULL: nothing */
static const struct entry *look_up(struct hes_rates *r, const struct hes_set *s)
{
	const struct entry *known = find(r, s);

	if (known)
		return known;
	known = r->before ? find(r->before, s) : NULL;
	if (!known && r->older)
		known = find(r->older, s);
	if (known)
		remember(r, known);
	return known;
}

static uint32_t neighbour_power_mw(struct hes_rates *r, const struct company *c)
{
	const struct entry *known;
	struct entry made;

	if (c->set.n == 0)
		return r->types[c->set.type]->idle_power_mw;
	known = look_up(r, &c->set);
	if (known)
		return known->last.power_mw;
	made = (struct entry){ .set = c->set, .last = ask(r, c, c->set.n - 1) };
	remember(r, &made);
	return made.last.power_mw;
}

/* Every member of a set beside the others. @param last  known, or NULL */
static struct entry rate(struct hes_rates *r, const struct company *c, const struct said *last)
{
	const struct hes_set *s = &c->set;
	struct entry e = { .set = *s, .last = last ? *last : ask(r, c, s->n - 1), .rated = true };
	struct said each = e.last;
	double power_mw = 0;

	for (uint32_t i = 0; i < s->n; i++) {
		/* Equal members are neighbours in the order and fare alike. */
		if (memcmp(&s->m[i], &s->m[s->n - 1], sizeof(s->m[i])) == 0)
			each = e.last;
		else if (i == 0 || memcmp(&s->m[i], &s->m[i - 1], sizeof(s->m[i])) != 0)
			each = ask(r, c, i);
		e.rate.iteration_us[i] = each.iteration_us;
		e.rate.beyond[i] = each.beyond;
		e.rate.far |= each.far;
		power_mw += each.power_mw;
	}
	e.rate.power_mw = power_mw / s->n;
	return e;
}

void hes_rates_of(struct hes_rates *r, const struct hes_set *s, struct hes_pace *out)
{
	const struct entry *known = look_up(r, s);
	struct company c = { .set = *s };
	struct said last;
	struct entry e;

	if (known && known->rated) {
		*out = known->rate;
		return;
	}
	if (known)
		last = known->last;
	c.known = hes_residents_of(r->residents, s, c.who);
	e = rate(r, &c, known ? &last : NULL);
	remember(r, &e);
	*out = e.rate;
}

void hes_rates_each(const struct hes_rates *r,
		    void (*each)(void *ctx, const struct hes_set *s, const struct hes_pace *pace), void *ctx)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->entries[i].rated)
			each(ctx, &r->entries[i].set, &r->entries[i].rate);
}
