/*
 * paper_lab.h - the HeShare paper's three GPU types, with profiles and samples drawn from the
 * physics. A test file that includes it has one, lab, between paper_lab_init() and
 * paper_lab_finish().
 */
#ifndef HES_TEST_PAPER_LAB_H
#define HES_TEST_PAPER_LAB_H

#include "heshare/draw.h"
#include "heshare/predict.h"

static struct {
	struct hes_catalogue c;
	struct hes_model *m;
	const struct hes_gpu_type *types[3];
	struct hes_draw draw;
	struct hes_profiles profiles;
	struct hes_samples samples;
} lab;

/** @return 0, or -1 */
static inline int paper_lab_init(size_t n_samples)
{
	static const char *const names[] = { "T4", "V100-SXM2-32", "A100-SXM-80" };

	if (hes_catalogue_load(NULL, &lab.c, NULL) || hes_model_load(NULL, &lab.m, NULL))
		return -1;
	for (int i = 0; i < 3; i++)
		lab.types[i] = hes_gpu_type_find(&lab.c, names[i], NULL);
	lab.draw = (struct hes_draw){ lab.m, lab.types, 3, 0.017, 1 };
	return hes_draw_profiles(&lab.draw, &lab.profiles, NULL) ||
			       hes_draw_samples(&lab.draw, &lab.profiles, n_samples, &lab.samples,
						NULL)
		       ? -1
		       : 0;
}

static inline void paper_lab_finish(void)
{
	hes_samples_free(&lab.samples);
	hes_profiles_free(&lab.profiles);
	hes_model_free(lab.m);
	hes_catalogue_free(&lab.c);
}

static inline struct hes_predictor *train(const struct hes_samples *s, struct hes_train_options o)
{
	struct hes_predictor *p = NULL;
	struct hes_err err = { 0 };

	if (hes_predictor_train(s, &lab.c, &o, &p, &err))
		fail_msg("%s", err.msg);
	return p;
}

/** Estimates of samples; free() them. */
static inline struct hes_estimate *estimates(const struct hes_predictor *p,
					     const struct hes_samples *s)
{
	struct hes_estimate *said = calloc(s->n, sizeof(*said));
	struct hes_err err = { 0 };

	if (!said || hes_predict_samples(p, s, &lab.c, said, &err))
		fail_msg("%s", err.msg);
	return said;
}

/** How often the intervals of samples hold them. */
static inline struct hes_coverage coverage_of(const struct hes_predictor *p,
					      const struct hes_samples *s)
{
	struct hes_estimate *said = estimates(p, s);
	struct hes_test t;

	if (hes_estimates_test(s, said, hes_predictor_about(p)->options.coverage, &t, NULL))
		fail_msg("%zu samples", s->n);
	free(said);
	return t.cover;
}

#endif
