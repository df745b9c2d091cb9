/*
 * fairness_rounds.c - Figure 3: Algorithm 1 round by round for three tenants of 2, 3 and 8 W, 30
 * quanta, phi = 0.7; and the same slices through the run queue.
 */
#include <inttypes.h>
#include <string.h>

#include "fair/slices.h"
#include "slices_plain.h"
#include "fairness_study.h"

#define TENANTS 3
#define ROUNDS  5 /* after the guarantee */

static const char *const round_names[ROUNDS + 1] = { "guaranteed", "round 1", "round 2",
						     "round 3",    "round 4", "round 5" };

/* A round is a run of quanta to one tenant. */
struct rounds {
	uint64_t slices[ROUNDS + 1][TENANTS];
	size_t n, last;
};

static void round_note(size_t tenant, const uint64_t *slices, void *ctx)
{
	struct rounds *r = ctx;

	if ((tenant != r->last || !r->n) && r->n < ROUNDS)
		r->n++;
	r->last = tenant;
	memcpy(r->slices[r->n], slices, sizeof(r->slices[0]));
}

static int queue_slices(uint64_t seconds[TENANTS], double energy_j[TENANTS], const double *power_w,
			struct hes_err *err)
{
	const struct fair_replay_config c = { .queue = { &hes_fair_policies[STUDY_ETF], STUDY_PHI,
							 30, UINT64_C(1000000000) },
					      .duration_ns = UINT64_C(30000000000) };
	struct fair_replay_tenant t[TENANTS];
	struct fair_replay_usage u[TENANTS];
	int rc;

	for (size_t i = 0; i < TENANTS; i++)
		t[i] = study_tenant(power_w[i], 0);
	rc = fair_replay(&c, t, TENANTS, NULL, NULL, u, err);
	for (size_t i = 0; i < TENANTS && !rc; i++) {
		seconds[i] = u[i].time_ns / UINT64_C(1000000000);
		energy_j[i] = u[i].energy_j;
	}
	return rc;
}

static int figure_3_draw(const struct study *s, const struct rounds *r, const double *power_w,
			 struct hes_err *err)
{
	static const char *const groups[] = { "A: 2 W", "B: 3 W", "C: 8 W" };
	double time[(ROUNDS + 1) * TENANTS], energy[(ROUNDS + 1) * TENANTS];
	struct panel p[2] = {
		{ .title = "time",
		  .x_title = "tenant",
		  .y_title = "quanta",
		  .kind = PANEL_STACKS,
		  .series = round_names,
		  .n_series = ROUNDS + 1,
		  .groups = groups,
		  .y = time,
		  .n = TENANTS,
		  .y_max = 16 },
		{ .title = "energy",
		  .x_title = "tenant",
		  .y_title = "energy, J (a quantum is 1 s)",
		  .kind = PANEL_STACKS,
		  .series = round_names,
		  .n_series = ROUNDS + 1,
		  .groups = groups,
		  .y = energy,
		  .n = TENANTS,
		  .y_max = 60 },
	};

	for (size_t k = 0; k <= ROUNDS; k++)
		for (size_t i = 0; i < TENANTS; i++) {
			time[k * TENANTS + i] =
				(double)(r->slices[k][i] - (k ? r->slices[k - 1][i] : 0));
			energy[k * TENANTS + i] = time[k * TENANTS + i] * power_w[i];
		}
	return study_draw(s, "Figure 3: Algorithm 1 at work, phi = 0.7", p, 2, "figure3.svg", err);
}

int figure_3(struct study *s, struct hes_err *err)
{
	static const uint64_t paper[3][TENANTS] = { { 7, 7, 7 }, { 11, 7, 7 }, { 14, 9, 7 } };
	static const double power_w[TENANTS] = { 2, 3, 8 };
	struct hes_fair_tenant t[TENANTS];
	const struct hes_fair_request r = { &hes_fair_policies[STUDY_ETF], 30, STUDY_PHI, t,
					    TENANTS };
	struct rounds rounds = { .n = 0 };
	uint64_t slices[TENANTS], seconds[TENANTS];
	double energy_j[TENANTS];
	int rc;

	for (size_t i = 0; i < TENANTS; i++)
		t[i] = (struct hes_fair_tenant){ power_w[i], 1, HES_FAIR_BACKLOGGED };
	fair_guarantee(&r, rounds.slices[0]);
	rc = fair_slices_plain(&r, slices, round_note, &rounds, err);
	if (!rc)
		rc = queue_slices(seconds, energy_j, power_w, err);
	if (rc)
		return rc;
	printf("\nFigure 3: 30 quanta, A 2 W, B 3 W, C 8 W, phi = 0.7\n%-32s %16s %20s\n", "",
	       "quanta A, B, C", "energy A, B, C");
	for (size_t k = 0; k <= rounds.n; k++) {
		const uint64_t *v = rounds.slices[k];

		printf("  %-30s %6" PRIu64 " %4" PRIu64 " %4" PRIu64 " %8.0f %5.0f %5.0f\n",
		       round_names[k], v[0], v[1], v[2], power_w[0] * (double)v[0],
		       power_w[1] * (double)v[1], power_w[2] * (double)v[2]);
	}
	printf("  %-30s %6" PRIu64 " %4" PRIu64 " %4" PRIu64 " %8.0f %5.0f %5.0f\n",
	       "through the run queue, 30 s", seconds[0], seconds[1], seconds[2], energy_j[0],
	       energy_j[1], energy_j[2]);
	study_must(s, "3",
		   "after the guarantee 7, 7, 7; after round 1 11, 7, 7; after round 5 14, 9, 7",
		   rounds.n == ROUNDS && !memcmp(rounds.slices[0], paper[0], sizeof(paper[0])) &&
			   !memcmp(rounds.slices[1], paper[1], sizeof(paper[1])) &&
			   !memcmp(rounds.slices[ROUNDS], paper[2], sizeof(paper[2])));
	study_must(s, "3", "the run queue gives 14, 9 and 7 s, and 28, 27 and 56 J",
		   !memcmp(seconds, paper[2], sizeof(paper[2])) && energy_j[0] == 28 &&
			   energy_j[1] == 27 && energy_j[2] == 56);
	return figure_3_draw(s, &rounds, power_w, err);
}
