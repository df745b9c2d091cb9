/*
 * igniter.c - the partition model on measurements of a real GPU: iGniter's 375 pairs of three
 * networks on a V100.
 *
 * Pairs are held out in several ways. Errors are of each job's latency, so of its slowdown: the
 * latency alone is known. The choice of split is judged by the sum of normalised throughputs, each
 * against the latency alone at 80 % of the SMs.
 *
 * Exit status: 0; 1 the run failed; 2 wrong usage; 77 no data.
 */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "chart.h"
#include "igniter_learners.h"
#include "parts.h"
#include "usage.h"

#define SKIP  77
#define EQUAL 50 /* percent */

struct options {
	const char *output;
	uint64_t threads;
	bool quick;
};

enum scheme { KNOWN_SPLIT, NEW_PAIR, NEW_NETWORK, KNOWN_BATCH, KNOWN_BATCHES, SCHEMES };

#define QUICK_SCHEMES 3 /* the first ones, which have few training sets */

static const struct {
	const char *name, *column;
	bool whole; /* all splits of a setting are held out together, so that the choice among them
		       can be judged */
} schemes[SCHEMES] = {
	[KNOWN_SPLIT] = { "(a) one split of a known pair of networks", "split", false },
	[NEW_PAIR] = { "(c) a pair of networks", "pair", true },
	[NEW_NETWORK] = { "(b) a network that is in no pair", "network", true },
	[KNOWN_BATCH] = { "(a) all with one batch size of one network of a known pair", "batch",
			  true },
	[KNOWN_BATCHES] = { "(a) one pair of batch sizes of a known pair", "batches", true },
};

/* One way to hold out pairs: a number that the pairs held out have in common. */
struct fold {
	enum scheme scheme;
	size_t key;
};

/* Sums over what was held out. */
struct score {
	double error;
	size_t n;
	double loss, worst;
	size_t hits, choices;
};

struct contest {
	const struct igniter *d;
	int n_schemes;
	struct fold *folds;
	size_t n_folds;
	struct score (*scores)[IGNITER_LEARNERS]; /* by fold */
};

#define MAX_FOLDS 1000

static bool held_out(const struct igniter *d, const struct igniter_pair *p, const struct fold *f)
{
	const struct igniter_alone *a = &d->alone[p->alone[0]], *b = &d->alone[p->alone[1]];

	switch (f->scheme) {
	case KNOWN_SPLIT:
		return f->key == p->networks * 128 + a->sm_pct;
	case KNOWN_BATCHES:
		return f->key == p->setting;
	case KNOWN_BATCH:
		return f->key == (p->networks * 2 + 0) * 64 + a->batch ||
		       f->key == (p->networks * 2 + 1) * 64 + b->batch;
	case NEW_PAIR:
		return f->key == p->networks;
	default:
		return f->key == a->network || f->key == b->network;
	}
}

static void add_fold(struct contest *c, enum scheme scheme, size_t key)
{
	if ((int)scheme >= c->n_schemes)
		return;
	for (size_t i = 0; i < c->n_folds; i++)
		if (c->folds[i].scheme == scheme && c->folds[i].key == key)
			return;
	if (c->n_folds < MAX_FOLDS)
		c->folds[c->n_folds++] = (struct fold){ scheme, key };
}

static void make_folds(struct contest *c)
{
	const struct igniter *d = c->d;

	for (size_t i = 0; i < d->n_pairs; i++) {
		const struct igniter_pair *p = &d->pairs[i];
		const struct igniter_alone *a = &d->alone[p->alone[0]], *b = &d->alone[p->alone[1]];

		add_fold(c, KNOWN_SPLIT, p->networks * 128 + a->sm_pct);
		add_fold(c, KNOWN_BATCHES, p->setting);
		add_fold(c, KNOWN_BATCH, (p->networks * 2 + 0) * 64 + a->batch);
		add_fold(c, KNOWN_BATCH, (p->networks * 2 + 1) * 64 + b->batch);
		add_fold(c, NEW_PAIR, p->networks);
		add_fold(c, NEW_NETWORK, a->network);
		add_fold(c, NEW_NETWORK, b->network);
	}
}

/* Sum of normalised throughputs with these slowdowns. */
static double work_of(const struct igniter *d, const struct igniter_pair *p,
		      const double slowdown[2])
{
	double sum = 0;

	for (size_t k = 0; k < 2; k++)
		sum += d->alone[p->whole[k]].latency_ms /
		       (d->alone[p->alone[k]].latency_ms * slowdown[k]);
	return sum;
}

/* The splits of the setting that @first is the first of: what the predicted best loses against the
 * measured best. */
static void add_choice(const struct igniter *d, size_t first, double (*predicted)[2],
		       struct score *to)
{
	double most = -INFINITY, best = 0, chosen = 0;

