/*
 * fairness_study.c - replays, rows and limits; see fairness_study.h.
 */
#include "fairness_study.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "base/file.h"

#define QUANTUM_NS   UINT64_C(200000)
#define SECOND_NS    UINT64_C(1000000000)
#define MOBILENET_MS 20 /* no figure of the paper depends on it */

struct fair_replay_tenant study_tenant(double power_w, uint64_t request_ns)
{
	return (struct fair_replay_tenant){ .power_w = power_w,
					    .weight = 1,
					    .departure_ns = FAIR_REPLAY_NEVER,
					    .request_ns = request_ns };
}

struct fair_replay_tenant study_resnet50(const struct study *s, double mhz)
{
	const struct tx2_point *p = tx2_at(&s->tx2.resnet50, mhz);

	return study_tenant(p->power_w, p->request_ns);
}

void study_pair(const struct study *s, double ratio, struct fair_replay_tenant t[2])
{
	t[0] = study_resnet50(s, 1300);
	t[1] = study_tenant(t[0].power_w / ratio, MOBILENET_MS * UINT64_C(1000000));
}

static void shares_fill(const struct fair_replay_tenant *t, size_t n, struct shares *out)
{
	double time = 0, energy = 0, least[2] = { INFINITY, INFINITY }, most[2] = { 0, 0 };

	for (size_t i = 0; i < n; i++) {
		const struct fair_replay_usage *u = &out->u[i];
		double time_s = (double)u->time_ns / 1e9,
		       turn_s = u->turns ? time_s / (double)u->turns : 0;
		const double got[2] = { time_s / t[i].weight, u->energy_j / t[i].weight };

		for (int k = 0; k < 2; k++) {
			least[k] = fmin(least[k], got[k]);
			most[k] = fmax(most[k], got[k]);
		}
		out->slice_s = fmax(out->slice_s, turn_s / t[i].weight);
		out->slice_j = fmax(out->slice_j, turn_s * t[i].power_w / t[i].weight);
		time += time_s;
		energy += u->energy_j;
	}
	for (size_t i = 0; i < n; i++) {
		out->time[i] = (double)out->u[i].time_ns / 1e9 / time;
		out->energy[i] = out->u[i].energy_j / energy;
	}
	out->time_gap_s = most[0] - least[0];
	out->energy_gap_j = most[1] - least[1];
}

int study_replay(const struct study *s, enum study_policy policy, double phi,
		 const struct fair_replay_tenant *t, size_t n, struct fair_series *series,
		 struct shares *out, struct hes_err *err)
{
	const struct fair_replay_config c = {
		.queue = { &hes_fair_policies[policy], phi, STUDY_QUANTA, QUANTUM_NS },
		.duration_ns = s->seconds * SECOND_NS,
		.every_ns = series ? SECOND_NS : 0,
	};
	int rc;

	*out = (struct shares){ 0 };
	rc = fair_replay(&c, t, n, series ? fair_series_sample : NULL, series, out->u, err);
	if (rc)
		return rc;
	fair_replay_measure(t, out->u, n, &out->f);
	shares_fill(t, n, out);
	return 0;
}

void study_heading(const char *figure, const char *text)
{
	printf("\nFigure %s: %s\n%-72s %9s %9s %11s\n", figure, text, "", "paper", "ours",
	       "difference");
}

void study_verdict(struct study *s, const char *figure, enum study_state state, const char *note)
{
	const long number = strtol(figure, NULL, 10); /* 0: of no figure */
	struct study_verdict *v =
		number > 0 && number <= STUDY_FIGURES ? &s->verdicts[number] : NULL;

	if (!v || (v->figure && state <= v->state))
		return;
	*v = (struct study_verdict){ .figure = figure, .state = state };
	snprintf(v->note, sizeof(v->note), "%s", note);
}

static const char *const states[] = { "within 10 points", "at least", "missed", "an input" };

static void verdicts_print(const struct study *s, FILE *f, bool csv)
{
	if (csv)
		fputs("paper,item,state,note\n", f);
	for (size_t i = 1; i <= STUDY_FIGURES; i++) {
		const struct study_verdict *v = &s->verdicts[i];

		if (v->figure)
			fprintf(f, csv ? "ETF,Figure %zu,%s,\"%s\"\n" : "Figure %-3zu %-17s %s\n",
				i, states[v->state], v->note);
	}
}

int study_summary(const struct study *s, struct hes_err *err)
{
	char path[PATH_MAX];
	struct hes_file csv;
	int rc;

	putchar('\n');
	verdicts_print(s, stdout, false);
	if (!s->folder)
		return 0;
	snprintf(path, sizeof(path), "%s/summary.csv", s->folder);
	rc = hes_file_create(&csv, path, err);
	if (rc)
		return rc;
	verdicts_print(s, csv.f, true);
	return hes_file_commit(&csv, err);
}

void study_claim(struct study *s, const char *figure, const char *what, double paper, double ours)
{
	const bool near = !(fabs(ours - paper) > STUDY_NEAR);
	char note[120] = "";

	if (!near)
		snprintf(note, sizeof(note), "%.80s: paper %.3g, ours %.3g", what, paper, ours);
	study_verdict(s, figure, near ? STUDY_WITHIN : STUDY_MISSED, note);
	if (isnan(paper))
		printf("  %-70s %9s %9.3f %11s\n", what, "-", ours, "-");
	else
		printf("  %-70s %9.3f %9.3f %+11.3f\n", what, paper, ours, ours - paper);
	if (!s->csv)
		return;
	fprintf(s->csv, "%s,\"%s\",", figure, what);
	if (isnan(paper))
		fprintf(s->csv, ",%.6g,,\n", ours);
	else
		fprintf(s->csv, "%.6g,%.6g,%.6g,\n", paper, ours, ours - paper);
}

void study_must(struct study *s, const char *figure, const char *what, bool held)
{
	s->limits++;
	s->broken += !held;
	study_verdict(s, figure, held ? STUDY_WITHIN : STUDY_MISSED, held ? "" : what);
	printf("  %s: %s\n", held ? "held" : "NOT HELD", what);
	if (s->csv)
		fprintf(s->csv, "%s,\"%s\",,,,%s\n", figure, what, held ? "yes" : "no");
}

int study_draw(const struct study *s, const char *title, const struct panel *p, size_t n,
	       const char *name, struct hes_err *err)
{
	return s->folder ? panels_draw(title, p, n, s->folder, name, err) : 0;
}
