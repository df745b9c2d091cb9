/*
 * draw_front.c - figure: energy against average completion time of the predicted front and of each
 * policy, predicted and replayed.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "report/figures.h"
#include "report/place.h"
#include "report/text.h"

#define HEIGHT 470.0

struct range {
	double x0, x1, y0, y1; /* mJ, us */
};

static void widen(struct range *b, double x, double y)
{
	b->x0 = fmin(b->x0, x);
	b->x1 = fmax(b->x1, x);
	b->y0 = fmin(b->y0, y);
	b->y1 = fmax(b->y1, y);
}

static struct range reach(const struct hes_report *r)
{
	struct range b = { INFINITY, -INFINITY, INFINITY, -INFINITY };
	double x, y;

	for (size_t i = 0; i < r->n_policies; i++) {
		const struct hes_report_policy *p = &r->policies[i];

		widen(&b, (double)p->realised.busy_energy_mj, p->realised.avg_jct_us);
		if (p->has_prediction)
			widen(&b, (double)p->predicted.busy_energy_mj, p->predicted.avg_jct_us);
	}
	for (size_t i = 0; r->front && i < r->front->n; i++)
		widen(&b, r->front->v[i].energy_j * 1e3, r->front->v[i].avg_jct_s * 1e6);
	/* Points that are nearly the same shall look so: no axis spans less than a fifth of its
	 * values. */
	x = fmax(b.x1 - b.x0, 0.2 * b.x1 + 1);
	y = fmax(b.y1 - b.y0, 0.2 * b.y1 + 1);
	return (struct range){ fmax((b.x0 + b.x1 - x) / 2 - 0.07 * x, 0),
			       (b.x0 + b.x1 + x) / 2 + 0.09 * x,
			       fmax((b.y0 + b.y1 - y) / 2 - 0.10 * y, 0),
			       (b.y0 + b.y1 + y) / 2 + 0.10 * y };
}

static void draw_curve(const struct hes_front *front, struct fig *f)
{
	size_t block;

	if (!front || front->n == 0)
		return;
	block = fig_data(f);
	for (size_t i = 0; i < front->n; i++)
		fprintf(f->script, "%.10g %.10g\n", front->v[i].energy_j * 1e3,
			front->v[i].avg_jct_s * 1e6);
	fig_data_end(f);
	fig_plot(f, block, fig_text(f, "predicted front, %zu plans", front->n),
		 "using 1:2 with lines lc rgb '%s' lw 2", theme_hex(ROLE_FRONT));
	if (front->n <= 200)
		fig_plot(f, block, NO_TEXT, "using 1:2 with points pt 7 ps 0.35 lc rgb '%s'",
			 theme_hex(ROLE_FRONT));
}

static size_t tip_of(const struct hes_report_policy *p, const char *what,
		     const struct hes_totals *t, struct fig *f)
{
	char name[POLICY_LABEL_MAX], energy[QUANTITY_MAX], jct[QUANTITY_MAX];

	return fig_text(f, "%s, %s: %s busy, %s on average", policy_label(name, p), what,
			format_energy(energy, (double)t->busy_energy_mj),
			format_time(jct, t->avg_jct_us));
}

static void draw_prediction(const struct hes_report_policy *p, const char *color, struct fig *f)
{
	double x = (double)p->predicted.busy_energy_mj, y = p->predicted.avg_jct_us;
	size_t block;

	if (!p->has_prediction)
		return;
	block = fig_data(f);
	fprintf(f->script, "%.10g %.10g %.10g %.10g\n", x, y,
		(double)p->realised.busy_energy_mj - x, p->realised.avg_jct_us - y);
	fig_data_end(f);
	fig_plot(f, block, NO_TEXT, "using 1:2:3:4 with vectors nohead lc rgb '%s' lw 1", color);
	fig_plot(f, block, NO_TEXT, "using 1:2 with points pt 7 ps 0.95 lc rgb '%s'",
		 theme_hex(ROLE_SURFACE));
	fig_plot(f, block, tip_of(p, "predicted", &p->predicted, f),
		 "using 1:2 with points pt 6 ps 0.8 lw 1.5 lc rgb '%s'", color);
}

static void draw_outcome(const struct hes_report_policy *p, const char *color, struct fig *f)
{
	size_t block = fig_data(f);

	fprintf(f->script, "%.10g %.10g\n", (double)p->realised.busy_energy_mj,
		p->realised.avg_jct_us);
	fig_data_end(f);
	fig_plot(f, block, NO_TEXT, "using 1:2 with points pt 7 ps 1.5 lc rgb '%s'",
		 theme_hex(ROLE_SURFACE));
	fig_plot(f, block, tip_of(p, "realised", &p->realised, f),
		 "using 1:2 with points pt 7 ps 1.2 lc rgb '%s'", color);
}

#define CURVE_BOXES 300
#define LINK_BOXES  12 /* along the line from what was predicted to what happened */

/* What labels should not cover: predictions, their links and the curve, as small boxes along them.
 */
