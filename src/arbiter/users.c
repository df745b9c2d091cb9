/*
 * users.c - the users of an arbiter; see users.h.
 */
#include "arbiter/users.h"

#include <errno.h>
#include <stdlib.h>

int users_create(struct users *us, const struct arbiter_config *c)
{
	const uint32_t n = 2 * c->connections + 1;

	*us = (struct users){ c, calloc(n, sizeof(*us->v)), n };
	for (size_t i = 0; us->v && i < c->n_user_weights; i++)
		user_set_weight(us, c->user_weights[i].uid, c->user_weights[i].weight, 0, NULL);
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

/* Best take the place of a user without connections that was seen longest ago. */
struct user *user_of(struct users *us, uint32_t uid, uint64_t now)
{
	struct user *place = NULL;

	for (uint32_t i = 0; i < us->n; i++) {
		struct user *u = &us->v[i];

		if (u->used && u->uid == uid) {
			u->seen_ns = now;
			return u;
		}
		if (!u->used || (!u->n && !u->weight_set &&
				 (!place || (place->used && u->seen_ns < place->seen_ns))))
			place = place && !place->used ? place : u;
	}
	*place = (struct user){ .used = true, .uid = uid, .weight = 1, .seen_ns = now };
	return place;
}

int user_set_weight(struct users *us, uint32_t uid, double weight, uint64_t now,
		    struct hes_err *err)
{
	struct user *u = user_of(us, uid, now);
	uint32_t n = 0;

	for (uint32_t i = 0; i < us->n; i++)
		n += us->v[i].weight_set;
	if (n >= us->c->connections && !u->weight_set && weight != 1)
		return hes_fail(err, -ENOSPC,
				"%u users have a weight, as many as may have; set one of them to 1",
				n);
	u->weight = weight;
	u->weight_set = weight != 1;
	return 0;
}
