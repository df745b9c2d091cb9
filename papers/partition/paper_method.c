/*
 * paper_method.c - features and outputs of the paper's method; see paper_method.h.
 */
#include "paper_method.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* Iterations a second that each percent of the SMs adds: the slope of a straight line. */
static double sensitivity_of(const struct hes_share_profile *p)
{
	double n = (double)p->n, x = 0, y = 0, xx = 0, xy = 0;

	for (size_t i = 0; i < p->n; i++) {
		x += p->at[i].sm_pct;
		y += p->at[i].rate;
		xx += p->at[i].sm_pct * p->at[i].sm_pct;
		xy += p->at[i].sm_pct * p->at[i].rate;
	}
	return (n * xy - x * y) / (n * xx - x * x);
}

void paper_features(const struct testbed *t, const struct co_run_set *s, float out[PAPER_RATE])
{
	double sum[PAPER_RATE] = { 0 };

	for (size_t i = 0; i < s->n; i++) {
		struct hes_share_point alone;

		hes_share_profile_at(t->profile[s->job[i]], s->sm_pct[i], &alone);
		for (size_t m = 0; m < HES_METRICS; m++) {
			bool raw = m == HES_METRIC_PCIE_TX || m == HES_METRIC_PCIE_RX;

			sum[m] += alone.metric[m] / (raw ? 1 : (double)s->n);
		}
		sum[HES_METRICS] += sensitivity_of(t->profile[s->job[i]]);
		sum[HES_METRICS + 1] += alone.rate;
	}
	for (size_t k = 0; k < PAPER_RATE; k++)
		out[k] = (float)sum[k];
}

/* The paper's features of all pairs, scaled by the least and greatest value of the rows to learn
 * from. @param x  [feature * pairs + pair] */
static void put_scaled(const struct testbed *t, const bool *use, float *x)
{
	const size_t n = t->pairs.n;
	float row[PAPER_RATE];

	for (size_t i = 0; i < n; i++) {
		paper_features(t, &t->pairs.v[i], row);
		for (size_t k = 0; k < PAPER_RATE; k++)
			x[k * n + i] = row[k];
	}
	for (size_t k = 0; k < PAPER_RATE; k++) {
		float low = INFINITY, high = -INFINITY;

		for (size_t i = 0; i < n; i++)
			if (use[i]) {
				low = fminf(low, x[k * n + i]);
				high = fmaxf(high, x[k * n + i]);
			}
		for (size_t i = 0; i < n && high > low; i++)
			x[k * n + i] = (x[k * n + i] - low) / (high - low);
	}
}

/* What is learnt from: room for all pairs. */
struct room {
	float *all, *x;
	double *y;
};

static int room_open(struct room *r, size_t n, struct hes_err *err)
{
	r->all = malloc(n * PAPER_RATE * sizeof(*r->all));
	r->x = malloc(n * PAPER_RATE * sizeof(*r->x));
	r->y = malloc(n * sizeof(*r->y));
	return r->all && r->x && r->y ? 0 : hes_fail(err, -ENOMEM, "out of memory for %zu rows", n);
}

static void room_close(struct room *r)
{
	free(r->all);
	free(r->x);
	free(r->y);
}

/* Learn one output with the paper's features, and predict it of all pairs. */
static int learn_output(const struct testbed *t, const bool *use, const struct room *r,
			enum learner learner, bool power, uint64_t seed, uint32_t trees,
			struct predicted *p, double *fit_s, struct hes_err *err)
{
	struct training_rows rows = {
		.x = r->x, .y = r->y, .n_features = power ? PAPER_POWER : PAPER_RATE, .n_outputs = 1
	};
	struct learnt l;
	int rc;

	for (size_t i = 0; i < t->pairs.n; i++)
		rows.n += use[i];
	for (size_t i = 0, at = 0; i < t->pairs.n; i++) {
		const struct co_run_set *s = &t->pairs.v[i];

		for (size_t k = 0; k < rows.n_features && use[i]; k++)
			r->x[k * rows.n + at] = r->all[k * t->pairs.n + i];
		if (use[i])
			r->y[at++] = power ? s->measured_power_w : s->measured_rate;
	}
	rc = learner_fit(learner, &rows, seed + power, trees, &l, err);
	if (rc)
		return rc;
	for (size_t i = 0; i < t->pairs.n; i++) {
		float row[PAPER_RATE];

		for (size_t k = 0; k < rows.n_features; k++)
			row[k] = r->all[k * t->pairs.n + i];
		*(power ? &p[i].power_w : &p[i].rate) = learnt_predict(&l, row);
	}
	*fit_s += l.fit_s;
	learnt_free(&l);
	return 0;
}

int paper_method_learn(const struct testbed *t, const bool *use, enum learner learner,
		       uint64_t seed, uint32_t trees, struct predicted *p, double *fit_s,
		       struct hes_err *err)
{
	struct room r;
	int rc = room_open(&r, t->pairs.n, err);

	if (!rc)
		put_scaled(t, use, r.all);
	for (int power = 0; power < 2 && !rc; power++)
		rc = learn_output(t, use, &r, learner, power, seed, trees, p, fit_s, err);
	room_close(&r);
	return rc;
}