static size_t obstacles(const struct hes_report *r, const struct fig *f, struct box *out)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n_policies; i++) {
		const struct hes_totals *t = &r->policies[i].predicted,
					*u = &r->policies[i].realised;
		double x = fig_x(f, (double)t->busy_energy_mj), y = fig_y(f, t->avg_jct_us);
		double dx = fig_x(f, (double)u->busy_energy_mj) - x,
		       dy = fig_y(f, u->avg_jct_us) - y;

		if (!r->policies[i].has_prediction)
			continue;
		out[n++] = (struct box){ x - 5, y - 5, 10, 10 };
		for (int k = 1; k < LINK_BOXES; k++)
			out[n++] = (struct box){ x + dx * k / LINK_BOXES - 2,
						 y + dy * k / LINK_BOXES - 2, 4, 4 };
	}
	for (size_t i = 0; r->front && i < r->front->n; i += r->front->n / CURVE_BOXES + 1)
		out[n++] = (struct box){ fig_x(f, r->front->v[i].energy_j * 1e3) - 3,
					 fig_y(f, r->front->v[i].avg_jct_s * 1e6) - 3, 6, 6 };
	return n;
}

static double clamp(double v, double lo, double hi)
{
	return fmin(fmax(v, lo), hi);
}

static void put_label(const struct place_label *l, const char *name, bool chosen, struct fig *f)
{
	double near_x = clamp(l->x, l->at.x, l->at.x + l->at.w),
	       near_y = clamp(l->y, l->at.y, l->at.y + l->at.h);

	double dx = near_x - l->x, dy = near_y - l->y;

	if (sqrt(dx * dx + dy * dy) > 14)
		fig_line(f, l->x, l->y, near_x, near_y, ROLE_FRONT, 0.7);
	fig_label(f, l->at.x + 2, l->at.y + l->at.h / 2, ALIGN_LEFT, FIG_FONT,
		  chosen ? ROLE_ACCENT : ROLE_INK, "%s", name);
}

static int draw_names(const struct hes_report *r, struct fig *f, struct hes_err *err)
{
	struct place_label *labels = calloc(r->n_policies, sizeof(*labels));
	struct box *avoid = calloc(r->n_policies * LINK_BOXES + CURVE_BOXES, sizeof(*avoid));
	struct box bounds = { f->at.left + 4, f->at.top, FIG_WIDTH - f->at.left - f->at.right - 4,
			      HEIGHT - f->at.top - f->at.bottom - 4 };
	char name[POLICY_LABEL_MAX];

	if (labels && avoid) {
		for (size_t i = 0; i < r->n_policies; i++) {
			const struct hes_totals *t = &r->policies[i].realised;

			labels[i].x = fig_x(f, (double)t->busy_energy_mj);
			labels[i].y = fig_y(f, t->avg_jct_us);
			labels[i].w = text_width(policy_label(name, &r->policies[i]), FIG_FONT) + 4;
			labels[i].h = FIG_FONT + 4;
		}
		place_labels(labels, r->n_policies, avoid, obstacles(r, f, avoid), &bounds);
		for (size_t i = 0; i < r->n_policies; i++)
			put_label(&labels[i], policy_label(name, &r->policies[i]), i == r->chosen,
				  f);
	}
	f->failed = f->failed || !labels || !avoid;
	free(labels);
	free(avoid);
	return f->failed ? hes_fail(err, -ENOMEM, "not enough memory for the front") : 0;
}

static void draw_axes(struct fig *f, const struct range *b)
{
	struct unit energy = unit_energy(b->x1), time = unit_time(b->y1);

	fig_ticks_x(f, energy.of, 10);
	fig_ticks_y(f, time.of, 8);
	fig_label(f, 10, 12, ALIGN_LEFT, FIG_FONT, ROLE_MUTED, "average completion time, %s",
		  time.name);
	fig_label(f, FIG_WIDTH - 16, HEIGHT - 9, ALIGN_RIGHT, FIG_FONT, ROLE_MUTED,
		  "busy energy, %s", energy.name);
}

static void draw_key(const struct hes_report *r, struct fig *f)
{
	double y = 12, x = FIG_WIDTH - 330;

	if (r->front && r->front->n) {
		fig_line(f, x, y, x + 20, y, ROLE_FRONT, 2);
		fig_label(f, x + 26, y, ALIGN_LEFT, FIG_FONT, ROLE_MUTED, "predicted front");
	}
	fig_label(f, x + 136, y, ALIGN_LEFT, FIG_FONT, ROLE_MUTED, "\u25cb predicted");
	fig_label(f, x + 226, y, ALIGN_LEFT, FIG_FONT, ROLE_MUTED, "\u25cf realised");
}

int draw_front(const struct hes_report *r, struct fig *f, struct hes_err *err)
{
	struct range b = reach(r);
	int rc = fig_begin(f,
			   &(struct fig_layout){ .width = FIG_WIDTH,
						 .height = HEIGHT,
						 .left = 64,
						 .right = 16,
						 .top = 30,
						 .bottom = 48,
						 .x0 = b.x0,
						 .x1 = b.x1,
						 .y0 = b.y0,
						 .y1 = b.y1 },
			   err);

	if (rc)
		return rc;
	draw_axes(f, &b);
	draw_key(r, f);
	draw_curve(r->front, f);
	for (int chosen = 0; chosen < 2; chosen++) /* the chosen one on top */
		for (size_t i = 0; i < r->n_policies; i++)
			if ((i == r->chosen) == chosen)
				draw_prediction(&r->policies[i],
						theme_hex(chosen ? ROLE_ACCENT : ROLE_OTHER), f);
	for (int chosen = 0; chosen < 2; chosen++)
		for (size_t i = 0; i < r->n_policies; i++)
			if ((i == r->chosen) == chosen)
				draw_outcome(&r->policies[i],
					     theme_hex(chosen ? ROLE_ACCENT : ROLE_OTHER), f);
	rc = draw_names(r, f, err);
	if (rc)
		fig_end(f);
	return rc;
}
