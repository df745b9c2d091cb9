/*
 * fair_wire.c - messages between the arbiter and its tenants; see fair_wire.h.
 */
#include "fair/fair_wire.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define NO_TEXT SIZE_MAX

/* A row a type: its length, and where its text and its reserved field are. */
static const struct {
	unsigned type;
	size_t size, text, text_max, zero;
} rows[] = {
	{ FAIR_HELLO, sizeof(struct fair_hello), offsetof(struct fair_hello, tenant), FAIR_NAME_MAX,
	  offsetof(struct fair_hello, zero) },
	{ FAIR_WANT, sizeof(struct fair_want), NO_TEXT, 0, 0 },
	{ FAIR_RELEASE, sizeof(struct fair_release), NO_TEXT, 0,
	  offsetof(struct fair_release, zero) },
	{ FAIR_STATUS, sizeof(struct fair_status), NO_TEXT, 0, 0 },
	{ FAIR_SET, sizeof(struct fair_set), offsetof(struct fair_set, tenant), FAIR_NAME_MAX,
	  offsetof(struct fair_set, zero) },
	{ FAIR_PING, sizeof(struct fair_ping), NO_TEXT, 0, 0 },
	{ FAIR_PONG, sizeof(struct fair_ping), NO_TEXT, 0, 0 },
	{ FAIR_WELCOME, sizeof(struct fair_welcome), NO_TEXT, 0, 0 },
	{ FAIR_REFUSED, sizeof(struct fair_answer), offsetof(struct fair_answer, text),
	  FAIR_TEXT_MAX, offsetof(struct fair_answer, zero) },
	{ FAIR_PREPARE, sizeof(struct fair_prepare), NO_TEXT, 0, 0 },
	{ FAIR_GRANT, sizeof(struct fair_grant), NO_TEXT, 0, 0 },
	{ FAIR_STOP, sizeof(struct fair_stop), NO_TEXT, 0, 0 },
	{ FAIR_GPU, sizeof(struct fair_gpu), offsetof(struct fair_gpu, name), FAIR_NAME_MAX, 0 },
	{ FAIR_TENANT, sizeof(struct fair_tenant_row), offsetof(struct fair_tenant_row, tenant),
	  FAIR_NAME_MAX, 0 },
	{ FAIR_OUTSIDE, sizeof(struct fair_outside), offsetof(struct fair_outside, name), 16, 0 },
	{ FAIR_END, sizeof(struct fair_end), NO_TEXT, 0, 0 },
	{ FAIR_ANSWER, sizeof(struct fair_answer), offsetof(struct fair_answer, text),
	  FAIR_TEXT_MAX, offsetof(struct fair_answer, zero) },
};

#define N_ROWS (sizeof(rows) / sizeof(rows[0]))

_Static_assert(sizeof(struct fair_hello) == 104 && sizeof(struct fair_release) == 40 &&
		       sizeof(struct fair_set) == 112 && sizeof(struct fair_answer) == 176 &&
		       sizeof(struct fair_gpu) == 224 && sizeof(struct fair_tenant_row) == 192,
	       "a message has a hole");

static size_t find_row(unsigned type)
{
	size_t i = 0;

	while (i < N_ROWS && rows[i].type != type)
		i++;
	return i;
}

size_t fair_wire_size(unsigned type)
{
	size_t i = find_row(type);

	return i < N_ROWS ? rows[i].size : 0;
}

size_t fair_wire_begin(union fair_message *m, enum fair_message_type type)
{
	memset(m, 0, sizeof(*m));
	m->head = (struct fair_head){ .magic = FAIR_WIRE_MAGIC,
				      .version = FAIR_WIRE_VERSION,
				      .type = (uint16_t)type };
	return fair_wire_size(type);
}

/* Names are shown on terminals: bytes of control characters are refused, those of UTF-8 are not. */
static bool text_is_clean(const char *text, size_t max)
{
	size_t n = strnlen(text, max);

	if (n == max)
		return false;
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			return false;
	return true;
}

void fair_wire_say_version(const void *packet, const char *other, const char *self,
			   char out[FAIR_TEXT_MAX])
{
	struct fair_head h;

	memcpy(&h, packet, sizeof(h));
	snprintf(out, FAIR_TEXT_MAX,
		 "%s speaks version %u of the protocol and %s version %d; both must be of one "
		 "version of heshare",
		 other, h.version, self, FAIR_WIRE_VERSION);
}

int fair_wire_parse(const void *packet, size_t length, union fair_message *out)
{
	struct fair_head h;
	const char *bytes = packet;
	uint32_t zero = 0;
	size_t i;

	if (length < sizeof(h))
		return -EBADMSG;
	memcpy(&h, packet, sizeof(h));
	if (h.magic != FAIR_WIRE_MAGIC)
		return -EBADMSG;
	if (h.version != FAIR_WIRE_VERSION)
		return -EPROTONOSUPPORT;
	i = find_row(h.type);
	if (i == N_ROWS || rows[i].size != length)
		return -EBADMSG;
	if (rows[i].zero)
		memcpy(&zero, bytes + rows[i].zero, sizeof(zero));
	if (zero ||
	    (rows[i].text != NO_TEXT && !text_is_clean(bytes + rows[i].text, rows[i].text_max)))
		return -EBADMSG;
	memcpy(out, packet, length);
	return 0;
}
