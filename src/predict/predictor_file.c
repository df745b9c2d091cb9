/*
 * predictor_file.c - predictors as files; see heshare/predict.h.
 *
 * A line of text that names the format, then one little-endian block: its
 * length, its CRC-32, what it was trained on, the names of its features, the
 * nodes of both forests. Nothing of a file is believed: after the checksum,
 * every count, name and node is checked, so that no file can make a walk
 * leave its tree.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/file.h"
#include "predict/predictor.h"

#define MAGIC      "heshare predictor 1\n"
#define MAGIC_LEN  (sizeof(MAGIC) - 1)
#define HEADER_LEN (MAGIC_LEN + 12) /* and the block's length and CRC */
#define MAX_BYTES  ((size_t)1 << 31)
#define MAX_NAMES  100000

/* A growing block; @failed once memory ran out. */
struct block {
	unsigned char *v;
	size_t         n, room;
	bool           failed;
};

static void put(struct block *b, const void *bytes, size_t n)
{
	if (b->n + n > b->room && !b->failed) {
		size_t room = 2 * (b->room + n);
		unsigned char *v = realloc(b->v, room);

		b->failed = !v;
		b->v = v ? v : b->v;
		b->room = v ? room : b->room;
	}
	if (b->failed)
		return;
	memcpy(b->v + b->n, bytes, n);
	b->n += n;
}

static void put_u64(struct block *b, uint64_t x, size_t bytes)
{
	unsigned char le[8];

	for (size_t i = 0; i < 8; i++)
		le[i] = (unsigned char)(x >> 8 * i);
	put(b, le, bytes);
}

static void put_name(struct block *b, const char *name)
{
	put_u64(b, strlen(name), 1);
	put(b, name, strlen(name));
}

static void put_names(struct block *b, const char (*names)[HES_NAME_MAX], uint32_t n)
{
	put_u64(b, n, 4);
	for (uint32_t i = 0; i < n; i++)
		put_name(b, names[i]);
}

static void put_forest(struct block *b, const struct forest *f)
{
	put_u64(b, f->n_features, 4);
	for (size_t i = 0; i < f->n_features; i++)
		put_name(b, features[i].name);
	put_u64(b, f->n_trees, 4);
	for (size_t t = 0; t < f->n_trees; t++)
		put_u64(b, f->roots[t + 1] - f->roots[t], 4);
	for (size_t i = 0; i < f->n_nodes; i++) {
		const struct tree_node *node = &f->nodes[i];
		uint32_t bits;

		memcpy(&bits, &node->threshold, sizeof(bits));
		put_u64(b, bits, 4);
		put_u64(b, node->child, 3);
		put_u64(b, node->feature, 1);
	}
}

static void put_about(struct block *b, const struct hes_predictor_info *a)
{
	const struct hes_train_options *o = &a->options;

	put_u64(b, o->trees, 4);
	put_u64(b, o->seed, 8);
	put_u64(b, o->criterion, 4);
	put_u64(b, o->features_per_split, 4);
	put_u64(b, o->min_leaf, 4);
	put_u64(b, o->max_depth, 4);
	put_u64(b, o->recipe, 4);
	put_u64(b, a->rows, 4);
	put_u64(b, a->samples_crc, 4);
	put_names(b, (const char (*)[HES_NAME_MAX])a->types, a->n_types);
	put_names(b, (const char (*)[HES_NAME_MAX])a->workloads, a->n_workloads);
}

static int write_all(const char *path, const struct block *header, const struct block *body,
		     struct hes_err *err)
{
	struct hes_file out;
	int rc = hes_file_create(&out, path, err);

	if (rc)
		return rc;
	fwrite(header->v, 1, header->n, out.f);
	fwrite(body->v, 1, body->n, out.f);
	return hes_file_commit(&out, err);
}

int hes_predictor_save(const char *path, const struct hes_predictor *p, struct hes_err *err)
{
	struct block header = { 0 }, body = { 0 };
	int rc;

	put_about(&body, &p->about);
	put_forest(&body, &p->time);
	put_forest(&body, &p->power);
	put(&header, MAGIC, MAGIC_LEN);
	put_u64(&header, body.n, 8);
	put_u64(&header, body.failed ? 0 : crc32_z(0, body.v, body.n), 4);
	if (header.failed || body.failed)
		rc = hes_fail(err, -ENOMEM, "%s: out of memory", path);
	else
		rc = write_all(path, &header, &body, err);
	free(header.v);
	free(body.v);
	return rc;
}

