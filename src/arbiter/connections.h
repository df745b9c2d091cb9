/*
 * connections.h - the connections of clients: who is at their other end, what is sent there, and
 * how many connections and which weight each user has.
 *
 * No connection is closed while a list of them is read: it is marked, and the arbiter closes it
 * after the call. A greeted connection belongs to a tenant; leases.h has its states.
 */
#ifndef HES_ARBITER_CONNECTIONS_H
#define HES_ARBITER_CONNECTIONS_H

#include "arbiter/arbiter_config.h"

/** Its place is free while it has no connections, and a weight of 1. */
struct user {
	uint32_t uid, n; /* n: connections */
	double weight;   /* among users */
};

struct connection {
	bool used, closing;
	uint32_t uid, pid;
	uint64_t started;   /* of the process, as struct hes_process has it; 0: not known */
	uint64_t second_ns; /* start of the second in which messages are counted */
	uint32_t messages;
	uint16_t version; /* of the protocol, in answers: another one is refused in its own */

	/* tenants.c */
	bool greeted;
	uint32_t gpu, tenant;
	const char *name; /* of its tenant */

	/* leases.c */
	enum fair_tenant_state state;
	bool wants;
	uint64_t lease; /* its current one, or the one that it lost */

	bool idle; /* not_held.c: its process does not use the GPU, as of the last look */

	/* listing.c: rows of an answer to STATUS wait for room */
	bool listing;
	uint32_t list_gpu, list_row;
};

struct connections {
	const struct arbiter_config *c;
	const struct arbiter_out *out;
	struct connection *v; /* [c->connections] */
	uint32_t used, closing;
	/* As many with a weight as connections, those that are connected, and one. */
	struct user *users;
	uint32_t n_users; /* places */
};

/** @return 0; -ENOMEM. Free it in any case. */
int connections_create(struct connections *cs, const struct arbiter_config *c,
		       const struct arbiter_out *out);
void connections_free(struct connections *cs);
void connection_open(struct connections *cs, uint32_t id, uint32_t uid,
		     const struct hes_process *of, uint64_t now);
void connection_close_soon(struct connections *cs, uint32_t id);
/** Forget it, and have it closed. */
void connection_shut(struct connections *cs, uint32_t id);
/** Send; a connection that cannot take it is closing. */
void connection_send(struct connections *cs, uint32_t id, const union fair_message *m,
		     size_t length);
/** FAIR_REFUSED or FAIR_ANSWER. */
void connection_answer(struct connections *cs, uint32_t id, enum fair_message_type type, int code,
		       const char *text);
/** Tell people about it. @param text  NULL: nothing more */
void connection_say(const struct connections *cs, enum arbiter_note_kind kind, uint32_t id,
		    const char *text);
/** Count a message. @return whether the connection sends more than any program has reason to */
bool connection_floods(struct connections *cs, uint32_t id, bool long_answer, uint64_t now);

/** @return whether it is root or the arbiter's owner */
static inline bool user_is_trusted(const struct connections *cs, uint32_t uid)
{
	return uid == 0 || uid == cs->c->owner;
}
/** A user that is there, or a free place for it. */
struct user *user_of(const struct connections *cs, uint32_t uid);
static inline double user_weight(const struct connections *cs, uint32_t uid)
{
	return user_of(cs, uid)->weight;
}
/** @return 0; -ENOSPC as many users have weights as there may be */
int user_set_weight(struct connections *cs, uint32_t uid, double weight, struct hes_err *err);

#endif
