/*
 * users.h - the users of an arbiter: how many connections each has, which weight, and whom it
 * trusts.
 *
 * A user without connections is remembered until its place is needed; one whose weight was set,
 * until that is 1 again. There are places for as many users with a weight as there are connections,
 * in addition to those that are connected.
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

struct users {
	const struct arbiter_config *c;
	struct user *v;
	uint32_t n; /* places */
};

/** @return 0; -ENOMEM */
int users_create(struct users *us, const struct arbiter_config *c);
void users_free(struct users *us);
/** @return whether it is root or the arbiter's owner */
bool user_is_trusted(const struct users *us, uint32_t uid);
/** A user that is there, or comes. */
struct user *user_of(struct users *us, uint32_t uid, uint64_t now);
/** @return 0; -ENOSPC as many users have weights as there may be */
int user_set_weight(struct users *us, uint32_t uid, double weight, uint64_t now,
		    struct hes_err *err);

#endif
