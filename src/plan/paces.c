/*
 * paces.c - see paces.h. Sets are packed into keys of three words; an entry is as
 * large as a cache line. A slot has a tag of a byte, so that of a set that is not known hardly anything is read.
 */
#include "plan/paces.h"

#include <stdlib.h>
#include <string.h>

#include "base/touched.h"
#include "plan/batch/sharing.h"

#define FIRST_SLOTS  16384
#define MOST_KNOWN   (1u << 24) /* sets: a GiB */
#define ALONE_SLOTS  65536
#define MOST_BONDS   (1u << 18)
#define LEARN_TIME   0.5f    /* of what an estimate is off by: added to what is known of each two */
#define LEARN_POWER  0.3f
#define FAR          (UINT64_C(1) << 63)

/* A set. */
struct key {
	uint64_t members[2];  /* two a word; 0: nobody */
	uint64_t where;       /* type, number of members, clock; FAR */
};

/* A set and its rates, as predicted. */
struct known {
	struct key key;
	double     us[HES_SHARE_MOST];
	double     power_mw;
};

/* A member by itself. */
struct lone {
	uint64_t         key; /* kind, share, type and one, clock: 16, 8, 16, 24 bits; 0: empty */
	struct hes_alone is;
};

/* What estimates of one kind beside another are off by: logarithms. */
struct bond {
	float time, power;
};

struct hes_paces {
	const struct hes_problem   *p;
	struct hes_rates           *rates;
	const struct hes_estimator *estimator;
	struct hes_alone_table      alone;       /* the estimator's */
	struct known               *known;       /* [n], room for half as many as slots */
	size_t                      n;
	uint8_t                    *tags;        /* [n_slots]: bits of the hash of who is known there; 0: nobody. They stay in the cache. */
	uint32_t                   *slots;       /* [n_slots]: which one is known */
	size_t                      n_slots;     /* a power of two */
	struct lone                *lone;        /* [ALONE_SLOTS]: the last one met of those that share a slot */
	struct bond                *bonds;       /* [n_bonds]: of (type, kind, kind); of too many, several share one */
	size_t                      n_bonds;     /* a power of two */
	float                       hope;        /* part of an estimated time that is left out */
	double                      us[HES_MAX_SHARING];
};

struct hes_paces *hes_paces_new(const struct hes_problem *p, struct hes_rates *rates, const struct hes_estimator *e)
{
	struct hes_paces *made = calloc(1, sizeof(*made));

	if (!made)
		return NULL;
	*made = (struct hes_paces){ .p = p, .rates = rates, .estimator = e, .n_slots = FIRST_SLOTS, .n_bonds = 1 };
	if (e)
		made->alone = hes_estimator_table(e);
	while (e && made->n_bonds < MOST_BONDS && made->n_bonds < p->n_types * p->n_kinds * p->n_kinds)
		made->n_bonds *= 2;
	made->known = calloc(made->n_slots / 2, sizeof(*made->known));
	made->tags = hes_touched(made->n_slots, sizeof(*made->tags));
	made->slots = hes_touched(made->n_slots, sizeof(*made->slots));
	made->lone = calloc(e ? ALONE_SLOTS : 1, sizeof(*made->lone));
	made->bonds = hes_touched(made->n_bonds, sizeof(*made->bonds));
	if (made->known && made->tags && made->slots && made->lone && made->bonds)
		return made;
	hes_paces_free(made);
	return NULL;
}

void hes_paces_free(struct hes_paces *p)
{
	if (!p)
		return;
	free(p->known);
	free(p->tags);
	free(p->slots);
	free(p->lone);
	free(p->bonds);
	free(p);
}

bool hes_paces_estimate(const struct hes_paces *p)
{
	return p->estimator;
}

void hes_paces_forget(struct hes_paces *p, size_t most)
{
	if (p->n <= most)
		return;
	memset(p->tags, 0, p->n_slots * sizeof(*p->tags));
	p->n = 0;
}

void hes_paces_hope(struct hes_paces *p, double part)
{
	p->hope = (float)part;
}

static uint64_t mix(uint64_t h)
{
	h *= UINT64_C(0x9e3779b97f4a7c15);
	return h ^ h >> 32;
}

