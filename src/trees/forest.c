/*
 * forest.c - forests, extra trees and the single tree: trees grown side
 * by side, averaged; see grow.h.
 */
#include "trees/grow.h"

#include <errno.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "trees/exact_tree.h"
#include "trees/joint_outputs.h"
#include "trees/random_tree.h"

struct forest {
	const struct hes_rows              *rows;
	const struct hes_regressor_options *o;
	struct exact_rows                   exact;   /* of all kinds but extra trees */
	struct random_rows                  random;  /* extra trees */
	size_t                              n_outputs; /* of a tree */
	size_t                              n_trees;
	double                             *even;    /* outputs of joint trees (joint_outputs.h) */
	struct hes_rng                      rng;
	struct grown                       *trees;
};

/* Memory of one thread. */
struct hand {
	struct exact_work  *exact;
	struct random_work *random;
	uint32_t           *count;   /* of each row, how often it counts */
};

int grow_threads(uint32_t asked, size_t jobs)
{
	size_t threads = asked ? asked : (size_t)omp_get_max_threads();

	if (threads > jobs)
		threads = jobs;
	return threads ? (int)threads : 1;
}

void grown_finish(struct grown *g)
{
	free(g->nodes);
	free(g->values);
}

/* Count trees and nodes, and make room for them. */
static int make_room(const struct grown *trees, size_t at_most, const size_t *count, struct ensemble *e)
{
	bool joint = count[0] && trees[0].values;

	for (size_t o = 0; o < e->n_outputs; o++) {
		e->n_trees += count[o];
		for (size_t t = 0; t < count[o]; t++)
			e->n_nodes += trees[o * at_most + t].n;
	}
	e->base = calloc(e->n_outputs, sizeof(*e->base));
	e->scale = malloc(e->n_outputs * sizeof(*e->scale));
	e->trees = malloc((e->n_trees + 1) * sizeof(*e->trees));
	e->nodes = malloc((e->n_nodes + 1) * sizeof(*e->nodes));
	if (joint)
		e->joint = malloc(e->n_nodes * e->n_outputs * sizeof(*e->joint));
	return e->base && e->scale && e->trees && e->nodes && (e->joint || !joint) ? 0 : -ENOMEM;
}

int grow_join(const struct hes_rows *rows, const struct grown *trees, size_t at_most, const size_t *count,
	      struct ensemble *out)
{
	struct ensemble e = { .n_features = rows->n_features, .n_outputs = rows->n_outputs };
	size_t tree = 0, node = 0;

	if (make_room(trees, at_most, count, &e)) {
		ensemble_finish(&e);
		return -ENOMEM;
	}
	for (size_t o = 0; o < e.n_outputs; o++) {
		e.scale[o] = 1;
		for (size_t t = 0; t < count[o]; t++) {
			const struct grown *g = &trees[o * at_most + t];

			e.trees[tree++] = (struct ensemble_tree){ node, g->n, (uint32_t)o };
			memcpy(e.nodes + node, g->nodes, g->n * sizeof(*g->nodes));
			if (e.joint)
				memcpy(e.joint + node * e.n_outputs, g->values, g->n * e.n_outputs * sizeof(*e.joint));
			node += g->n;
		}
	}
	*out = e;
	return 0;
}

static void draw_bootstrap(struct hes_rng *rng, uint32_t *count, size_t n)
{
	memset(count, 0, n * sizeof(*count));
	for (size_t i = 0; i < n; i++)
		count[grow_draw_below(rng, (uint32_t)n)]++;
}

static int hand_init(const struct forest *f, struct hand *h)
{
	if (f->o->kind == HES_REGRESSOR_EXTRA_TREES) {
		*h = (struct hand){ .random = random_work_create(&f->random, f->n_outputs) };
		return h->random ? 0 : -ENOMEM;
	}
	*h = (struct hand){
		.exact = exact_work_create(&f->exact, f->n_outputs),
		.count = malloc(f->rows->n * sizeof(*h->count)),
	};
	for (size_t i = 0; h->count && i < f->rows->n; i++)
		h->count[i] = 1;
	return h->exact && h->count ? 0 : -ENOMEM;
}

static void hand_finish(struct hand *h)
{
	exact_work_destroy(h->exact);
	random_work_destroy(h->random);
	free(h->count);
}

/* One tree, from a random stream of its own. */
static int grow_tree(const struct forest *f, size_t index, struct hand *h)
{
	struct hes_rng rng = hes_rng_fork(&f->rng, index);
	const struct grow_targets y = {
		.y = f->rows->y + index / f->o->trees * f->rows->n,
		.n = f->rows->n,
		.n_outputs = f->n_outputs,
		.even = f->even,
	};

	if (f->o->kind == HES_REGRESSOR_EXTRA_TREES)
		return random_grow(&f->random, &y, f->o, &rng, h->random, &f->trees[index]);
	if (f->o->kind == HES_REGRESSOR_FOREST)
		draw_bootstrap(&rng, h->count, f->rows->n);
	return exact_grow(&f->exact, &y, h->count, f->o, &rng, h->exact, &f->trees[index]);
}

static int grow_trees(const struct forest *f)
{
	int failed = 0;

#pragma omp parallel num_threads(grow_threads(f->o->threads, f->n_trees)) reduction(| : failed)
	{
		struct hand h;

		failed = hand_init(f, &h) != 0;
#pragma omp for schedule(dynamic)
		for (size_t i = 0; i < f->n_trees; i++)
			if (!failed)
				failed = grow_tree(f, i, &h) != 0;
		hand_finish(&h);
	}
	return failed ? -ENOMEM : 0;
}

static int join(const struct forest *f, struct ensemble *out)
{
	size_t count[HES_REGRESSOR_MAX_OUTPUTS];
	int rc;

	for (size_t o = 0; o < f->rows->n_outputs; o++)
		count[o] = o * f->o->trees < f->n_trees ? f->o->trees : 0;
	rc = grow_join(f->rows, f->trees, f->o->trees, count, out);
	for (size_t o = 0; !rc && o < f->rows->n_outputs; o++)
		out->scale[o] = 1.0 / f->o->trees;
	return rc;
}

int grow_forest(const struct hes_rows *rows, const struct hes_regressor_options *o, struct ensemble *out)
{
	struct forest f = { .rows = rows, .o = o, .n_outputs = o->joint ? rows->n_outputs : 1 };
	int rc = -ENOMEM;

	hes_rng_seed(&f.rng, o->seed);
	f.n_trees = rows->n_outputs / f.n_outputs * o->trees;
	f.trees = calloc(f.n_trees, sizeof(*f.trees));
	f.even = f.n_outputs > 1 ? joint_even_out(rows) : NULL;
	if (f.trees && (f.even || f.n_outputs == 1))
		rc = o->kind == HES_REGRESSOR_EXTRA_TREES ? random_rows_init(&f.random, rows)
							  : exact_rows_init(&f.exact, rows);
	if (!rc)
		rc = grow_trees(&f);
	if (!rc)
		rc = join(&f, out);
	for (size_t i = 0; i < f.n_trees && f.trees; i++)
		grown_finish(&f.trees[i]);
	free(f.trees);
	free(f.even);
	exact_rows_finish(&f.exact);
	random_rows_finish(&f.random);
	return rc;
}