/* Bytes still to be read. A read past the end gives 0 and sets @bad. */
struct reader {
	const char          *path;
	const unsigned char *v;
	size_t               n;
	bool                 bad;
};

static uint64_t get_u64(struct reader *r, size_t bytes)
{
	uint64_t x = 0;

	if (r->n < bytes) {
		r->bad = true;
		return 0;
	}
	for (size_t i = 0; i < bytes; i++)
		x |= (uint64_t)r->v[i] << 8 * i;
	r->v += bytes;
	r->n -= bytes;
	return x;
}

static uint32_t get_u32(struct reader *r)
{
	return (uint32_t)get_u64(r, 4);
}

static void get_name(struct reader *r, char out[HES_NAME_MAX])
{
	size_t len = (size_t)get_u64(r, 1);

	if (len == 0 || len >= HES_NAME_MAX || len > r->n || memchr(r->v, '\0', len)) {
		r->bad = true;
		return;
	}
	memcpy(out, r->v, len);
	out[len] = '\0';
	r->v += len;
	r->n -= len;
}

/* Each name takes two bytes at least, which bounds what a wrong count can allocate. */
static int get_names(struct reader *r, char (**out)[HES_NAME_MAX], uint32_t *out_n, struct hes_err *err)
{
	uint32_t n = get_u32(r);
	char (*v)[HES_NAME_MAX];

	r->bad |= n == 0 || n > MAX_NAMES || n > r->n / 2;
	if (r->bad)
		return 0;
	v = calloc(n, sizeof(*v));
	if (!v)
		return hes_fail(err, -ENOMEM, "%s: out of memory", r->path);
	for (uint32_t i = 0; i < n; i++)
		get_name(r, v[i]);
	*out = v;
	*out_n = n;
	return 0;
}

static int get_about(struct reader *r, struct hes_predictor_info *a, struct hes_err *err)
{
	struct hes_train_options *o = &a->options;
	int rc;

	o->trees = get_u32(r);
	o->seed = get_u64(r, 8);
	o->criterion = get_u32(r);
	o->features_per_split = get_u32(r);
	o->min_leaf = get_u32(r);
	o->max_depth = get_u32(r);
	o->recipe = get_u32(r);
	a->rows = get_u32(r);
	a->samples_crc = get_u32(r);
	r->bad |= o->criterion > HES_CRITERION_ABSOLUTE || o->recipe > HES_RECIPE_PLAIN;
	rc = get_names(r, &a->types, &a->n_types, err);
	return rc || r->bad ? rc : get_names(r, &a->workloads, &a->n_workloads, err);
}

static int get_features(struct reader *r, enum hes_recipe recipe, struct forest *f, struct hes_err *err)
{
	f->n_features = get_u32(r);
	if (r->bad || f->n_features != features_of(recipe))
		return hes_fail(err, -EINVAL, "%s: trained on %zu features, this program has %zu; train it anew",
				r->path, f->n_features, features_of(recipe));
	for (size_t i = 0; i < f->n_features; i++) {
		char name[HES_NAME_MAX] = "";

		get_name(r, name);
		if (strcmp(name, features[i].name))
			return hes_fail(err, -EINVAL, "%s: feature %zu is \"%s\", this program's is \"%s\"; "
					"train it anew", r->path, i + 1, name, features[i].name);
	}
	return 0;
}

/* What a leaf answers: a logarithm of a ratio within e^20, or as it is, a positive time or power. */
static bool answer_is_sound(float answer, enum hes_recipe recipe)
{
	return recipe == HES_RECIPE_PLAIN ? answer > 0 && answer < 1e12f : fabsf(answer) < 20;
}

/* A child lies behind its parent, or is the leaf itself: every walk ends. */
static bool node_is_sound(const struct tree_node *node, size_t index, size_t tree_size, size_t n_features,
			  enum hes_recipe recipe)
{
	if (!isfinite(node->threshold))
		return false;
	if (node->child == index)
		return node->feature == n_features && answer_is_sound(node->threshold, recipe);
	return node->child > index && node->child + 1u < tree_size && node->feature < n_features;
}

