/* test_regressor_file.c - regressors in model files: what is saved is loaded, what is damaged or
 * forged is refused. */
#include <math.h>
#include <zlib.h>

#include "trees/regressor_file.h"
#include "random_ensemble.h"
#include "unit_test.h"

#define LINE     "heshare regressor 1\n"
#define LINE_LEN (sizeof(LINE) - 1)
#define HEAD_LEN (LINE_LEN + 12)
#define ROWS     50

static char path[] = "/tmp/hes-regressor-XXXXXX";

static int save_file(const struct hes_regressor *r)
{
	struct model_writer w = { 0 };
	int rc;

	regressor_put(&w, r);
	rc = model_save(path, "regressor", 1, &w, NULL);
	free(w.v);
	return rc;
}

static int load_file(struct hes_regressor **out, struct hes_err *err)
{
	struct model_reader in;
	char *bytes;
	int rc = model_load(path, "regressor", 1, &bytes, &in, err);

	if (rc)
		return rc;
	rc = regressor_get(&in, out, err);
	free(bytes);
	return rc;
}

static const struct ensemble_spec small = { SHAPE_ANY, 3, 2, 2, 7 };

static struct hes_regressor *draw(const struct ensemble_spec *s)
{
	struct hes_rng rng;

	hes_rng_seed(&rng, 11);
	return regressor_draw(s, &rng);
}

struct bytes {
	unsigned char v[1 << 16];
	size_t n;
};

static void read_back(struct bytes *b)
{
	FILE *f = fopen(path, "rb");

	assert_non_null(f);
	b->n = fread(b->v, 1, sizeof(b->v), f);
	assert_true(b->n < sizeof(b->v));
	fclose(f);
}

static void write_out(const struct bytes *b)
{
	FILE *f = fopen(path, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(b->v, 1, b->n, f), b->n);
	fclose(f);
}

/* Make the header right for a body that was changed. */
static void forge(struct bytes *b)
{
	uint64_t n = b->n - HEAD_LEN;
	uint32_t crc = (uint32_t)crc32_z(0, b->v + HEAD_LEN, n);

	for (int i = 0; i < 8; i++)
		b->v[LINE_LEN + (size_t)i] = (unsigned char)(n >> 8 * i);
	for (int i = 0; i < 4; i++)
		b->v[LINE_LEN + 8 + (size_t)i] = (unsigned char)(crc >> 8 * i);
}

static void save(const struct hes_regressor *r, struct bytes *b)
{
	assert_int_equal(save_file(r), 0);
	read_back(b);
}

/* The file must be refused with these words, and nothing given. */
static void refused(const char *words)
{
	struct hes_regressor *r = (struct hes_regressor *)&path;
	struct hes_err err = { 0 };

	assert_int_equal(load_file(&r, &err), -EINVAL);
	assert_ptr_equal(r, &path);
	assert_non_null(strstr(err.msg, path));
	if (!strstr(err.msg, words))
		fail_msg("\"%s\" does not say \"%s\"", err.msg, words);
}

static void same_answers(const struct hes_regressor *a, const struct hes_regressor *b)
{
	size_t n = a->about.n_outputs;
	struct hes_rng rng;
	float *rows;
	double one[HES_REGRESSOR_MAX_OUTPUTS], other[HES_REGRESSOR_MAX_OUTPUTS];

	hes_rng_seed(&rng, 12);
	rows = rows_draw(ROWS, a->about.n_features, &rng);
	for (size_t i = 0; i < ROWS; i++) {
		hes_regressor_predict(a, rows + i * a->about.n_features, one);
		hes_regressor_predict(b, rows + i * a->about.n_features, other);
		assert_memory_equal(one, other, n * sizeof(*one));
	}
	free(rows);
}

static void same_about(const struct hes_regressor *a, const struct hes_regressor *b)
{
	assert_int_equal(a->about.options.kind, b->about.options.kind);
	assert_int_equal(a->about.options.seed, b->about.options.seed);
	assert_int_equal(a->about.options.max_depth, b->about.options.max_depth);
	assert_true(a->about.options.learning_rate == b->about.options.learning_rate);
	assert_int_equal(a->about.rows, b->about.rows);
	assert_int_equal(a->about.n_trees, b->about.n_trees);
	assert_int_equal(a->about.n_nodes, b->about.n_nodes);
	assert_int_equal(a->about.n_features, b->about.n_features);
	assert_int_equal(a->about.n_outputs, b->about.n_outputs);
	for (size_t f = 0; f < a->about.n_features; f++)
		assert_string_equal(a->feature_names[f], b->feature_names[f]);
	for (size_t o = 0; o < a->about.n_outputs; o++) {
		const struct hes_regressor_errors *x = &a->outputs[o].errors,
						  *y = &b->outputs[o].errors;

		assert_string_equal(a->outputs[o].name, b->outputs[o].name);
		assert_string_equal(a->outputs[o].unit, b->outputs[o].unit);
		assert_true(x->rows == y->rows && x->mae == y->mae && x->r2 == y->r2 &&
			    x->abs_error_pct == y->abs_error_pct &&
			    x->rel_error_pct == y->rel_error_pct);
	}
}

