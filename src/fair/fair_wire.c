/*
 * fair_wire.c - messages between the arbiter and its tenants; see fair_wire.h.
 */
#include "fair/fair_wire.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* clang-format off */
#define SIZE(message)         .size = sizeof(struct message)
#define ZERO(message)         .zero = offsetof(struct message, zero)
#define TEXT(message, member) { offsetof(struct message, member), \
				sizeof(((struct message *)0)->member) }

/* A row a type: its length, where its reserved field is, and its texts. */
static const struct {
	unsigned type;
	size_t size, zero;
	struct { size_t at, max; } texts[2];
} rows[] = {
	{ FAIR_HELLO, SIZE(fair_hello), ZERO(fair_hello), .texts = { TEXT(fair_hello, tenant) } },
	{ FAIR_WANT, SIZE(fair_head) },
	{ FAIR_RELEASE, SIZE(fair_release), ZERO(fair_release) },
	{ FAIR_STATUS, SIZE(fair_head) },
	{ FAIR_SET, SIZE(fair_set), ZERO(fair_set), .texts = { TEXT(fair_set, tenant) } },
	{ FAIR_PING, SIZE(fair_head) },
	{ FAIR_PONG, SIZE(fair_head) },
	{ FAIR_WELCOME, SIZE(fair_welcome) },
	{ FAIR_REFUSED, SIZE(fair_answer), ZERO(fair_answer),
	  .texts = { TEXT(fair_answer, text) } },
	{ FAIR_PREPARE, SIZE(fair_head) },
	{ FAIR_GRANT, SIZE(fair_grant) },
	{ FAIR_STOP, SIZE(fair_stop) },
	{ FAIR_GPU, SIZE(fair_gpu), .texts = { TEXT(fair_gpu, name), TEXT(fair_gpu, policy) } },
	{ FAIR_TENANT, SIZE(fair_tenant_row), .texts = { TEXT(fair_tenant_row, tenant) } },
	{ FAIR_NOT_HELD, SIZE(fair_not_held), .texts = { TEXT(fair_not_held, name) } },
	{ FAIR_END, SIZE(fair_head) },
	{ FAIR_ANSWER, SIZE(fair_answer), ZERO(fair_answer),
	  .texts = { TEXT(fair_answer, text) } },
};
/* clang-format on */

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
	if (zero)
		return -EBADMSG;
	for (size_t k = 0; k < 2 && rows[i].texts[k].max; k++)
		if (!text_is_clean(bytes + rows[i].texts[k].at, rows[i].texts[k].max))
			return -EBADMSG;
	memcpy(out, packet, length);
	return 0;
}
