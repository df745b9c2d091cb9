/*
 * not_held.c - work on a GPU outside of leases; see not_held.h.
 */
#include "arbiter/not_held.h"

/* A process that has connected may be gone, and another may have its pid. */
static bool process_is_connected(const struct connections *cs, uint32_t gpu,
				 const struct hes_process *p)
{
	for (const struct connection *c = cs->v; c < cs->v + cs->c->connections; c++)
		if (c->greeted && c->gpu == gpu && c->pid == (uint32_t)p->pid &&
		    (!c->started || c->started == p->started))
			return true;
	return false;
}

static bool process_is_held(const struct connections *cs, uint32_t gpu,
			    const struct arbiter_process *p)
{
	bool held = process_is_connected(cs, gpu, &p->id);

	for (uint32_t i = 0; !held && i < p->n_forked; i++)
		held = process_is_connected(cs, gpu, &p->forked_from[i]);
	return held;
}

static bool outside_has(const struct outside *o, const struct hes_process *p)
{
	for (uint32_t i = 0; i < o->n; i++)
		if (o->v[i].id.pid == p->pid && o->v[i].id.started == p->started)
			return true;
	return false;
}

void outside_look(struct outside *o, const struct connections *cs, uint32_t gpu,
		  const struct arbiter_process *v, size_t n)
{
	const struct outside before = *o;

	o->n = 0;
	for (size_t i = 0; i < n && o->n < OUTSIDE_MAX; i++) {
		struct arbiter_process *p = &o->v[o->n];

		if (process_is_held(cs, gpu, &v[i]))
			continue;
		*p = v[i];
		/* The kernel cuts names, and a process chooses its own. */
		for (char *c = p->name; *c; c++)
			*c = *c < ' ' || *c > '~' ? '?' : *c;
		o->again[o->n++] = outside_has(&before, &v[i].id);
	}
}

bool outside_watch(struct outside *o, const struct connections *cs, uint32_t gpu, uint64_t now)
{
	bool is = false;

	for (uint32_t i = 0; i < o->n; i++)
		is |= o->again[i] && !o->v[i].idle;
	for (uint32_t i = 0; !is && i < cs->c->connections; i++)
		is = cs->v[i].greeted && cs->v[i].gpu == gpu && cs->v[i].state == FAIR_LOST;
	if (is)
		o->last_ns = now;
	return is;
}
