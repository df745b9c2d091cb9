/*
 * fairness_phi.c - Figures 7, 8 and 11: shares of two tenants for phi from 0 to 1.
 */
#include <math.h>

#include "fairness_study.h"

#define STEPS 100 /* of phi */
#define SHOWN 20  /* of these, in pictures */

struct phi_figure {
	const char *figure, *heading, *title, *file;
	const char *names[2];
	double paper_phi_fair; /* STUDY_NONE: no number */
	struct fair_replay_tenant t[2];
	struct shares at[STEPS + 1], energy_fair;
};

static int sweep(const struct study *s, struct phi_figure *p, struct hes_err *err)
{
	int rc = study_replay(s, STUDY_ENERGY, 0, p->t, 2, NULL, &p->energy_fair, err);

	for (int k = 0; k <= STEPS && !rc; k++)
		rc = study_replay(s, STUDY_ETF, (double)k / STEPS, p->t, 2, NULL, &p->at[k], err);
	return rc;
}

static double phi_fair(const struct phi_figure *p)
{
	const struct hes_fair_tenant t[2] = {
		{ p->t[0].power_w, p->t[0].weight, HES_FAIR_BACKLOGGED },
		{ p->t[1].power_w, p->t[1].weight, HES_FAIR_BACKLOGGED }
	};

	return hes_fair_phi_fair(t, 2);
}

static int phi_draw(const struct study *s, const struct phi_figure *p, struct hes_err *err)
{
	const char *const time_names[] = { p->names[0], p->names[1], "A2 under EF" },
			  *const energy_names[] = { p->names[0], p->names[1], "F_E" };
	double x[SHOWN + 1], time[3 * (SHOWN + 1)], energy[3 * (SHOWN + 1)];
	struct panel panels[2] = {
		{ .title = "time",
		  .x_title = "phi",
		  .y_title = "share of GPU time, %",
		  .series = time_names,
		  .n_series = 3,
		  .x = x,
		  .y = time,
		  .n = SHOWN + 1,
		  .y_max = 100,
		  .x_max = 1 },
		{ .title = "energy",
		  .x_title = "phi",
		  .y_title = "share of energy, %; fairness F_E, %",
		  .series = energy_names,
		  .n_series = 3,
		  .x = x,
		  .y = energy,
		  .n = SHOWN + 1,
		  .y_max = 105,
		  .x_max = 1 },
	};

	for (size_t k = 0; k <= SHOWN; k++) {
		const struct shares *a = &p->at[k * STEPS / SHOWN];

		x[k] = (double)k / SHOWN;
		for (size_t i = 0; i < 2; i++) {
			time[i * (SHOWN + 1) + k] = 100 * a->time[i];
			energy[i * (SHOWN + 1) + k] = 100 * a->energy[i];
		}
		time[2 * (SHOWN + 1) + k] = 100 * p->energy_fair.time[1];
		energy[2 * (SHOWN + 1) + k] = 100 * a->f.energy;
	}
	return study_draw(s, p->title, panels, 2, p->file, err);
}

/* Limits of Algorithm 1 that each of the figures shows. */
static void phi_musts(struct study *s, const struct phi_figure *p)
{
	bool fair = true, guaranteed = true, unfair = true;
	double limit = phi_fair(p), part = p->t[0].weight / (p->t[0].weight + p->t[1].weight);

	for (int k = 0; k <= STEPS; k++) {
		const struct shares *a = &p->at[k];
		double phi = (double)k / STEPS;

		fair &= phi > limit || a->energy_gap_j <= a->slice_j;
		guaranteed &= a->time[0] * (double)s->seconds >=
			      phi * part * (double)s->seconds - a->slice_s * p->t[0].weight;
		unfair &= !k || phi < limit + 0.05 || a->f.energy < p->at[k - 1].f.energy;
	}
	study_must(s, p->figure, "below phi_fair, energy is fair to within one slice", fair);
	study_must(s, p->figure, "above it, energy is less fair with each step of phi", unfair);
	study_must(s, p->figure, "A1 has its guaranteed time for each phi, to within one slice",
		   guaranteed);
	study_must(s, p->figure, "at phi = 1, time is fair to within one slice",
		   p->at[STEPS].time_gap_s <= p->at[STEPS].slice_s);
}