	for (size_t i = first; i < d->n_pairs; i++) {
		const struct igniter_pair *p = &d->pairs[i];
		double measured;

		if (p->setting != d->pairs[first].setting)
			continue;
		measured = work_of(d, p, p->slowdown);
		best = fmax(best, measured);
		if (work_of(d, p, predicted[i]) > most) {
			most = work_of(d, p, predicted[i]);
			chosen = measured;
		}
	}
	to->loss += 1 - chosen / best;
	to->worst = fmax(to->worst, 1 - chosen / best);
	to->hits += chosen == best;
	to->choices++;
}

static bool first_of_setting(const struct igniter *d, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (d->pairs[k].setting == d->pairs[i].setting)
			return false;
	return true;
}

static void add_score(const struct igniter *d, const bool *use, bool whole, double (*predicted)[2],
		      struct score *to)
{
	for (size_t i = 0; i < d->n_pairs; i++) {
		if (use[i])
			continue;
		for (size_t k = 0; k < 2; k++)
			to->error += fabs(predicted[i][k] / d->pairs[i].slowdown[k] - 1);
		to->n += 2;
		if (whole && first_of_setting(d, i))
			add_choice(d, i, predicted, to);
	}
}

static int run_fold(void *ctx, size_t i, struct hes_err *err)
{
	struct contest *c = ctx;
	bool *use = malloc(c->d->n_pairs * sizeof(*use));
	double(*predicted)[2] = malloc(c->d->n_pairs * sizeof(*predicted));
	int rc = use && predicted ? 0 : hes_fail(err, -ENOMEM, "out of memory for predictions");

	for (size_t k = 0; k < c->d->n_pairs && !rc; k++)
		use[k] = !held_out(c->d, &c->d->pairs[k], &c->folds[i]);
	for (size_t k = 0; k < IGNITER_LEARNERS && !rc; k++) {
		rc = igniter_learners[k].learn(c->d, use, predicted, err);
		if (!rc)
			add_score(c->d, use, schemes[c->folds[i].scheme].whole, predicted,
				  &c->scores[i][k]);
	}
	free(use);
	free(predicted);
	return rc;
}

static struct score total(const struct contest *c, enum scheme scheme, size_t learner)
{
	struct score sum = { 0 };

	for (size_t i = 0; i < c->n_folds; i++) {
		const struct score *s = &c->scores[i][learner];

		if (c->folds[i].scheme != scheme)
			continue;
		sum.error += s->error;
		sum.n += s->n;
		sum.loss += s->loss;
		sum.worst = fmax(sum.worst, s->worst);
		sum.hits += s->hits;
		sum.choices += s->choices;
	}
	return sum;
}

static void print_errors(const struct contest *c)
{
	printf("\nMean |predicted / measured - 1| of slowdowns, %%, by what was held out\n");
	for (int s = 0; s < c->n_schemes; s++)
		printf("  %-8s %s\n", schemes[s].column, schemes[s].name);
	printf("%-30s", "");
	for (int s = 0; s < c->n_schemes; s++)
		printf("%9s", schemes[s].column);
	for (size_t k = 0; k < IGNITER_LEARNERS; k++) {
		printf("\n%-30s", igniter_learners[k].name);
		for (int s = 0; s < c->n_schemes; s++) {
			struct score t = total(c, (enum scheme)s, k);

			printf("%9.2f", 100 * t.error / (double)t.n);
		}
	}
	putchar('\n');
}

static void print_choices(const struct contest *c)
{
	printf("\nChoice of split: loss of the sum of normalised throughputs, %% (mean, worst), "
	       "and how often it is the best, %%\n%-30s",
	       "");
	for (int s = 0; s < c->n_schemes; s++)
		if (schemes[s].whole)
			printf("%20s", schemes[s].column);
	for (size_t k = 0; k < IGNITER_LEARNERS; k++) {
		printf("\n%-30s", igniter_learners[k].name);
		for (int s = 0; s < c->n_schemes; s++) {
			struct score t = total(c, (enum scheme)s, k);

			if (schemes[s].whole)
				printf("%8.3f %6.2f %4.0f", 100 * t.loss / (double)t.choices,
				       100 * t.worst, 100 * (double)t.hits / (double)t.choices);
		}
	}
	putchar('\n');
}

/* What the same split for every pair would lose. */
static void print_equal(const struct igniter *d)
{
	double loss = 0, worst = 0;
	size_t n = 0;

	for (size_t i = 0; i < d->n_pairs; i++) {
		const struct igniter_pair *p = &d->pairs[i];
		double best = 0, lost;

		if (d->alone[p->alone[0]].sm_pct != EQUAL)
			continue;
		for (size_t k = 0; k < d->n_pairs; k++)
			if (d->pairs[k].setting == p->setting)
				best = fmax(best, work_of(d, &d->pairs[k], d->pairs[k].slowdown));
		lost = 1 - work_of(d, p, p->slowdown) / best;
		loss += lost;
		worst = fmax(worst, lost);
		n++;
	}
	printf("always 50/50: %.2f on average, %.2f at worst\n", 100 * loss / (double)n,
	       100 * worst);
}

