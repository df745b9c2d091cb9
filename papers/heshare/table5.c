/*
 * table5.c - the two learners of Table V that heshare has none of: support
 * vector regression by libsvm and a perceptron by FANN, as good as a user of
 * either could reasonably make them. Built and called by table5.py.
 *
 * table5 svr|mlp FIT TEST TARGETS SEED reads two CSV files and prints the
 * predictions for TEST's rows as CSV. Columns that are not among TARGETS
 * (commas between them) are features; features and targets are standardised
 * by the fit rows' mean and deviation.
 */
#include <doublefann.h>
#include <libsvm/svm.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "number_table.h"

#define MAX_TARGETS 8

/* Standardised rows: x row by row; y of one target at a time. */
struct rows {
	size_t n, features;
	double *x;
	double *y;
};

struct scale {
	double mean, deviation;
};

static void die(const char *why)
{
	fprintf(stderr, "table5: %s\n", why);
	exit(1);
}

static void *room(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size);

	if (!p)
		die("out of memory");
	return p;
}

static struct scale scale_of(const struct hes_table *t, size_t column)
{
	struct scale s = { 0, 0 };

	for (size_t i = 0; i < t->n_rows; i++)
		s.mean += t->v[i * t->n_columns + column] / (double)t->n_rows;
	for (size_t i = 0; i < t->n_rows; i++)
		s.deviation += pow(t->v[i * t->n_columns + column] - s.mean, 2) / (double)t->n_rows;
	s.deviation = s.deviation > 0 ? sqrt(s.deviation) : 1;
	return s;
}

/* libsvm's rows: index and value, -1 ends one. */
static struct svm_node **nodes_of(const struct rows *r)
{
	struct svm_node **list = room(r->n, sizeof(struct svm_node *));

	for (size_t i = 0; i < r->n; i++) {
		list[i] = room(r->features + 1, sizeof(**list));
		for (size_t f = 0; f < r->features; f++)
			list[i][f] = (struct svm_node){ (int)f + 1, r->x[i * r->features + f] };
		list[i][r->features].index = -1;
	}
	return list;
}

static void nodes_free(struct svm_node **list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(list[i]);
	free(list);
}

static void quiet(const char *text)
{
	(void)text;
}

struct svr_search {
	struct svm_problem problem;
	struct svm_parameter best;
	double best_error;
	unsigned seed;
	double *held_out; /* predictions of cross-validation */
};

/* Keep @p if its mean absolute error in three-fold cross-validation is the least so far. */
static void try_svr(struct svr_search *s, struct svm_parameter p)
{
	double error = 0;

	srand(s->seed); /* the same folds for all */
	svm_cross_validation(&s->problem, &p, 3, s->held_out);
	for (int i = 0; i < s->problem.l; i++)
		error += fabs(s->held_out[i] - s->problem.y[i]) / s->problem.l;
	if (error < s->best_error) {
		s->best_error = error;
		s->best = p;
	}
}

/* A coarse grid of C and gamma, its neighbourhood at half the step, then the width of the tube. */
static void search_svr(struct svr_search *s, double features)
{
	struct svm_parameter p = { .svm_type = EPSILON_SVR,
				   .kernel_type = RBF,
				   .cache_size = 100,
				   .eps = 5e-2,
				   .p = 0.03,
				   .shrinking = 1 };

	for (int c = 0; c <= 4; c++)
		for (int g = -2; g <= 1; g++) {
			p.C = pow(4, c);
			p.gamma = pow(4, g) / features;
			try_svr(s, p);
		}
	for (int around = 0; around < 4; around++) {
		p = s->best;
		p.C *= around == 0 ? 2 : around == 1 ? 0.5 : 1;
		p.gamma *= around == 2 ? 2 : around == 3 ? 0.5 : 1;
		try_svr(s, p);
	}
	for (int e = 0; e < 3; e++) {
		p = s->best;
		p.p = (const double[]){ 0.003, 0.01, 0.1 }[e];
		try_svr(s, p);
	}
}

