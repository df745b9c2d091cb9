/*
 * connections.c - the connections of clients; see connections.h.
 */
#include "arbiter/connections.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define MESSAGES_A_SECOND 20000
#define LONG_ANSWER       1000 /* messages that one with a long answer counts for */

int connections_create(struct connections *cs, const struct arbiter_config *c,
		       const struct arbiter_out *out)
{
	*cs = (struct connections){ .c = c, .out = out, .n_users = 2 * c->connections + 1 };
	cs->v = calloc(c->connections, sizeof(*cs->v));
	cs->users = calloc(cs->n_users, sizeof(*cs->users));
	if (!cs->v || !cs->users)
		return -ENOMEM;
	for (uint32_t i = 0; i < cs->n_users; i++)
		cs->users[i].weight = 1;
	for (size_t i = 0; i < c->n_user_weights; i++)
		user_set_weight(cs, c->user_weights[i].uid, c->user_weights[i].weight, NULL);
	return 0;
}

void connections_free(struct connections *cs)
{
	free(cs->v);
	free(cs->users);
}

struct user *user_of(const struct connections *cs, uint32_t uid)
{
	struct user *place = cs->users; /* one is free: 2 n + 1 for n connections, n weights */

	for (struct user *u = cs->users; u < cs->users + cs->n_users; u++)
		if (!u->n && u->weight == 1)
			place = u;
		else if (u->uid == uid)
			return u;
	place->uid = uid;
	return place;
}

int user_set_weight(struct connections *cs, uint32_t uid, double weight, struct hes_err *err)
{
	struct user *u = user_of(cs, uid);
	uint32_t n = 0;

	for (uint32_t i = 0; i < cs->n_users; i++)
		n += cs->users[i].weight != 1;
	if (n >= cs->c->connections && u->weight == 1 && weight != 1)
		return hes_fail(err, -ENOSPC,
				"%u users have a weight, as many as may have; set one of them to 1",
				n);
	u->weight = weight;
	return 0;
}

void connection_open(struct connections *cs, uint32_t id, uint32_t uid,
		     const struct hes_process *of, uint64_t now)
{
	cs->used++;
	cs->v[id] = (struct connection){ .used = true,
					 .uid = uid,
					 .pid = (uint32_t)of->pid,
					 .started = of->started,
					 .second_ns = now,
					 .version = FAIR_WIRE_VERSION };
}

void connection_close_soon(struct connections *cs, uint32_t id)
{
	cs->closing += !cs->v[id].closing;
	cs->v[id].closing = true;
}

void connection_shut(struct connections *cs, uint32_t id)
{
	cs->used--;
	cs->closing -= cs->v[id].closing;
	cs->v[id] = (struct connection){ .used = false };
	cs->out->close(cs->out->ctx, id);
}

void connection_send(struct connections *cs, uint32_t id, const union fair_message *m,
		     size_t length)
{
	if (!cs->v[id].closing && cs->out->send(cs->out->ctx, id, m, length))
		connection_close_soon(cs, id);
}

void connection_answer(struct connections *cs, uint32_t id, enum fair_message_type type, int code,
		       const char *text)
{
	union fair_message m;
	size_t length = fair_wire_begin(&m, type);

	m.head.version = cs->v[id].version;
	m.answer.code = code;
	snprintf(m.answer.text, sizeof(m.answer.text), "%.*s", FAIR_TEXT_MAX - 1, text);
	connection_send(cs, id, &m, length);
}

void connection_say(const struct connections *cs, enum arbiter_note_kind kind, uint32_t id,
		    const char *text)
{
	const struct connection *c = &cs->v[id];
	const struct arbiter_note n = { kind,   c->greeted ? c->gpu : SIZE_MAX, c->uid,
					c->pid, c->greeted ? c->name : "",      text ? text : "",
					0 };

	cs->out->note(cs->out->ctx, &n);
}

bool connection_floods(struct connections *cs, uint32_t id, bool long_answer, uint64_t now)
{
	struct connection *c = &cs->v[id];

	if (now - c->second_ns >= SECOND) {
		c->second_ns = now;
		c->messages = 0;
	}
	c->messages += long_answer ? LONG_ANSWER : 1;
	return c->messages > MESSAGES_A_SECOND;
}