static int write_csv(const struct contest *c, const char *folder, struct hes_err *err)
{
	char path[PATH_MAX];
	struct hes_file out;
	int rc;

	snprintf(path, sizeof(path), "%s/igniter.csv", folder);
	rc = hes_file_create(&out, path, err);
	if (rc)
		return rc;
	fputs("learner,held_out,slowdown_error_pct,choice_loss_pct,worst_choice_loss_pct\n", out.f);
	for (size_t k = 0; k < IGNITER_LEARNERS; k++)
		for (int s = 0; s < c->n_schemes; s++) {
			struct score t = total(c, (enum scheme)s, k);

			fprintf(out.f, "\"%s\",%s,%.4f,", igniter_learners[k].name,
				schemes[s].column, 100 * t.error / (double)t.n);
			if (t.choices)
				fprintf(out.f, "%.4f,%.4f", 100 * t.loss / (double)t.choices,
					100 * t.worst);
			else
				fputc(',', out.f);
			fputc('\n', out.f);
		}
	return hes_file_commit(&out, err);
}

static int draw(const struct contest *c, const char *folder, struct hes_err *err)
{
	const char *series[SCHEMES], *groups[IGNITER_LEARNERS];
	double y[SCHEMES * IGNITER_LEARNERS];

	for (int s = 0; s < c->n_schemes; s++)
		for (size_t k = 0; k < IGNITER_LEARNERS; k++) {
			struct score t = total(c, (enum scheme)s, k);

			series[s] = schemes[s].column;
			groups[k] = igniter_learners[k].name;
			y[(size_t)s * IGNITER_LEARNERS + k] = 100 * t.error / (double)t.n;
		}
	return chart_draw(
		&(struct chart){ .title = "iGniter, V100: error of slowdowns by what was held out",
				 .x_title = "",
				 .bars = true,
				 .y_title = "mean error, %",
				 .series = series,
				 .n_series = (size_t)c->n_schemes,
				 .groups = groups,
				 .y = y,
				 .n = IGNITER_LEARNERS },
		folder, "igniter.svg", err);
}

static int evaluate(const struct igniter *d, const struct options *o, struct hes_err *err)
{
	struct contest c = { .d = d,
			     .n_schemes = o->quick ? QUICK_SCHEMES : SCHEMES,
			     .folds = calloc(MAX_FOLDS, sizeof(*c.folds)),
			     .scores = calloc(MAX_FOLDS, sizeof(*c.scores)) };
	int rc = c.folds && c.scores ? hes_folder_create(o->output, err)
				     : hes_fail(err, -ENOMEM, "out of memory for scores");

	if (!rc) {
		make_folds(&c);
		fprintf(stderr, "igniter: %zu pairs, %zu training sets\n", d->n_pairs, c.n_folds);
		rc = parts_run(c.n_folds, o->threads, run_fold, &c, err);
	}
	if (!rc) {
		print_errors(&c);
		print_choices(&c);
		print_equal(d);
		rc = write_csv(&c, o->output, err);
	}
	if (!rc)
		rc = draw(&c, o->output, err);
	free(c.folds);
	free(c.scores);
	return rc;
}

/* clang-format off */
static const struct opt option_table[] = {
	{ .name = "output", .kind = OPT_TEXT, .offset = offsetof(struct options, output),
	  .arg = "DIR", .def = ".",
	  .help = "write the CSV file and the picture here" },
	{ .name = "threads", .kind = OPT_U64, .offset = offsetof(struct options, threads),
	  .arg = "N", .def = "0", .max = 256,
	  .help = "0: all processors" },
	{ .name = "quick", .kind = OPT_FLAG, .offset = offsetof(struct options, quick),
	  .help = "fewer ways to hold out pairs; for tests" },
	{ .name = NULL },
};
/* clang-format on */

static const struct command igniter = {
	.name = "igniter",
	.args = "DATA",
	.min_args = 1,
	.max_args = 1,
	.opts = option_table,
	.opts_size = sizeof(struct options),
	.summary = "Slowdowns and choices of split on iGniter's pairs; DATA is the folder of "
		   "solo_mps.csv and pair_mps.csv.",
};

int main(int argc, char **argv)
{
	struct options o = { 0 };
	struct igniter d;
	struct hes_err err;
	int status, rc;

	if (usage_parse(&igniter, argc, argv, &o, &status) < 0)
		return status;
	if (access(argv[1], R_OK)) {
		fprintf(stderr, "igniter: no data in %s; skipped\n", argv[1]);
		return SKIP;
	}
	rc = igniter_open(argv[1], &d, &err);
	if (!rc)
		rc = evaluate(&d, &o, &err);
	igniter_close(&d);
	if (rc)
		fprintf(stderr, "igniter: %s\n", err.msg);
	return rc != 0;
}
