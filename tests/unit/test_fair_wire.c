/* test_fair_wire.c - messages of the arbiter and its tenants: whole ones are taken, all others
 * refused and nothing written. */
#include "base/rng.h"
#include "fair/fair_wire.h"
#include "unit_test.h"

static const enum fair_message_type types[] = {
	FAIR_HELLO,   FAIR_WANT,    FAIR_RELEASE, FAIR_STATUS, FAIR_SET, FAIR_WELCOME,
	FAIR_REFUSED, FAIR_PREPARE, FAIR_GRANT,   FAIR_STOP,   FAIR_GPU, FAIR_TENANT,
	FAIR_END,     FAIR_ANSWER,  FAIR_PING,    FAIR_PONG,
};
#define N_TYPES (sizeof(types) / sizeof(types[0]))

TEST(every_type_is_read_back_unchanged)
{
	for (size_t i = 0; i < N_TYPES; i++) {
		union fair_message m, got;
		size_t length = fair_wire_begin(&m, types[i]);

		assert_int_equal(length, fair_wire_size(types[i]));
		memset(&got, 0xff, sizeof(got));
		assert_int_equal(fair_wire_parse(&m, length, &got), 0);
		assert_memory_equal(&m, &got, length);
	}
	assert_int_equal(fair_wire_size(0), 0);
	assert_int_equal(fair_wire_size(99), 0);
}

TEST(a_wrong_length_or_head_is_refused_and_nothing_is_written)
{
	for (size_t i = 0; i < N_TYPES; i++) {
		union fair_message m, got;
		unsigned char before[sizeof(got)];
		size_t length = fair_wire_begin(&m, types[i]);

		memset(&got, 0x5a, sizeof(got));
		memcpy(before, &got, sizeof(got));
		for (size_t n = 0; n < sizeof(m); n++)
			if (n != length)
				assert_int_equal(fair_wire_parse(&m, n, &got), -EBADMSG);
		m.head.version = FAIR_WIRE_VERSION - 1;
		assert_int_equal(fair_wire_parse(&m, length, &got), -EPROTONOSUPPORT);
		m.head.version = FAIR_WIRE_VERSION;
		m.head.magic++;
		assert_int_equal(fair_wire_parse(&m, length, &got), -EBADMSG);
		m.head.magic--;
		m.head.type = 1000;
		assert_int_equal(fair_wire_parse(&m, length, &got), -EBADMSG);
		assert_memory_equal(before, &got, sizeof(got));
	}
}

TEST(names_end_and_have_no_control_characters)
{
	union fair_message m, got;
	size_t length = fair_wire_begin(&m, FAIR_HELLO);

	strcpy(m.hello.tenant, "na\xc3\xafve name");
	assert_int_equal(fair_wire_parse(&m, length, &got), 0);
	assert_string_equal(got.hello.tenant, m.hello.tenant);
	m.hello.tenant[2] = '\033';
	assert_int_equal(fair_wire_parse(&m, length, &got), -EBADMSG);
	m.hello.tenant[2] = 0x7f;
	assert_int_equal(fair_wire_parse(&m, length, &got), -EBADMSG);
	memset(m.hello.tenant, 'a', sizeof(m.hello.tenant));
	assert_int_equal(fair_wire_parse(&m, length, &got), -EBADMSG);
	m.hello.tenant[FAIR_NAME_MAX - 1] = '\0';
	assert_int_equal(fair_wire_parse(&m, length, &got), 0);
	m.hello.zero = 1;
	assert_int_equal(fair_wire_parse(&m, length, &got), -EBADMSG);
	length = fair_wire_begin(&m, FAIR_GPU);
	strcpy(m.gpu.policy, "etf");
	assert_int_equal(fair_wire_parse(&m, length, &got), 0);
	memset(m.gpu.policy, 'a', sizeof(m.gpu.policy));
	assert_int_equal(fair_wire_parse(&m, length, &got), -EBADMSG);
}

/* What is reserved is nothing: a later version may give it a meaning. */
TEST(a_setting_names_its_user)
{
	union fair_message m, got;
	size_t length = fair_wire_begin(&m, FAIR_SET);

	assert_int_equal(length, 112);
	m.set.uid = FAIR_ANY_USER;
	assert_int_equal(fair_wire_parse(&m, length, &got), 0);
	assert_int_equal(got.set.uid, FAIR_ANY_USER);
	m.set.zero = 1;
	assert_int_equal(fair_wire_parse(&m, length, &got), -EBADMSG);
}

/* Random changes of good packets: taken or refused, never anything else; what is taken is what
 * came. */
TEST(random_bytes_are_accepted_whole_or_refused)
{
	struct hes_rng rng;

	hes_rng_seed(&rng, 1);
	for (int k = 0; k < 200000; k++) {
		union fair_message m, got;
		size_t length = fair_wire_begin(&m, types[hes_rng_small(&rng, N_TYPES)]);
		unsigned char *bytes = (unsigned char *)&m;

		for (uint32_t n = hes_rng_small(&rng, 4); n; n--)
			bytes[hes_rng_small(&rng, (uint32_t)length)] =
				(unsigned char)hes_rng_u64(&rng);
		if (hes_rng_small(&rng, 8) == 0)
			length = hes_rng_small(&rng, sizeof(m));
		if (!fair_wire_parse(bytes, length, &got))
			assert_memory_equal(bytes, &got, length);
	}
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
