/* test_yaml.c - YAML errors: one sentence with file, line and field. */
#include "base/yaml.h"
#include "unit_test.h"

struct item {
	char *name;
	uint32_t count;
};

struct doc {
	struct item *items;
	unsigned items_count;
};

static const cyaml_schema_field_t item_fields[] = {
	CYAML_FIELD_STRING_PTR("name", CYAML_FLAG_POINTER, struct item, name, 1, 20),
	CYAML_FIELD_UINT("count", CYAML_FLAG_OPTIONAL, struct item, count), CYAML_FIELD_END
};

static const cyaml_schema_value_t item_value = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct item, item_fields),
};

static const cyaml_schema_field_t doc_fields[] = {
	CYAML_FIELD_SEQUENCE("items", CYAML_FLAG_POINTER, struct doc, items, &item_value, 1, 4),
	CYAML_FIELD_END
};

static const cyaml_schema_value_t schema = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct doc, doc_fields),
};

static int load(const char *text, void **out, struct hes_err *err)
{
	return hes_yaml_load_text("f.yaml", text, strlen(text), &schema, out, err);
}

static void assert_refused(const char *text, const char *sentence)
{
	struct hes_err err = { 0 };
	void *doc = &err;

	assert_true(load(text, &doc, &err) < 0);
	assert_string_equal(err.msg, sentence);
	assert_ptr_equal(doc, &err);
}

TEST(a_good_document_fills_the_struct)
{
	void *loaded;
	const struct doc *d;

	assert_int_equal(load("items:\n  - name: a\n  - { name: b, count: 3 }\n", &loaded, NULL),
			 0);
	d = loaded;
	assert_int_equal(d->items_count, 2);
	assert_string_equal(d->items[1].name, "b");
	assert_int_equal(d->items[1].count, 3);
	hes_yaml_free(&schema, loaded);
}

TEST(the_field_is_named_by_its_path_counted_from_zero)
{
	assert_refused(
		"items:\n  - name: a\n  - name: b\n    count: many\n",
		"f.yaml:4: items[1].count: \"many\" is not a whole number from 0 to 4294967295");
	assert_refused("items:\n  - name: a\n    colour: red\n",
		       "f.yaml:2: items[0]: there is no field \"colour\"; there are: name, count");
}

TEST(what_would_be_right_is_said)
{
	assert_refused(
		"items:\n  - count: 3\n",
		"f.yaml:2: items[0]: the field \"name\" is missing; fields are: name, count");
	assert_refused("items: 5\n",
		       "f.yaml:1: items: a list ([A, B], or lines that begin with -) is "
		       "expected, not a single value");
	assert_refused(
		"items: [ { name: [a] } ]\n",
		"f.yaml:1: items[0].name: a single value is expected, not a list ([A, B], or "
		"lines that begin with -)");
	assert_refused("items: [ { name: '' } ]\n",
		       "f.yaml:1: items[0].name: the text is too short; it has 1 byte at least");
	assert_refused("items: [ { name: a, name: b } ]\n",
		       "f.yaml:1: items[0].name: the field \"name\" is given twice; leave one out");
	assert_refused(
		"items: [ { name: 123456789012345678901 } ]\n",
		"f.yaml:1: items[0].name: \"123456789012345678901...\" is too long; it has 20 "
		"bytes at most");
}

TEST(the_error_for_another_kind_of_file_names_the_keys)
{
	assert_refused("name: test\nnodes: []\n",
		       "f.yaml:1: there is no field \"name\"; there are: items");
	assert_refused("id,workload\na,resnet50\n",
		       "f.yaml:1: not YAML with the keys of this kind of file: items");
	assert_refused("- a\n", "f.yaml:1: not YAML with the keys of this kind of file: items");
}

TEST(lists_too_short_and_too_long_are_refused)
{
	struct hes_err err;
	void *doc;

	assert_refused("items: []\n",
		       "f.yaml:1: items: the list has 0 entries; it needs 1 at least");
	assert_true(load("items: [ {name: a}, {name: b}, {name: c}, {name: d}, {name: e} ]\n", &doc,
			 &err) < 0);
	assert_string_equal(err.msg, "f.yaml:1: items[3]: the list has more than 4 entries");
}

TEST(text_that_is_no_yaml_is_refused_with_its_line)
{
	assert_refused("", "f.yaml: empty file");
	assert_refused("items:\n\t- a\n",
		       "f.yaml:2: items: this is not YAML: found character that cannot start any "
		       "token; indent with blanks, not tabs, and put text with : # or @ in quotes");
	assert_refused("items: \x01\x02\n",
		       "f.yaml:1: this is no text in UTF-8 but another kind of "
		       "file: control characters are not allowed");
}

/* Nested aliases double a document's size with every line. */
TEST(aliases_are_refused)
{
	assert_refused("items:\n  - &a { name: a }\n  - *a\n",
		       "f.yaml:2: items[0]: aliases (&NAME, *NAME) are not taken; write the values "
		       "out");
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
