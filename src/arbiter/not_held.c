/*
 * not_held.c - work on a GPU outside of leases; see not_held.h.
 */
#include "arbiter/not_held.h"

/* A process that has connected may be gone, and another may have its pid. */
static bool connection_is_of(const struct connection *c, uint32_t gpu, const struct hes_process *p)
{
	return c->greeted && c->gpu == gpu && c->pid == (uint32_t)p->pid &&
	       (!c->started || c->started == p->started);
}

/* Also where the process was forked from that of the connection. */
static bool connection_holds(const struct connection *c, uint32_t gpu,
			     const struct arbiter_process *p)
{
	bool holds = connection_is_of(c, gpu, &p->id);

	for (uint32_t i = 0; !holds && i < p->n_forked; i++)
		holds = connection_is_of(c, gpu, &p->forked_from[i]);
	return holds;
}

static bool connection_is_listed(const struct connection *c, uint32_t gpu,
				 const struct arbiter_process *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (connection_is_of(c, gpu, &v[i].id))
			return true;
	return false;
}

/* @return whether it is held by a connection, which is then known to be idle or not */
static bool process_is_held(struct connections *cs, uint32_t gpu, const struct arbiter_process *p)
{
	bool held = false;

	for (struct connection *c = cs->v; c < cs->v + cs->c->connections; c++)
		if (connection_holds(c, gpu, p)) {
			c->idle &= p->idle;
			held = true;
		}
	return held;
}

static bool not_held_has(const struct not_held *o, const struct hes_process *p)
{
	for (uint32_t i = 0; i < o->n; i++)
		if (o->v[i].id.pid == p->pid && o->v[i].id.started == p->started)
			return true;
	return false;
}

void not_held_look(struct not_held *o, struct connections *cs, uint32_t gpu,
		   const struct arbiter_process *v, size_t n)
{
	const struct not_held before = *o;

	o->n = 0;
	for (struct connection *c = cs->v; c < cs->v + cs->c->connections; c++)
		if (c->gpu == gpu)
			c->idle = connection_is_listed(c, gpu, v, n);
	for (size_t i = 0; i < n; i++) {
		struct arbiter_process *p = &o->v[o->n];

		if (process_is_held(cs, gpu, &v[i]) || o->n == NOT_HELD_MAX)
			continue;
		*p = v[i];
		/* The kernel cuts names, and a process chooses its own. */
		for (char *c = p->name; *c; c++)
			*c = *c < ' ' || *c > '~' ? '?' : *c;
		o->again[o->n++] = not_held_has(&before, &v[i].id);
	}
}

bool not_held_watch(struct not_held *o, const struct connections *cs, uint32_t gpu, uint64_t now)
{
	bool is = false;

	for (uint32_t i = 0; i < o->n; i++)
		is |= o->again[i] && !o->v[i].idle;
	for (uint32_t i = 0; !is && i < cs->c->connections; i++)
		is = cs->v[i].greeted && cs->v[i].gpu == gpu && cs->v[i].state == FAIR_LOST &&
		     !cs->v[i].idle;
	if (is)
		o->last_ns = now;
	return is;
}