static void svr(const struct rows *fit, const struct rows *test, uint64_t seed, double *out)
{
	struct svm_node **x = nodes_of(fit), **test_nodes = nodes_of(test);
	struct svr_search s = { .problem = { (int)fit->n, fit->y, x },
				.best_error = INFINITY,
				.seed = (unsigned)seed,
				.held_out = room(fit->n, sizeof(double)) };
	struct svm_model *model;

	svm_set_print_string_function(quiet);
	search_svr(&s, (double)fit->features);
	s.best.eps = 1e-3;
	model = svm_train(&s.problem, &s.best);
	for (size_t i = 0; i < test->n; i++)
		out[i] = svm_predict(model, test_nodes[i]);
	fprintf(stderr, "svr: C %g, gamma %g, epsilon %g, error in cross-validation %.4f\n",
		s.best.C, s.best.gamma, s.best.p, s.best_error);
	svm_free_and_destroy_model(&model);
	nodes_free(x, fit->n);
	nodes_free(test_nodes, test->n);
	free(s.held_out);
}

/* Hidden layers tried. */
static const unsigned sizes[][2] = { { 32, 16 }, { 64, 32 } };

#define RESTARTS   2
#define MAX_EPOCHS 1500
#define PATIENCE   150  /* epochs without gain on the rows held back */
#define HELD_BACK  0.15 /* of the fit rows, to stop on */

struct perceptron {
	struct fann *net;
	double error; /* on the rows held back */
};

static double error_on(struct fann *net, const struct rows *r)
{
	double sum = 0;

	for (size_t i = 0; i < r->n; i++)
		sum += fabs(*fann_run(net, r->x + i * r->features) - r->y[i]) / (double)r->n;
	return sum;
}

static struct fann *new_net(unsigned features, const unsigned *hidden, uint64_t seed)
{
	struct fann *net = fann_create_standard(4, features, hidden[0], hidden[1], 1);
	unsigned n = net ? fann_get_total_connections(net) : 0;
	struct fann_connection *c = room(n, sizeof(*c));
	struct hes_rng rng;

	if (!net)
		die("out of memory");
	fann_set_activation_function_hidden(net, FANN_SIGMOID_SYMMETRIC);
	fann_set_activation_function_output(net, FANN_LINEAR);
	fann_set_activation_steepness_hidden(net, 0.5);
	fann_set_training_algorithm(net, FANN_TRAIN_RPROP);
	fann_set_train_error_function(net, FANN_ERRORFUNC_LINEAR);
	hes_rng_seed(&rng, seed); /* FANN's own seed is the clock */
	fann_get_connection_array(net, c);
	for (unsigned i = 0; i < n; i++)
		c[i].weight = 0.7 * hes_rng_normal(&rng) / sqrt(features);
	fann_set_weight_array(net, c, n);
	free(c);
	return net;
}

static struct fann_train_data *data_of(const struct rows *r)
{
	struct fann_train_data *d = fann_create_train((unsigned)r->n, (unsigned)r->features, 1);

	if (!d)
		die("out of memory");
	for (size_t i = 0; i < r->n; i++) {
		memcpy(d->input[i], r->x + i * r->features, r->features * sizeof(double));
		d->output[i][0] = r->y[i];
	}
	return d;
}

/* Resilient propagation until the held back rows gain no more; the best state on the way. */
static struct perceptron train_net(struct fann *net, struct fann_train_data *data,
				   const struct rows *held)
{
	struct perceptron best = { NULL, INFINITY };
	int since = 0;

	for (int epoch = 0; epoch < MAX_EPOCHS && since < PATIENCE; epoch++, since++) {
		double error;

		fann_train_epoch(net, data);
		error = error_on(net, held);
		if (error >= best.error)
			continue;
		if (best.net)
			fann_destroy(best.net);
		best = (struct perceptron){ fann_copy(net), error };
		since = 0;
	}
	fann_destroy(net);
	return best;
}