TEST(an_ensemble_comes_back_with_all_that_is_known_of_it)
{
	const struct ensemble_spec s = { SHAPE_ANY, 18, 2, 5, 201 };
	const struct hes_regressor_errors errors = { 250, 2.5, 0.98, 3.1, 3.9 };
	struct hes_regressor *r = draw(&s), *back;
	static struct bytes once, twice;

	strcpy(r->outputs[0].unit, "ms");
	r->outputs[1].errors = errors;
	save(r, &once);
	assert_int_equal(load_file(&back, NULL), 0);
	same_about(r, back);
	same_answers(r, back);
	save(back, &twice);
	assert_int_equal(once.n, twice.n);
	assert_memory_equal(once.v, twice.v, once.n);
	hes_regressor_free(back);
	hes_regressor_free(r);
}

/* Older versions also fitted a random forest (0), one tree (3) and a straight line (4). */
TEST(a_kind_of_older_versions_is_refused_with_what_to_do)
{
	struct hes_regressor *r = draw(&small), *back = NULL;
	struct hes_err err = { 0 };
	static struct bytes b;

	save(r, &b);
	for (unsigned char kind = 0; kind < 6; kind++) {
		const bool former = kind == 0 || kind == 3 || kind == 4;
		const int rc = former ? -ENOTSUP : kind > 4 ? -EINVAL : 0;

		b.v[HEAD_LEN] = kind;
		forge(&b);
		write_out(&b);
		assert_int_equal(load_file(&back, &err), rc);
		if (former)
			assert_non_null(strstr(err.msg, "train it again with heshare train"));
		if (!rc)
			hes_regressor_free(back);
	}
	hes_regressor_free(r);
}

TEST(a_model_of_no_trees_comes_back)
{
	struct hes_regressor *r = draw(&small), *back;
	double out[2];

	r->ensemble.n_trees = r->ensemble.n_nodes = 0;
	assert_int_equal(save_file(r), 0);
	assert_int_equal(load_file(&back, NULL), 0);
	hes_regressor_predict(back, (float[]){ 0, 0, 0 }, out);
	assert_true(out[0] == r->ensemble.base[0] && out[1] == r->ensemble.base[1]);
	hes_regressor_free(back);
	hes_regressor_free(r);
}

TEST(several_regressors_fit_into_one_file)
{
	struct hes_regressor *a = draw(&small),
			     *b = draw(&(struct ensemble_spec){ SHAPE_CHAIN, 4, 1, 1, 21 }),
			     *back[2];
	struct model_writer block = { 0 };
	struct model_reader in;

	regressor_put(&block, a);
	regressor_put(&block, b);
	in = (struct model_reader){ "memory", block.v, block.n, false };
	assert_int_equal(regressor_get(&in, &back[0], NULL), 0);
	assert_int_equal(regressor_get(&in, &back[1], NULL), 0);
	assert_int_equal(in.n, 0);
	same_answers(a, back[0]);
	same_answers(b, back[1]);
	hes_regressor_free(a);
	hes_regressor_free(b);
	hes_regressor_free(back[0]);
	hes_regressor_free(back[1]);
	free(block.v);
}

TEST(a_file_cut_anywhere_is_refused)
{
	struct hes_regressor *r = draw(&small);
	static struct bytes whole, cut;

	save(r, &whole);
	for (size_t n = 0; n < whole.n; n++) {
		cut = whole;
		cut.n = n;
		write_out(&cut);
		refused(n < LINE_LEN ? "not a regressor file" : "damaged");
	}
	hes_regressor_free(r);
}

TEST(a_byte_changed_anywhere_is_noticed)
{
	struct hes_regressor *r = draw(&small);
	static struct bytes whole, damaged;

	save(r, &whole);
	for (size_t i = 0; i < whole.n; i++) {
		damaged = whole;
		damaged.v[i] ^= 0x10;
		write_out(&damaged);
		refused("");
	}
	hes_regressor_free(r);
}

