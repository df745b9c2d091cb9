/*
 * users.c - the users of an arbiter; see users.h.
 */
#include "arbiter/users.h"

#include <errno.h>
#include <stdlib.h>

#define PROFILINGS         8              /* that root and the owner may start at once */
#define PROFILINGS_OF_USER 2              /* any other user */
#define PROFILINGS_NS      (300 * SECOND) /* until another one */

int users_create(struct users *us, const struct arbiter_config *c, uint32_t n)
{
	*us = (struct users){ c, calloc(n, sizeof(*us->v)), n };
	for (size_t i = 0; us->v && i < c->n_user_weights; i++)
		user_set_weight(us, c->user_weights[i].uid, c->user_weights[i].weight, 0);
	return us->v ? 0 : -ENOMEM;
}

void users_free(struct users *us)
{
	free(us->v);
}

bool user_is_trusted(const struct users *us, uint32_t uid)
{
	return uid == 0 || uid == us->c->owner;
}

static double user_profilings(const struct users *us, uint32_t uid)
{
	return user_is_trusted(us, uid) ? PROFILINGS : PROFILINGS_OF_USER;
}

static void user_refill(const struct users *us, struct user *u, uint64_t now)
{
	const double most = user_profilings(us, u->uid);

	u->profilings += (double)(now - u->counted_ns) / (double)PROFILINGS_NS;
	u->profilings = u->profilings < most ? u->profilings : most;
	u->counted_ns = now;
}

/* Best take the place of a user without connections that was seen longest ago. */
static struct user *user_find(struct users *us, uint32_t uid, uint64_t now)
{
	struct user *place = NULL;

	for (uint32_t i = 0; i < us->n; i++) {
		struct user *u = &us->v[i];

		if (u->used && u->uid == uid) {
			user_refill(us, u, now);
			return u;
		}
		if (!u->used || (!u->n && !u->weight_set &&
				 (!place || (place->used && u->counted_ns < place->counted_ns))))
			place = place && !place->used ? place : u;
	}
	if (place)
		*place = (struct user){ .used = true,
					.uid = uid,
					.weight = 1,
					.profilings = user_profilings(us, uid),
					.counted_ns = now };
	return place;
}

uint32_t user_connections(struct users *us, uint32_t uid, uint64_t now)
{
	const struct user *u = user_find(us, uid, now);

	return u ? u->n : UINT32_MAX;
}

double user_weight(struct users *us, uint32_t uid, uint64_t now)
{
	const struct user *u = user_find(us, uid, now);

	return u ? u->weight : 1;
}

int user_set_weight(struct users *us, uint32_t uid, double weight, uint64_t now)
{
	struct user *u = user_find(us, uid, now);

	if (!u)
		return -ENOMEM;
	u->weight = weight;
	u->weight_set = true;
	return 0;
}

void user_connect(struct users *us, uint32_t uid, uint64_t now)
{
	struct user *u = user_find(us, uid, now);

	if (u)
		u->n++;
}

void user_disconnect(struct users *us, uint32_t uid, uint64_t now)
{
	struct user *u = user_find(us, uid, now);

	if (u && u->n)
		u->n--;
}

bool user_may_profile(struct users *us, uint32_t uid, uint64_t now)
{
	const struct user *u = user_find(us, uid, now);

	return u && u->profilings >= 1;
}

void user_profile(struct users *us, uint32_t uid, uint64_t now)
{
	struct user *u = user_find(us, uid, now);

	if (u)
		u->profilings--;
}