static void get_nodes(struct reader *r, enum hes_recipe recipe, struct forest *f)
{
	for (size_t t = 0; t < f->n_trees && !r->bad; t++)
		for (size_t i = f->roots[t]; i < f->roots[t + 1]; i++) {
			uint32_t bits = get_u32(r);

			memcpy(&f->nodes[i].threshold, &bits, sizeof(bits));
			f->nodes[i].child = (uint32_t)get_u64(r, 3) & 0xffffff;
			f->nodes[i].feature = (uint8_t)get_u64(r, 1);
			r->bad |= !node_is_sound(&f->nodes[i], i - f->roots[t], f->roots[t + 1] - f->roots[t],
						 f->n_features, recipe);
		}
}

static int get_forest(struct reader *r, const struct hes_train_options *o, struct forest *f,
		      struct hes_err *err)
{
	int rc = get_features(r, o->recipe, f, err);

	if (rc)
		return rc;
	f->n_trees = get_u32(r);
	r->bad |= f->n_trees != o->trees || f->n_trees < 1 || f->n_trees > FOREST_MAX_TREES;
	if (r->bad)
		return 0;
	f->roots = calloc(f->n_trees + 1, sizeof(*f->roots));
	if (!f->roots)
		return hes_fail(err, -ENOMEM, "%s: out of memory", r->path);
	for (size_t t = 0; t < f->n_trees; t++) {
		uint32_t n = get_u32(r);

		r->bad |= n < 1;
		f->roots[t + 1] = f->roots[t] + n;
	}
	f->n_nodes = f->roots[f->n_trees];
	r->bad |= f->n_nodes > r->n / 8;
	if (r->bad)
		return 0;
	f->nodes = calloc(f->n_nodes, sizeof(*f->nodes));
	if (!f->nodes)
		return hes_fail(err, -ENOMEM, "%s: out of memory", r->path);
	get_nodes(r, o->recipe, f);
	return 0;
}

static int get_predictor(struct reader *r, struct hes_predictor *p, struct hes_err *err)
{
	int rc = get_about(r, &p->about, err);

	if (!rc && !r->bad)
		rc = get_forest(r, &p->about.options, &p->time, err);
	if (!rc && !r->bad)
		rc = get_forest(r, &p->about.options, &p->power, err);
	if (!rc && (r->bad || r->n))
		rc = hes_fail(err, -EINVAL, "%s: not a sound predictor file, though its checksum is right", r->path);
	p->about.nodes = (uint32_t)(p->time.n_nodes + p->power.n_nodes);
	return rc;
}

/* Header and checksum; @r is left at the block. */
static int open_block(struct reader *r, struct hes_err *err)
{
	struct reader h = *r;
	uint64_t n;
	uint32_t crc;

	if (h.n < HEADER_LEN || memcmp(h.v, MAGIC, MAGIC_LEN)) {
		if (h.n >= MAGIC_LEN && memcmp(h.v, MAGIC, MAGIC_LEN - 2) == 0)
			return hes_fail(err, -EINVAL, "%s: a predictor file of version %c; this program reads version 1",
					r->path, h.v[MAGIC_LEN - 2]);
		return hes_fail(err, -EINVAL, "%s: not a predictor file of heshare train", r->path);
	}
	h.v += MAGIC_LEN;
	h.n -= MAGIC_LEN;
	n = get_u64(&h, 8);
	crc = get_u32(&h);
	if (h.n != n)
		return hes_fail(err, -EINVAL, "%s: damaged: %zu bytes where the header says %llu", r->path, h.n,
				(unsigned long long)n);
	if (crc32_z(0, h.v, h.n) != crc)
		return hes_fail(err, -EINVAL, "%s: damaged: the checksum does not match", r->path);
	*r = h;
	return 0;
}

int hes_predictor_load(const char *path, struct hes_predictor **out, struct hes_err *err)
{
	struct hes_predictor *p = calloc(1, sizeof(*p));
	struct reader r = { .path = path };
	char *text = NULL;
	int rc = p ? hes_file_slurp(path, MAX_BYTES, &text, &r.n, err)
		   : hes_fail(err, -ENOMEM, "%s: out of memory", path);

	if (!rc) {
		r.v = (const unsigned char *)text;
		rc = open_block(&r, err);
	}
	if (!rc)
		rc = get_predictor(&r, p, err);
	free(text);
	if (rc)
		hes_predictor_free(p);
	else
		*out = p;
	return rc;
}
