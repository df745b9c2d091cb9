/*
 * fairness_extremes.c - Figures 2 and 5: equal time, equal energy and the balance, for two tenants;
 * and the power ratios that the paper's numbers imply.
 */
#include <math.h>

#include "fairness_study.h"

static const char *const policy_names[STUDY_POLICIES] = { "time (TF)", "energy (EF)",
							  "ETF, phi 0.7" };
static const char *const tenants[] = { "A1: ResNet50, 1300 MHz", "A2: MobileNetV2, 726 MHz" };

/* Bars of two tenants for the first @n policies: parts of the time, of the energy. */
static int bars_draw(const struct study *s, const struct shares *got, size_t n, const char *title,
		     const char *name, struct hes_err *err)
{
	double time[2 * STUDY_POLICIES], energy[2 * STUDY_POLICIES];
	struct panel p[2] = {
		{ .title = "time",
		  .x_title = "scheduler",
		  .y_title = "share of GPU time, %",
		  .kind = PANEL_BARS,
		  .series = tenants,
		  .n_series = 2,
		  .groups = policy_names,
		  .y = time,
		  .n = n,
		  .y_max = 100 },
		{ .title = "energy",
		  .x_title = "scheduler",
		  .y_title = "share of energy, %",
		  .kind = PANEL_BARS,
		  .series = tenants,
		  .n_series = 2,
		  .groups = policy_names,
		  .y = energy,
		  .n = n,
		  .y_max = 100 },
	};

	for (size_t k = 0; k < n; k++)
		for (size_t i = 0; i < 2; i++) {
			time[i * n + k] = 100 * got[k].time[i];
			energy[i * n + k] = 100 * got[k].energy[i];
		}
	return study_draw(s, title, p, 2, name, err);
}

static int policies_replay(const struct study *s, double ratio, struct shares got[STUDY_POLICIES],
			   struct hes_err *err)
{
	struct fair_replay_tenant t[2];
	int rc = 0;

	study_pair(s, ratio, t);
	for (int k = 0; k < STUDY_POLICIES && !rc; k++)
		rc = study_replay(s, (enum study_policy)k, STUDY_PHI, t, 2, NULL, &got[k], err);
	return rc;
}

int figure_2(struct study *s, struct hes_err *err)
{
	struct shares got[STUDY_POLICIES];
	int rc = policies_replay(s, 1 / MOBILENET_PART, got, err);

	if (rc)
		return rc;
	study_heading("2", "one kind of fairness makes the other unfair (A2's power: 0.19 of A1's, "
			   "from Fig. 5)");
	study_claim(s, "2", "(a) time fairness: F_T", 1, got[STUDY_TIME].f.time);
	study_claim(s, "2", "(a) time fairness: F_E (the input, by Fig. 5)", 0.19,
		    got[STUDY_TIME].f.energy);
	study_claim(s, "2", "(b) energy fairness: F_E", 1, got[STUDY_ENERGY].f.energy);
	study_claim(s, "2", "(b) energy fairness: F_T", 0.21, got[STUDY_ENERGY].f.time);
	study_must(s, "2", "under time fairness, time is equal to within one slice",
		   got[STUDY_TIME].time_gap_s <= got[STUDY_TIME].slice_s);
	study_must(s, "2", "under energy fairness, energy is equal to within one slice",
		   got[STUDY_ENERGY].energy_gap_j <= got[STUDY_ENERGY].slice_j);
	return bars_draw(s, got, 2, "Figure 2: fair in time or in energy", "figure2.svg", err);
}

int figure_5(struct study *s, struct hes_err *err)
{
	struct shares got[STUDY_POLICIES];
	double better;
	int rc = policies_replay(s, 1 / MOBILENET_PART, got, err);

	if (rc)
		return rc;
	better = fmax(got[STUDY_TIME].f.system, got[STUDY_ENERGY].f.system);
	study_heading("5", "the balance with phi = 0.7 (the same two tenants)");
	study_claim(s, "5", "F_S of time fairness (the input)", 0.19, got[STUDY_TIME].f.system);
	study_claim(s, "5", "F_S of energy fairness", 0.21, got[STUDY_ENERGY].f.system);
	study_claim(s, "5", "F_S of ETF", 0.42, got[STUDY_ETF].f.system);
	study_claim(s, "5", "F_S of ETF: times the better of the two", 2,
		    got[STUDY_ETF].f.system / better);
	study_claim(s, "5", "A1's part of the time under ETF (guaranteed: 0.7 / 2)", STUDY_NONE,
		    got[STUDY_ETF].time[0]);
	study_must(s, "5", "ETF is at least 1.6 times as fair as the better of the two",
		   got[STUDY_ETF].f.system >= 1.6 * better);
	study_must(s, "5", "A1 has its guaranteed time, to within one slice",
		   got[STUDY_ETF].time[0] * (double)s->seconds >=
			   STUDY_PHI / 2 * (double)s->seconds - got[STUDY_ETF].slice_s);
	return bars_draw(s, got, STUDY_POLICIES, "Figure 5: the balance of both", "figure5.svg",
			 err);
}

/* Each row: a number of the paper, and the power ratio with which Algorithm 1 would give it
 * exactly. */
static const struct {
	const char *from;
	double ratio;
} implied[] = {
	{ "Fig. 11: energy is fair up to phi 0.6", 3.0 },
	{ "Section 6.4: \"4x on TX2\"", 4.0 },
	{ "Fig. 5: F_S of ETF is 0.42", 1.3 / 0.7 / 0.42 },
	{ "Fig. 5: F_S of EF is 0.21", 1 / 0.21 },
	{ "Fig. 5: F_S of TF is 0.19; used above", 1 / MOBILENET_PART },
	{ "Fig. 7: energy is fair up to phi 0.3", 2 / 0.3 - 1 },
};

int implied_ratios(struct study *s, struct hes_err *err)
{
	printf("\nThe paper's numbers of A1 and A2 imply different power ratios. Each, "
	       "replayed:\n%-48s %8s %8s %8s %8s %8s\n",
	       "", "ratio", "TF: F_S", "EF: F_S", "ETF: F_S", "gain");
	for (size_t i = 0; i < sizeof(implied) / sizeof(implied[0]); i++) {
		struct shares got[STUDY_POLICIES];
		int rc = policies_replay(s, implied[i].ratio, got, err);

		if (rc)
			return rc;
		printf("  %-46s %8.2f %8.3f %8.3f %8.3f %8.2f\n", implied[i].from, implied[i].ratio,
		       got[STUDY_TIME].f.system, got[STUDY_ENERGY].f.system,
		       got[STUDY_ETF].f.system,
		       got[STUDY_ETF].f.system /
			       fmax(got[STUDY_TIME].f.system, got[STUDY_ENERGY].f.system));
	}
	printf("  Where the guarantee binds, phi = 0.7 gains (2 - phi) / phi = 1.857 for any two "
	       "tenants, unless time is the less fair.\n");
	return 0;
}
