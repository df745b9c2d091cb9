/*
 * fairness_arrivals.c - Figure 9: three tenants arrive and depart. All numbers are of the published
 * profiles; the paper does not give the times, so ours are round ones.
 */
#include <math.h>

#include "fairness_study.h"

#define TENANTS 3
#define SECONDS 60

/* Seconds at which something changes, and who is there from then on. */
static const struct {
	unsigned from_s, until_s;
	const char *who;
	size_t n;
} phases[] = { { 0, 10, "A1", 1 },
	       { 10, 20, "A1, A2", 2 },
	       { 20, 40, "A1, A2, A3", 3 },
	       { 40, 50, "A1, A2", 2 },
	       { 50, 60, "A1", 1 } };

#define PHASES (sizeof(phases) / sizeof(phases[0]))

static const char *const names[TENANTS] = { "A1: 1300 MHz", "A2: 1032 MHz", "A3: 726 MHz" };

/* Means over a phase without its first second, in which shares settle. */
static void phase_means(const struct fair_series *v, size_t phase, double time[TENANTS],
			double energy[TENANTS])
{
	const size_t from = phases[phase].from_s + 1, until = phases[phase].until_s;

	for (size_t i = 0; i < TENANTS; i++) {
		time[i] = energy[i] = 0;
		for (size_t k = from; k < until; k++) {
			time[i] += v->time_share[k * TENANTS + i] / (double)(until - from);
			energy[i] += v->energy_share[k * TENANTS + i] / (double)(until - from);
		}
	}
}

static int figure_9_draw(const struct study *s, const struct fair_series *v, struct hes_err *err)
{
	double x[SECONDS + 1], time[TENANTS * (SECONDS + 1)], energy[TENANTS * (SECONDS + 1)];
	struct panel p[2] = {
		{ .title = "time",
		  .x_title = "time, s",
		  .y_title = "share of GPU time, %",
		  .kind = PANEL_STEPS,
		  .series = names,
		  .n_series = TENANTS,
		  .x = x,
		  .y = time,
		  .n = SECONDS + 1,
		  .y_max = 105,
		  .x_max = SECONDS },
		{ .title = "energy",
		  .x_title = "time, s",
		  .y_title = "share of energy, %",
		  .kind = PANEL_STEPS,
		  .series = names,
		  .n_series = TENANTS,
		  .x = x,
		  .y = energy,
		  .n = SECONDS + 1,
		  .y_max = 105,
		  .x_max = SECONDS },
	};

	for (size_t k = 0; k <= SECONDS; k++) {
		size_t from =
			k < SECONDS ? k : SECONDS - 1; /* a step begins where its second does */

		x[k] = (double)k;
		for (size_t i = 0; i < TENANTS; i++) {
			time[i * (SECONDS + 1) + k] = 100 * v->time_share[from * TENANTS + i];
			energy[i * (SECONDS + 1) + k] = 100 * v->energy_share[from * TENANTS + i];
		}
	}
	return study_draw(s, "Figure 9: ResNet50 three times, phi = 0.7", p, 2, "figure9.svg", err);
}

static void figure_9_rows(const struct fair_series *v)
{
	printf("  %-10s %-12s %24s %26s\n", "seconds", "there", "time % of A1, A2, A3",
	       "energy % of A1, A2, A3");
	for (size_t k = 0; k < PHASES; k++) {
		double time[TENANTS], energy[TENANTS];

		phase_means(v, k, time, energy);
		printf("  %2u to %2u   %-12s %10.1f %6.1f %6.1f %12.1f %6.1f %6.1f\n",
		       phases[k].from_s, phases[k].until_s, phases[k].who, 100 * time[0],
		       100 * time[1], 100 * time[2], 100 * energy[0], 100 * energy[1],
		       100 * energy[2]);
	}
}

static void figure_9_check(struct study *s, const struct fair_series *v, const struct shares *got)
{
	double two_time[TENANTS], two[TENANTS], three_time[TENANTS], three[TENANTS];
	uint64_t busy = 0;
	bool kept = true;

	phase_means(v, 1, two_time, two);
	phase_means(v, 2, three_time, three);
	for (size_t i = 0; i < TENANTS; i++) {
		busy += got->u[i].time_ns;
		kept &= three_time[i] > STUDY_PHI / 3 - 0.01;
	}
	study_claim(s, "9",
		    "A1's guaranteed part of the time with A2 (50 % x 0.7; the paper prints 0.45)",
		    0.45, STUDY_PHI / 2);
	study_claim(s, "9", "A1's part of the time with A2", STUDY_NONE, two_time[0]);
	study_claim(s, "9", "A1's part of the energy with A2", 0.5, two[0]);
	study_claim(s, "9", "A1's part of the time with A2 and A3: the guarantee", 0.23,
		    three_time[0]);
	study_claim(s, "9", "energy fairness with A2 and A3", STUDY_NONE,
		    fmin(three[1], three[2]) / three[0]);
	study_claim(s, "9", "part of the GPU time that is used", 1, (double)busy / (SECONDS * 1e9));
	figure_9_rows(v);
	study_must(s, "9", "two tenants have equal energy (within 2 %)",
		   fabs(two[0] / two[1] - 1) < 0.02);
	study_must(s, "9", "each of three tenants has its guaranteed time (within 1 % of the time)",
		   kept);
	study_must(s, "9", "three tenants cannot have equal energy: A1 has more than the others",
		   three[0] > 1.1 * fmax(three[1], three[2]));
	study_must(s, "9", "the GPU is never idle", busy == SECONDS * UINT64_C(1000000000));
}

int figure_9(struct study *s, struct hes_err *err)
{
	static const double mhz[TENANTS] = { 1300, 1032, 726 };
	static const unsigned from_s[TENANTS] = { 0, 10, 20 }, until_s[TENANTS] = { 0, 50, 40 };
	struct study minute = *s;
	struct fair_replay_tenant t[TENANTS];
	struct fair_series series = { .n = TENANTS };
	struct shares got;
	int rc;

	minute.seconds = SECONDS;
	for (size_t i = 0; i < TENANTS; i++) {
		t[i] = study_resnet50(s, mhz[i]);
		t[i].arrival_ns = from_s[i] * UINT64_C(1000000000);
		t[i].departure_ns =
			until_s[i] ? until_s[i] * UINT64_C(1000000000) : FAIR_REPLAY_NEVER;
	}
	rc = study_replay(&minute, STUDY_ETF, STUDY_PHI, t, TENANTS, &series, &got, err);
	if (!rc && series.n_samples == SECONDS) {
		study_heading("9", "three ResNet50 arrive and depart, phi = 0.7 (published "
				   "profiles; times are ours)");
		figure_9_check(s, &series, &got);
		rc = figure_9_draw(s, &series, err);
	} else if (!rc)
		rc = hes_fail(err, -12, "out of memory for shares over time");
	fair_series_free(&series);
	return rc;
}