static int phi_figure(struct study *s, struct phi_figure *p, struct hes_err *err)
{
	int rc = sweep(s, p, err), best = 0;

	if (rc)
		return rc;
	for (int k = 1; k <= STEPS; k++)
		best = p->at[k].f.system > p->at[best].f.system ? k : best;
	study_heading(p->figure, p->heading);
	study_claim(s, p->figure, "phi_fair: up to it energy is fair", p->paper_phi_fair,
		    phi_fair(p));
	study_claim(s, p->figure, "phi = 0: time of A2 / time of A1", STUDY_NONE,
		    p->at[0].time[1] / p->at[0].time[0]);
	study_claim(s, p->figure, "phi = 0: energy of A1 / energy of A2",
		    p->t[0].weight / p->t[1].weight, p->at[0].energy[0] / p->at[0].energy[1]);
	study_claim(s, p->figure, "phi = 1: time of A1 / time of A2",
		    p->t[0].weight / p->t[1].weight, p->at[STEPS].time[0] / p->at[STEPS].time[1]);
	study_claim(s, p->figure, "phi with the highest F_S", STUDY_NONE, (double)best / STEPS);
	study_claim(s, p->figure, "F_S there", STUDY_NONE, p->at[best].f.system);
	phi_musts(s, p);
	return phi_draw(s, p, err);
}

int figure_7(struct study *s, struct hes_err *err)
{
	struct phi_figure p = {
		.figure = "7",
		.file = "figure7.svg",
		.title = "Figure 7: two networks on a Jetson TX2",
		.paper_phi_fair = 0.3,
		.heading = "shares by phi (A2's power: 0.19 of A1's, from Fig. 5)",
		.names = { "A1: ResNet50", "A2: MobileNetV2" },
	};

	study_pair(s, 1 / MOBILENET_PART, p.t);
	return phi_figure(s, &p, err);
}

int figure_8(struct study *s, struct hes_err *err)
{
	struct phi_figure p = {
		.figure = "8",
		.file = "figure8.svg",
		.title = "Figure 8: two networks on an A10G",
		.paper_phi_fair = STUDY_NONE,
		.heading = "shares by phi on an A10G (A1 draws 2.2 times A2's power, as the text "
			   "says)",
		.names = { "A1: GPT-2", "A2: MobileNetV2" },
	};
	double on_tx2;
	int rc;

	study_pair(s, 1 / MOBILENET_PART, p.t);
	on_tx2 = phi_fair(&p);
	study_pair(s, 2.2, p.t);
	rc = phi_figure(s, &p, err);
	study_verdict(s, "8", STUDY_AT_LEAST,
		      "phi_fair is higher than Figure 7's; the paper has no number");
	if (!rc)
		study_must(s, "8", "energy is fair up to a higher phi than on the TX2",
			   phi_fair(&p) > on_tx2);
	return rc;
}

int figure_11(struct study *s, struct hes_err *err)
{
	struct phi_figure p = {
		.figure = "11",
		.file = "figure11.svg",
		.title = "Figure 11: A1 has twice the weight",
		.paper_phi_fair = 0.6,
		.heading = "shares by phi, weights 2 to 1 (A2's power: 0.19 of A1's; the paper's "
			   "0.6 needs 0.33)",
		.names = { "A1: ResNet50, weight 2", "A2: MobileNetV2, weight 1" },
	};

	study_pair(s, 1 / MOBILENET_PART, p.t);
	p.t[0].weight = 2;
	return phi_figure(s, &p, err);
}