TEST(files_of_another_kind_or_version_say_so)
{
	static const struct {
		const char *text, *words;
	} cases[] = {
		{ "", "not a regressor file" },
		{ "heshare predictor 1\n", "not a regressor file" },
		{ "heshare regressor one\n", "not a regressor file" },
		{ "heshare regressor 1", "not a regressor file" },
		{ "heshare regressor 3\n01234567890123",
		  "version 3 of regressor files, this program reads 1; a newer heshare" },
		{ "tree\nversion=v4\n", "not a regressor file" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		static struct bytes b;

		b.n = strlen(cases[i].text);
		memcpy(b.v, cases[i].text, b.n);
		write_out(&b);
		refused(cases[i].words);
	}
}

/* A file with the right checksum is a model that answers, or it is refused. */
static void forge_every_byte(const struct ensemble_spec *spec)
{
	static const unsigned char flips[] = { 0x01, 0x80, 0xff };
	struct hes_regressor *r = draw(spec), *back;
	static struct bytes whole, forged;
	size_t taken = 0;

	save(r, &whole);
	for (size_t i = HEAD_LEN; i < whole.n; i++)
		for (size_t k = 0; k < sizeof(flips); k++) {
			double out[HES_REGRESSOR_MAX_OUTPUTS];
			struct hes_err err = { 0 };

			forged = whole;
			forged.v[i] ^= flips[k];
			forge(&forged);
			write_out(&forged);
			if (load_file(&back, &err)) {
				assert_true(err.code == -EINVAL || err.code == -ENOTSUP);
				assert_true(err.msg[0]);
				continue;
			}
			hes_regressor_predict(back, (float[]){ 1, NAN, -1 }, out);
			assert_true(isfinite(out[0]) && isfinite(out[1]));
			hes_regressor_free(back);
			taken++;
		}
	assert_true(taken > 0);
	hes_regressor_free(r);
}

TEST(no_forged_byte_leads_an_evaluation_astray)
{
	forge_every_byte(&small);
}

/* What regressor_put() writes of @r must be refused; frees @r. */
static void refused_in_memory(struct hes_regressor *r)
{
	struct hes_regressor *back = NULL;
	struct hes_err err = { 0 };
	struct model_writer block = { 0 };
	struct model_reader in;

	regressor_put(&block, r);
	in = (struct model_reader){ "memory", block.v, block.n, false };
	assert_int_equal(regressor_get(&in, &back, &err), -EINVAL);
	assert_null(back);
	assert_string_equal(err.msg, "memory: not a sound model, though its checksum is right");
	free(block.v);
	hes_regressor_free(r);
}

/* Ways to make @r unsound; each must be refused when it comes from a file. */
static void unsound(struct hes_regressor *r, int way)
{
	struct ensemble *e = &r->ensemble;
	struct ensemble_node *root = e->nodes;

	switch (way) {
	case 0:
		root[2].left = 1;
		break; /* a child before its parent */
	case 1:
		root[0].left = e->trees[0].n_nodes - 1;
		break; /* the right child outside */
	case 2:
		root[0].left = UINT32_MAX;
		break;
	case 3:
		root[0].feature = 3;
		break; /* of three features */
	case 4:
		root[0].value = NAN;
		break;
	case 5:
		root[e->trees[0].n_nodes - 1].value = INFINITY;
		break; /* a leaf */
	case 6:
		root[0].left = 0;
		break; /* nodes that nobody leads to */
	case 7:
		e->trees[0].output = 1;
		break; /* trees out of order */
	case 8:
		e->trees[3].output = 2;
		break; /* of two outputs */
	case 9:
		e->trees[0].n_nodes = 0;
		break;
	case 10:
		e->trees[0].n_nodes = UINT32_MAX;
		break;
	case 11:
		e->base[0] = INFINITY;
		break;
	case 12:
		e->scale[1] = NAN;
		break;
	case 13:
		e->scale[1] = 1e200;
		break;
	case 14:
		r->about.options.column_fraction = -1;
		break;
	case 15:
		r->about.options.learning_rate = -1;
		break;
	case 16:
		r->about.options.learning_rate = NAN;
		break;
	case 17:
		r->about.options.row_fraction = 2;
		break;
	case 18:
		r->outputs[0].errors.r2 = 2;
		break;
	case 19:
		r->outputs[0].errors.mae = -1;
		break;
	case 20:
		r->outputs[0].errors.rel_error_pct = NAN;
		break;
	case 21:
		r->outputs[1].name[0] = '\0';
		break;
	case 22:
		r->feature_names[0][0] = '\0';
		break;
	case 23:
		r->feature_names[0][0] = (char)0xff;
		break; /* no UTF-8 */
	}
}

TEST(every_unsound_part_is_refused_though_the_checksum_is_right)
{
	for (int way = 0; way <= 23; way++) {
		struct hes_regressor *r = draw(&(struct ensemble_spec){ SHAPE_CHAIN, 3, 2, 2, 7 });

		unsound(r, way);
		refused_in_memory(r);
	}
}

TEST(nodes_shared_by_two_parents_are_refused)
{
	struct hes_regressor *r = draw(&(struct ensemble_spec){ SHAPE_FULL, 3, 1, 1, 7 });

	r->ensemble.nodes[1].left = r->ensemble.nodes[2].left;
	refused_in_memory(r);
}

static int set_up(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	return fd < 0 ? -1 : close(fd);
}

static int tear_down(void **state)
{
	(void)state;
	return unlink(path);
}

int main(void)
{
	return run_unit_tests(set_up, tear_down);
}
