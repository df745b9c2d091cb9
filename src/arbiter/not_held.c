/*
 * not_held.c - work on a GPU outside of leases; see not_held.h.
 */
#include "arbiter/not_held.h"

static bool process_is_connected(const struct connections *cs, uint32_t gpu, uint32_t pid)
{
	for (uint32_t i = 0; i < cs->c->connections; i++)
		if (cs->v[i].greeted && cs->v[i].gpu == gpu && cs->v[i].pid == pid)
			return true;
	return false;
}

static bool outside_has(const struct outside *o, uint32_t pid)
{
	for (uint32_t i = 0; i < o->n; i++)
		if (o->v[i].pid == pid)
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

		if (process_is_connected(cs, gpu, v[i].pid))
			continue;
		*p = v[i];
		/* The kernel cuts names, and a process chooses its own. */
		for (char *c = p->name; *c; c++)
			*c = *c < ' ' || *c > '~' ? '?' : *c;
		o->again[o->n++] = outside_has(&before, v[i].pid);
	}
}

bool outside_watch(struct outside *o, const struct connections *cs, uint32_t gpu, uint64_t now)
{
	bool is = false;

	for (uint32_t i = 0; i < o->n; i++)
		is |= o->again[i];
	for (uint32_t i = 0; !is && i < cs->c->connections; i++)
		is = cs->v[i].greeted && cs->v[i].gpu == gpu && cs->v[i].state == FAIR_LOST;
	if (is)
		o->last_ns = now;
	return is;
}