/* Of two members, from an even one on. Put together in registers: what was just written by halves is slow to read as a whole. */
static inline uint64_t pair_of(const struct hes_set *s, uint32_t first)
{
	uint64_t pair = 0;

	if (first < s->n)
		pair = (uint64_t)s->m[first].sm_pct << 16 | s->m[first].kind;
	if (first + 1 < s->n)
		pair |= ((uint64_t)s->m[first + 1].sm_pct << 16 | s->m[first + 1].kind) << 32;
	return pair;
}

static inline struct key key_of(const struct hes_set *s)
{
	return (struct key){ { pair_of(s, 0), pair_of(s, 2) }, (uint64_t)s->type << 40 | (uint64_t)s->n << 32 | s->clock_mhz };
}

static uint64_t hash(const struct key *k)
{
	return mix(mix(mix(k->members[0]) + k->members[1]) + (k->where & ~FAR));
}

static bool same(const struct key *a, const struct key *b)
{
	return a->members[0] == b->members[0] && a->members[1] == b->members[1] && ((a->where ^ b->where) & ~FAR) == 0;
}

static uint8_t tag_of(uint64_t h)
{
	return (uint8_t)(h >> 56 | 1);
}

/* The slot of a set, or the empty one where it belongs. */
static size_t slot_of(const struct hes_paces *p, const struct key *k, uint64_t h)
{
	size_t at = h & (p->n_slots - 1);

	while (p->tags[at] && (p->tags[at] != tag_of(h) || !same(&p->known[p->slots[at]].key, k)))
		at = (at + 1) & (p->n_slots - 1);
	return at;
}

static void put(struct hes_paces *p, size_t known)
{
	const uint64_t h = hash(&p->known[known].key);
	const size_t at = slot_of(p, &p->known[known].key, h);

	p->tags[at] = tag_of(h);
	p->slots[at] = (uint32_t)known;
}

/* Where memory runs short the table stays as it is. */
static void grow(struct hes_paces *p)
{
	uint8_t *tags = hes_touched(2 * p->n_slots, sizeof(*tags));
	uint32_t *slots = hes_touched(2 * p->n_slots, sizeof(*slots));
	struct known *known = tags && slots ? reallocarray(p->known, p->n_slots, sizeof(*known)) : NULL;

	if (!known) {
		free(tags);
		free(slots);
		return;
	}
	free(p->tags);
	free(p->slots);
	p->known = known;
	p->tags = tags;
	p->slots = slots;
	p->n_slots *= 2;
	for (size_t i = 0; i < p->n; i++)
		put(p, i);
}

static void remember(struct hes_paces *p, const struct known *k)
{
	if (p->n == p->n_slots / 2)
		grow(p);
	if (p->n == p->n_slots / 2 || p->n == MOST_KNOWN)
		return;
	p->known[p->n] = *k;
	put(p, p->n++);
}

/* Not in the estimator's table. Who shares a slot may take another's place. */
static struct hes_alone ask_alone(struct hes_paces *p, uint32_t type, struct hes_member m, uint16_t clock)
{
	const struct hes_set s = { .type = type, .clock_mhz = p->p->types[type]->clocks_mhz[clock], .n = 1, .m = { m } };
	const uint64_t key = (uint64_t)m.kind << 48 | (uint64_t)m.sm_pct << 40 | (uint64_t)(type + 1) << 24 | s.clock_mhz;
	struct lone *slot = &p->lone[mix(mix(key)) & (ALONE_SLOTS - 1)];

	if (slot->key != key)
		*slot = (struct lone){ key, hes_alone_of(p->rates, &s, 0) };
	return slot->is;
}

struct hes_alone hes_paces_alone(struct hes_paces *p, uint32_t type, struct hes_member m, uint16_t clock)
{
	const struct hes_alone *known = hes_alone_find(&p->alone, type, m, clock);

	return known ? *known : ask_alone(p, type, m, clock);
}

const struct hes_alone_table *hes_paces_table(const struct hes_paces *p)
{
	return &p->alone;
}

static struct bond *bond_of(const struct hes_paces *p, const struct hes_set *s, uint32_t one, uint32_t other)
{
	const size_t at = (s->type * p->p->n_kinds + s->m[one].kind) * p->p->n_kinds + s->m[other].kind;

	return &p->bonds[at & (p->n_bonds - 1)];
}

/* Of those who differ in place only, the earlier one's bond to the later one has their power. */
static struct hes_guess guess(struct hes_paces *p, const struct hes_set *s, uint16_t clock)
{
	struct hes_alone a[HES_SHARE_MOST];
	struct hes_off off = { .power = 0 };