/* Of every size and start, the net that does best on the rows held back. */
static void mlp(const struct rows *fit, const struct rows *test, uint64_t seed, double *out)
{
	size_t n_held = (size_t)(HELD_BACK * (double)fit->n);
	const struct rows held = { n_held, fit->features, fit->x, fit->y };
	const struct rows rest = { fit->n - n_held, fit->features, fit->x + n_held * fit->features,
				   fit->y + n_held };
	struct fann_train_data *data = data_of(&rest);
	struct perceptron best = { NULL, INFINITY };

	for (unsigned s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
		for (unsigned start = 0; start < RESTARTS; start++) {
			struct perceptron p = train_net(new_net((unsigned)fit->features, sizes[s],
								seed * 1000 + s * RESTARTS + start),
							data, &held);

			if (p.error < best.error) {
				struct perceptron swap = best;

				best = p;
				p = swap;
			}
			if (p.net)
				fann_destroy(p.net);
		}
	if (!best.net)
		die("no net came of it");
	for (size_t i = 0; i < test->n; i++)
		out[i] = *fann_run(best.net, test->x + i * test->features);
	fprintf(stderr, "mlp: %u connections, error on the rows held back %.4f\n",
		fann_get_total_connections(best.net), best.error);
	fann_destroy(best.net);
	fann_destroy_train(data);
}

static const struct {
	const char *name;
	void (*learn)(const struct rows *fit, const struct rows *test, uint64_t seed, double *out);
} learners[] = { { "svr", svr }, { "mlp", mlp } };

struct files {
	struct hes_table fit, test;
	char *list;
	size_t targets[MAX_TARGETS]; /* columns */
	size_t n_targets;
};

static void load(struct files *f, char **argv)
{
	struct hes_err err;
	const char **names;
	char *rest, *name;

	if (hes_table_load(argv[2], NULL, &f->fit, &err))
		die(err.msg);
	names = room(f->fit.n_columns, sizeof(*names));
	for (size_t i = 0; i < f->fit.n_columns; i++)
		names[i] = f->fit.names[i];
	if (hes_table_load(argv[3],
			   &(struct hes_table_wanted){ .columns = { names, f->fit.n_columns } },
			   &f->test, &err))
		die(err.msg);
	free(names);
	f->list = strdup(argv[4]);
	for (name = strtok_r(f->list, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
		int column = hes_table_find(&f->fit, name);

		if (column < 0 || f->n_targets == MAX_TARGETS)
			die("no such target, or too many");
		f->targets[f->n_targets++] = (size_t)column;
	}
	if (!f->n_targets)
		die("no target");
}

static bool is_target(const struct files *f, size_t column)
{
	for (size_t i = 0; i < f->n_targets; i++)
		if (f->targets[i] == column)
			return true;
	return false;
}

/* Features of either file by the fit file's scales. */
static struct rows standardised(const struct files *f, const struct hes_table *t)
{
	struct rows r = { t->n_rows, f->fit.n_columns - f->n_targets, NULL,
			  room(t->n_rows, sizeof(double)) };
	size_t to = 0;

	r.x = room(r.n * r.features, sizeof(double));
	for (size_t c = 0; c < t->n_columns; c++) {
		struct scale s = scale_of(&f->fit, c);

		if (is_target(f, c))
			continue;
		for (size_t i = 0; i < r.n; i++)
			r.x[i * r.features + to] =
				(t->v[i * t->n_columns + c] - s.mean) / s.deviation;
		to++;
	}
	return r;
}

int main(int argc, char **argv)
{
	void (*learn)(const struct rows *, const struct rows *, uint64_t, double *) = NULL;
	struct files f = { 0 };
	struct rows fit, test;
	double *out;

	for (size_t i = 0; argc == 6 && i < sizeof(learners) / sizeof(learners[0]); i++)
		if (strcmp(argv[1], learners[i].name) == 0)
			learn = learners[i].learn;
	if (!learn)
		die("usage: table5 svr|mlp FIT TEST TARGETS SEED");
	load(&f, argv);
	fit = standardised(&f, &f.fit);
	test = standardised(&f, &f.test);
	out = room(test.n * f.n_targets, sizeof(*out));
	for (size_t k = 0; k < f.n_targets; k++) {
		struct scale s = scale_of(&f.fit, f.targets[k]);

		for (size_t i = 0; i < fit.n; i++)
			fit.y[i] = (f.fit.v[i * f.fit.n_columns + f.targets[k]] - s.mean) /
				   s.deviation;
		learn(&fit, &test, strtoull(argv[5], NULL, 10), out + k * test.n);
		for (size_t i = 0; i < test.n; i++)
			out[k * test.n + i] = out[k * test.n + i] * s.deviation + s.mean;
	}
	puts(argv[4]);
	for (size_t i = 0; i < test.n; i++)
		for (size_t k = 0; k < f.n_targets; k++)
			printf("%.9g%c", out[k * test.n + i], k + 1 < f.n_targets ? ',' : '\n');
	return 0;
}
