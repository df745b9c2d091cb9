/* test_gpu_type.c - the catalogue: the built-in types, clocks to plan with, refusals. */
#include "heshare/gpu_type.h"
#include "unit_test.h"

static struct hes_catalogue builtin;
static char path[] = "/tmp/hes-types-XXXXXX";

static int set_up(void **state)
{
	(void)state;
	close(mkstemp(path));
	return hes_catalogue_load(NULL, &builtin, NULL);
}

static int tear_down(void **state)
{
	(void)state;
	hes_catalogue_free(&builtin);
	return unlink(path);
}

static void write_text(const char *text)
{
	FILE *f = fopen(path, "we");

	fputs(text, f);
	fclose(f);
}

static int load(const char *text, struct hes_catalogue *out, struct hes_err *err)
{
	write_text(text);
	return hes_catalogue_load(path, out, err);
}

/* A type with one property replaced: "sms: 40" by @with, for instance. */
static int load_with(const char *clocks, const char *with, struct hes_catalogue *out,
		     struct hes_err *err)
{
	char text[512];

	snprintf(text, sizeof(text),
		 "types:\n  - { name: X, memory_mib: 15360, bandwidth_gbs: 320, l2_kib: 4096,\n"
		 "      power_limit_w: 70, %s, clocks: { %s } }\n",
		 with, clocks);
	return load(text, out, err);
}

TEST(every_built_in_type_offers_rising_clocks_that_can_be_locked)
{
	assert_int_equal(builtin.n, 30);
	for (size_t i = 0; i < builtin.n; i++) {
		const struct hes_gpu_type *g = &builtin.types[i];

		assert_in_range(g->n_clocks, 2, HES_MAX_CLOCKS);
		for (size_t k = 0; k < g->n_clocks; k++) {
			assert_true(hes_gpu_type_has_clock(g, g->clocks_mhz[k]));
			assert_true(k == 0 || g->clocks_mhz[k] > g->clocks_mhz[k - 1]);
		}
		assert_int_equal(g->clocks_mhz[g->n_clocks - 1], g->clock_default_mhz);
		assert_true(g->idle_power_mw < g->power_limit_mw);
	}
}

/* NVIDIA's V100 lists 1530, 1522, 1515, 1507: steps of 7.5, named rounded down. */
TEST(half_steps_are_named_rounded_down_as_drivers_do)
{
	const struct hes_gpu_type *v100 = hes_gpu_type_find(&builtin, "V100-SXM2-32", NULL);

	assert_non_null(v100);
	assert_true(hes_gpu_type_has_clock(v100, 1522));
	assert_true(hes_gpu_type_has_clock(v100, 1507));
	assert_false(hes_gpu_type_has_clock(v100, 1523));
	assert_false(hes_gpu_type_has_clock(v100, 1537));
	assert_false(hes_gpu_type_has_clock(v100, 0));
}

TEST(a_gpu_with_a_list_of_clocks_has_only_these)
{
	const struct hes_gpu_type *tx2 = hes_gpu_type_find(&builtin, "Jetson-TX2", NULL);

	assert_non_null(tx2);
	assert_true(hes_gpu_type_has_clock(tx2, 1122));
	assert_false(hes_gpu_type_has_clock(tx2, 1121));
}

TEST(the_error_for_an_unknown_type_lists_the_known_ones)
{
	struct hes_err err;

	assert_null(hes_gpu_type_find(&builtin, "K80", &err));
	assert_int_equal(err.code, -ENOENT);
	assert_non_null(
		strstr(err.msg, "unknown GPU type \"K80\"; known: P100-PCIe-16, P100-SXM2-16"));
	assert_null(hes_gpu_type_find(&builtin, "h100", &err));
	assert_non_null(strstr(
		err.msg, "unknown GPU type \"h100\"; did you mean H100-PCIe, H100-NVL, H100-SXM?"));
}