	for (uint32_t i = 0; i < s->n; i++)
		a[i] = hes_paces_alone(p, s->type, s->m[i], clock);
	for (uint32_t i = 0; i < s->n; i++)
		for (uint32_t k = 0; k < i; k++) {
			const struct bond *b = bond_of(p, s, k, i);

			off.us[k] += b->time;
			off.power += b->power;
			off.us[i] += bond_of(p, s, i, k)->time;
		}
	return hes_estimate(p->estimator, s, a, &off);
}

static uint32_t count_of(const struct hes_set *s, uint32_t kind)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->n; i++)
		n += s->m[i].kind == kind;
	return n;
}

/* Pairs of members, in either order, of the same kinds as these two: they share a bond, and what it takes on. */
static uint32_t sharing(const struct hes_set *s, uint32_t one, uint32_t other)
{
	const uint32_t a = s->m[one].kind, b = s->m[other].kind;

	return count_of(s, a) * (count_of(s, b) - (a == b));
}

/* Of several members of one kind each would else teach their bond all of it, and estimates would swing ever wider. */
static void learn(struct hes_paces *p, const struct hes_set *s, const struct hes_guess *was, const struct hes_pace *is)
{
	const float pairs = (float)(s->n * (s->n - 1) / 2);
	hes_lanes longer = hes_lanes_of(1);
	float power;

	for (uint32_t i = 0; i < s->n; i++)
		longer[i] = (float)is->iteration_us[i];
	longer = hes_rough_log4(longer / was->us) * LEARN_TIME / (float)(s->n - 1);
	power = hes_rough_log4(hes_lanes_of((float)is->power_mw / was->power_mw))[0] * LEARN_POWER / pairs;
	for (uint32_t i = 0; i < s->n; i++) {
		for (uint32_t k = 0; k < s->n; k++) {
			struct bond *b = bond_of(p, s, i, k);

			if (k == i)
				continue;
			b->time += longer[i] / (float)sharing(s, i, k);
			if (k > i)
				b->power += power / (float)sharing(s, i, k) * (s->m[k].kind == s->m[i].kind ? 2 : 1);
		}
	}
}

static struct hes_brief tell(struct hes_paces *p, const struct hes_pace *pace)
{
	memcpy(p->us, pace->iteration_us, sizeof(p->us));
	return (struct hes_brief){ p->us, pace->power_mw, true, pace->far };
}

/* What was never predicted before. */
static struct hes_brief ask(struct hes_paces *p, const struct hes_set *s, uint16_t clock, const struct key *key)
{
	struct known known = { .key = *key };
	struct hes_pace pace;

	if (p->estimator && s->n > 1) {
		const struct hes_guess was = guess(p, s, clock);

		hes_rates_of(p->rates, s, &pace);
		learn(p, s, &was, &pace);
	} else {
		hes_rates_of(p->rates, s, &pace);
	}
	memcpy(known.us, pace.iteration_us, sizeof(known.us));
	known.power_mw = pace.power_mw;
	known.key.where |= pace.far ? FAR : 0;
	remember(p, &known);
	return tell(p, &pace);
}

/* Of more than any search puts together: jobs that run already. */
static struct hes_brief ask_of_many(struct hes_paces *p, const struct hes_set *s)
{
	struct hes_pace pace;

	hes_rates_of(p->rates, s, &pace);
	return tell(p, &pace);
}

struct hes_brief hes_paces_of(struct hes_paces *p, const struct hes_set *s, uint16_t clock, bool roughly)
{
	struct hes_guess g;
	struct key key;
	size_t at;

	if (s->n > HES_SHARE_MOST)
		return ask_of_many(p, s);
	key = key_of(s);
	at = slot_of(p, &key, hash(&key));
	if (p->tags[at]) {
		const struct known *k = &p->known[p->slots[at]];

		return (struct hes_brief){ k->us, k->power_mw, true, k->key.where & FAR };
	}
	if (!roughly || s->n < 2 || !p->estimator)
		return ask(p, s, clock, &key);
	g = guess(p, s, clock);
	for (uint32_t i = 0; i < s->n; i++)
		p->us[i] = (double)(g.us[i] * (1 - p->hope));
	return (struct hes_brief){ p->us, (double)g.power_mw, false, false };
}
