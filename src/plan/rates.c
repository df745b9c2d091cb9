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
	uint64_t                          queries;
	const struct hes_rates           *older;    /* another's memo; may be NULL */
	struct hes_rates                 *before;   /* entries and slots alone: those before the last turn; may be NULL */
};

struct hes_rates *hes_rates_new(const struct hes_predictor *p, const struct hes_gpu_type *const *types,
				const struct hes_profile *solo, size_t n_kinds)
{
	struct hes_rates *r = calloc(1, sizeof(*r));

	if (r)
		*r = (struct hes_rates){ .predictor = p, .types = types, .solo = solo, .n_kinds = n_kinds };
	return r;
}

void hes_rates_free(struct hes_rates *r)
{
	if (!r)
		return;
	hes_rates_free(r->before);
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

static struct hes_set without(const struct hes_set *s, uint32_t member)
{
	struct hes_set rest = *s;

	rest.n--;
	memmove(&rest.m[member], &rest.m[member + 1], (rest.n - member) * sizeof(rest.m[0]));
	return rest;
}

static uint32_t neighbour_power_mw(struct hes_rates *r, const struct hes_set *s);

/* One member of a set beside the others. */
static struct said ask(struct hes_rates *r, const struct hes_set *s, uint32_t member)
{
	const struct hes_profile *solo = &r->solo[s->type * r->n_kinds];
	const struct hes_set rest = without(s, member);
	const struct hes_setting setting = { s->m[member].sm_pct, s->clock_mhz };
	struct hes_load beside = { 0 };
	struct hes_estimate e;

	for (uint32_t i = 0; i < rest.n; i++)
		hes_predict_beside(r->predictor, r->types[s->type], &solo[rest.m[i].kind],
				   &(struct hes_setting){ rest.m[i].sm_pct, s->clock_mhz }, &beside);
	beside.power_mw = neighbour_power_mw(r, &rest);
	beside.told_mw = rest.n ? beside.power_mw : 0;
	hes_predict(r->predictor, r->types[s->type], &solo[s->m[member].kind], &setting, &beside, &e);
	r->queries++;
	return (struct said){ e.iteration_us, e.power_mw, (uint8_t)e.beyond,
			      (e.beyond & HES_BEYOND_SETTING) && e.novelty >= HES_RATES_FAR };
}

static struct entry look_up(struct hes_rates *r, const struct hes_set *s)
{
	const struct entry *known = find(r, s);
	struct entry made;

	if (known)
		return *known;
	known = r->before ? find(r->before, s) : NULL;
	if (!known && r->older)
		known = find(r->older, s);
	if (known) {
		remember(r, known);
		return *known;
	}
	made = (struct entry){ .set = *s, .last = ask(r, s, s->n - 1) };
	remember(r, &made);
	return made;
}

static uint32_t neighbour_power_mw(struct hes_rates *r, const struct hes_set *s)
{
	if (s->n == 0)
		return r->types[s->type]->idle_power_mw;
	return look_up(r, s).last.power_mw;
}

void hes_rates_of(struct hes_rates *r, const struct hes_set *s, struct hes_pace *out)
{
	struct entry e = look_up(r, s);
	struct said each = e.last;
	double power_mw = 0;

	if (!e.rated) {
		for (uint32_t i = 0; i < s->n; i++) {
			/* Equal members are neighbours in the order and fare alike. */
			if (memcmp(&s->m[i], &s->m[s->n - 1], sizeof(s->m[i])) == 0)
				each = e.last;
			else if (i == 0 || memcmp(&s->m[i], &s->m[i - 1], sizeof(s->m[i])) != 0)
				each = ask(r, s, i);
			e.rate.iteration_us[i] = each.iteration_us;
			e.rate.beyond[i] = each.beyond;
			e.rate.far |= each.far;
			power_mw += each.power_mw;
		}
		e.rate.power_mw = power_mw / s->n;
		e.rated = true;
		remember(r, &e);
	}
	*out = e.rate;
}

void hes_rates_each(const struct hes_rates *r,
		    void (*each)(void *ctx, const struct hes_set *s, const struct hes_pace *pace), void *ctx)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->entries[i].rated)
			each(ctx, &r->entries[i].set, &r->entries[i].rate);
}
