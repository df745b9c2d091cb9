/* test_fleet.c - fleets: names, repetition, bounds, refusals that change nothing. */
#include "heshare/fleet.h"
#include "unit_test.h"

static struct hes_catalogue builtin;

static int set_up(void **state)
{
	(void)state;
	return hes_catalogue_load(NULL, &builtin, NULL);
}

static int tear_down(void **state)
{
	(void)state;
	hes_catalogue_free(&builtin);
	return 0;
}

static int parse(const char *text, struct hes_fleet *out, struct hes_err *err)
{
	return hes_fleet_parse("f.yaml", text, strlen(text), &builtin, out, err);
}

static void assert_refused(const char *nodes, int code, const char *sentence)
{
	struct hes_fleet f = { .name = "untouched", .n = 99 };
	struct hes_err err = { 0 };
	char text[1024];

	snprintf(text, sizeof(text), "name: x\nnodes:\n%s", nodes);
	assert_int_equal(parse(text, &f, &err), code);
	if (!strstr(err.msg, sentence))
		fail_msg("\"%s\" lacks \"%s\"", err.msg, sentence);
	assert_string_equal(f.name, "untouched");
	assert_int_equal(f.n, 99);
}

TEST(gpus_are_numbered_within_their_node)
{
	const struct hes_gpu_type *types[4];
	struct hes_fleet f;

	assert_int_equal(
		parse("name: lab\nnodes:\n"
		      "  - name: a\n    gpus: [ { type: T4, count: 2 }, { type: L4, count: 1 } ]\n"
		      "  - name: b\n    gpus: [ { type: T4, count: 1 } ]\n",
		      &f, NULL),
		0);
	assert_string_equal(f.name, "lab");
	assert_int_equal(f.n, 4);
	assert_string_equal(f.gpus[2].name, "a/2");
	assert_string_equal(f.gpus[2].type->name, "L4");
	assert_string_equal(f.gpus[3].name, "b/0");
	assert_string_equal(f.gpus[3].node, "b");
	assert_int_equal(hes_fleet_find(&f, "a/2"), 2);
	assert_int_equal(hes_fleet_find(&f, "a/3"), -1);
	assert_int_equal(hes_fleet_types(&f, types, 4), 2);
	assert_string_equal(types[1]->name, "L4");
	assert_int_equal(hes_fleet_types(&f, types, 1), 1);
	hes_fleet_free(&f);
	hes_fleet_free(&f);
}

TEST(a_file_can_state_power_limits)
{
	struct hes_fleet f;

	assert_int_equal(parse("name: x\nnodes:\n  - name: n\n    repeat: 2\n    gpus: [ { type: "
			       "T4, count: 1 }, "
			       "{ type: T4, count: 1, power_limit_w: 50 } ]\n",
			       &f, NULL),
			 0);
	assert_int_equal(f.gpus[0].type->power_limit_mw, 70000);
	assert_int_equal(f.gpus[1].type->power_limit_mw, 50000);
	assert_int_equal(hes_gpu_type_default_limit_mw(f.gpus[1].type), 70000);
	assert_ptr_equal(f.gpus[3].type, f.gpus[1].type);
	assert_int_equal(f.n_limited, 1);
	hes_fleet_free(&f);
	assert_refused("  - name: n\n    gpus: [ { type: T4, count: 1, power_limit_w: 10 } ]\n",
		       -ERANGE, "f.yaml: nodes[0].gpus[0].power_limit_w: 10 is not above the 10 W");
}

TEST(a_repeated_node_is_numbered_from_one)
{
	struct hes_fleet f;

	assert_int_equal(parse("name: x\nnodes:\n  - name: n\n    repeat: 3\n"
			       "    gpus: [ { type: T4, count: 2 } ]\n",
			       &f, NULL),
			 0);
	assert_int_equal(f.n, 6);
	assert_string_equal(f.gpus[0].name, "n1/0");
	assert_string_equal(f.gpus[5].name, "n3/1");
	hes_fleet_free(&f);
}

TEST(equal_names_are_refused)
{
	static const char gpus[] = "gpus: [ { type: T4, count: 1 } ]\n";
	char nodes[256];

	snprintf(nodes, sizeof(nodes), "  - name: a\n    %s  - name: a\n    %s", gpus, gpus);
	assert_refused(nodes, -EEXIST, "f.yaml: nodes: two nodes are called a");
	snprintf(nodes, sizeof(nodes), "  - name: a\n    repeat: 2\n    %s  - name: a2\n    %s",
		 gpus, gpus);
	assert_refused(nodes, -EEXIST, "f.yaml: nodes: two nodes are called a2");
}

TEST(impossible_values_are_named_with_their_place)
{
	struct hes_fleet f;
	struct hes_err err;

	assert_int_equal(parse("name: \"a\\e[31m\"\nnodes:\n  - name: n\n    gpus: [ { type: T4, "
			       "count: 1 } ]\n",
			       &f, &err),
			 -EINVAL);
	assert_string_equal(err.msg, "f.yaml: name: control character 0x1b in byte 2");
	assert_refused("  - name: a\n    gpus: [ { type: K80, count: 1 } ]\n", -ENOENT,
		       "f.yaml: nodes[0].gpus[0].type: unknown GPU type \"K80\"; known: P100");
	assert_refused("  - name: a\n    gpus: [ { type: T4, count: 0 } ]\n", -ERANGE,
		       "f.yaml: nodes[0].gpus[0].count: 0 is outside 1 to 64");
	assert_refused("  - name: a\n    gpus: [ { type: T4, count: -1 } ]\n", -EINVAL,
		       "f.yaml:4: nodes[0].gpus[0].count: \"-1\" is not a whole number from 0");
	assert_refused("  - name: a b\n    gpus: [ { type: T4, count: 1 } ]\n", -EINVAL,
		       "f.yaml: nodes[0].name: \"a b\" may hold letters");
	assert_refused("  - name: \"\\e[31m\"\n    gpus: [ { type: T4, count: 1 } ]\n", -EINVAL,
		       "may hold letters");
}

TEST(too_many_gpus_are_refused_before_allocation)
{
	assert_refused(
		"  - name: a\n    repeat: 4294967295\n    gpus: [ { type: T4, count: 64 } ]\n",
		-ERANGE, "f.yaml: more than 100000 GPUs");
}

TEST(a_fleet_of_thousands_of_nodes_is_read)
{
	static const char node[] = "  - { name: n%05d, gpus: [ { type: T4, count: 1 } ] }\n";
	size_t each = strlen(node) + 2, len;
	char *text = malloc(64 + 5000 * each);
	struct hes_fleet f;

	assert_non_null(text);
	len = (size_t)sprintf(text, "name: x\nnodes:\n");
	for (int i = 0; i < 5000; i++)
		len += (size_t)sprintf(text + len, node, i);
	assert_int_equal(hes_fleet_parse("f.yaml", text, len, &builtin, &f, NULL), 0);
	assert_int_equal(f.n, 5000);
	hes_fleet_free(&f);
	free(text);
}

int main(void)
{
	return run_unit_tests(set_up, tear_down);
}
