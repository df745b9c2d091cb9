/*
 * users.h - the users of an arbiter: how many connections each has, which weight, and whom it
 * trusts.
 *
 * A user without connections is remembered until its place is needed; one whose weight was set, for
 * ever.
 */
#ifndef HES_ARBITER_USERS_H
#define HES_ARBITER_USERS_H

#include "arbiter/arbiter_config.h"

struct user {
	bool used;
	uint32_t uid, n; /* n: connections */
	double weight;   /* among users */
	bool weight_set; /* by the administrator */
	uint64_t seen_ns;
};

/** Read its members; users.c alone changes them. */
struct users {
	const struct arbiter_config *c;
	struct user *v;
	uint32_t n; /* places */
};

/** @return 0; -ENOMEM */
int users_create(struct users *us, const struct arbiter_config *c, uint32_t n);
void users_free(struct users *us);
/** @return whether it is root or the arbiter's owner */
bool user_is_trusted(const struct users *us, uint32_t uid);
/** A user comes, or another connection of one. @return its connections before; UINT32_MAX: there is
 * no place */
uint32_t user_connections(struct users *us, uint32_t uid, uint64_t now);
void user_connect(struct users *us, uint32_t uid, uint64_t now);
void user_disconnect(struct users *us, uint32_t uid, uint64_t now);
double user_weight(struct users *us, uint32_t uid, uint64_t now);
/** @return 0; -ENOMEM there is no place */
int user_set_weight(struct users *us, uint32_t uid, double weight, uint64_t now);

#endif