TEST(a_small_range_gives_fewer_clocks_without_doubles)
{
	struct hes_catalogue c;

	assert_int_equal(load_with("min: 100, max: 130, step: 15, default: 130",
				   "sms: 4, idle_w: 1", &c, NULL),
			 0);
	assert_int_equal(c.types[0].n_clocks, 3);
	assert_int_equal(c.types[0].clocks_mhz[0], 100);
	assert_int_equal(c.types[0].clocks_mhz[2], 130);
	hes_catalogue_free(&c);
}

TEST(impossible_figures_are_refused_with_what_would_be_right)
{
	static const struct {
		const char *clocks, *with, *sentence;
	} cases[] = {
		{ "min: 300, max: 1590, step: 15, default: 1590", "sms: 0, idle_w: 10",
		  "sms is 0; it must be from 1 to 10000 SMs" },
		{ "min: 300, max: 1590, step: 15, default: 1590", "sms: 40, idle_w: 71",
		  "idle_w is 71; it must be from 0 to 70 W" },
		{ "min: 300, max: 1590, step: 15, default: 1590", "sms: 40, idle_w: 70",
		  "idle_w is 70; it must be below power_limit_w" },
		{ "min: 300, max: 1590, step: 15, default: 1600", "sms: 40, idle_w: 10",
		  "clocks.default is 1600; it must be from 300 to 1590 MHz" },
		{ "min: 300, max: 200, step: 15, default: 200", "sms: 40, idle_w: 10",
		  "clocks.max is 200" },
		{ "min: .nan, max: 200, step: 15, default: 200", "sms: 40, idle_w: 10",
		  "clocks.min" },
		{ "min: 300, max: 1590, default: 1590", "sms: 40, idle_w: 10",
		  "clocks needs a step or a list" },
		{ "min: 300, max: 900, default: 900, list: [300, 900, 600]", "sms: 40, idle_w: 10",
		  "clocks.list[2] is 600" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct hes_catalogue c = { .n = 99 };
		struct hes_err err = { 0 };

		assert_true(load_with(cases[i].clocks, cases[i].with, &c, &err) < 0);
		assert_non_null(strstr(err.msg, path));
		if (!strstr(err.msg, cases[i].sentence))
			fail_msg("\"%s\" lacks \"%s\"", err.msg, cases[i].sentence);
		assert_int_equal(c.n, 99);
	}
}

TEST(a_type_given_twice_is_refused)
{
	static const char type[] =
		"  - { name: X, sms: 4, memory_mib: 1536, bandwidth_gbs: 32, l2_kib: 409, "
		"power_limit_w: 7,"
		" idle_w: 1, clocks: { min: 100, max: 130, step: 15, default: 130 } }\n";
	struct hes_catalogue c;
	struct hes_err err;
	char text[512];

	snprintf(text, sizeof(text), "types:\n%s%s", type, type);
	assert_int_equal(load(text, &c, &err), -EEXIST);
	assert_non_null(strstr(err.msg, "type X is given twice"));
}

TEST(rows_of_a_file_are_added_and_replace_those_of_the_same_name)
{
	static const char row[] = "types:\n  - { name: %s, driver_names: [%s], compute: 12.0, sms: "
				  "4, memory_mib: 1536, bandwidth_gbs: 32,"
				  " l2_kib: 409, power_limit_w: 7, idle_w: 1, clocks: { min: 100, "
				  "max: 130, step: 15, default: 130 } }\n";
	struct hes_catalogue c;
	struct hes_err err;
	char text[512];

	assert_int_equal(hes_catalogue_load(NULL, &c, NULL), 0);
	snprintf(text, sizeof(text), row, "T4", "Tesla T4");
	write_text(text);
	assert_int_equal(hes_catalogue_add(&c, path, NULL), 0);
	assert_int_equal(c.n, builtin.n);
	assert_int_equal(hes_gpu_type_find(&c, "T4", NULL)->compute, 120);
	snprintf(text, sizeof(text), row, "New", "a, b, c, d, e");
	assert_int_equal(load(text, &c, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "driver_names"));
	assert_int_equal(c.n, builtin.n);
	hes_catalogue_free(&c);
}

int main(void)
{
	return run_unit_tests(set_up, tear_down);
}
