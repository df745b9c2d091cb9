/*
 * test_workloads.c - the workloads of workloads.yaml against the paper's Table 1 that they stand
 * for.
 */
#include <math.h>

#include "heshare/draw.h"
#include "paper_model.h"
#include "unit_test.h"

static struct hes_catalogue types;

static int load(void **state)
{
	(void)state;
	return hes_catalogue_load(NULL, &types, NULL);
}

static int unload(void **state)
{
	(void)state;
	hes_catalogue_free(&types);
	return 0;
}

static const struct hes_gpu_type *v100(void)
{
	const struct hes_gpu_type *g = hes_gpu_type_find(&types, "V100-SXM2-32", NULL);

	assert_non_null(g);
	return g;
}

TEST(a_file_without_workloads_is_refused)
{
	struct hes_model *m;
	struct hes_err err;

	assert_int_equal(paper_model_load("/dev/null", &m, &err), -EINVAL);
	assert_int_equal(paper_model_load("/nowhere/workloads.yaml", &m, &err), -ENOENT);
}

/* Han et al., Table 1: compute and memory bandwidth use of each workload alone on a V100, per cent.
 */
static const struct {
	const char *name;
	double compute, memory;
	uint32_t batch;
} table_1[] = {
	{ "fwt-samples", 95.6, 80.4, 1 },       { "reduction-samples", 93.2, 74.4, 1 },
	{ "transpose-samples", 84.3, 68.0, 1 }, { "sorting-samples", 83.4, 62.5, 1 },
	{ "gemm-samples", 98.5, 12.8, 1 },      { "albert-train", 88.7, 31.8, 2 },
	{ "bert-inf", 87.4, 24.1, 2 },          { "vit-train", 87.2, 37.3, 2 },
	{ "whisper-inf", 87.1, 23.8, 2 },       { "bert-train", 85.5, 34.4, 2 },
	{ "wav2vec2-inf", 80.2, 25.2, 2 },      { "vit-inf", 33.1, 4.9, 2 },
	{ "resnet50-train", 15.1, 7.1, 2 },     { "resnet50-inf", 10.2, 2.7, 2 },
	{ "mobile-train", 4.1, 0.9, 2 },        { "mobile-inf", 3.3, 1.2, 2 },
};
#define TABLE_1 (sizeof(table_1) / sizeof(table_1[0]))
#define POINTS  10.0 /* percentage points that the model may be off */

static struct hes_model *with_the_papers_workloads(struct hes_model_job r[TABLE_1])
{
	const char *root = getenv("HES_SOURCE_ROOT");
	char path[4096];
	struct hes_model *m;
	struct hes_err err;

	if (!root)
		skip();
	snprintf(path, sizeof(path), "%s/papers/partition/workloads.yaml", root);
	if (paper_model_load(path, &m, &err))
		fail_msg("%s", err.msg);
	for (size_t i = 0; i < TABLE_1; i++)
		r[i] = (struct hes_model_job){ hes_model_workload(m, table_1[i].name, NULL),
					       table_1[i].batch, 100 };
	return m;
}

TEST(the_papers_workloads_use_the_gpu_as_its_table_1_says)
{
	struct hes_model_job r[TABLE_1];
	struct hes_model *m = with_the_papers_workloads(r);
	const struct hes_draw d = { .model = m };

	for (size_t i = 0; i < TABLE_1; i++) {
		struct hes_point p;

		assert_non_null(r[i].workload);
		assert_false(r[i].workload->testbed);
		assert_string_equal(r[i].workload->origin, "derived");
		assert_int_equal(hes_draw_point(&d, v100(), 0, &r[i], 1, &p, NULL), 0);
		if (fabs(100 * p.sm_active - table_1[i].compute) > POINTS ||
		    fabs(100 * p.dram_active - table_1[i].memory) > POINTS)
			fail_msg("%s: compute %.1f %%, memory %.1f %%; the paper has %.1f and %.1f",
				 table_1[i].name, 100 * p.sm_active, 100 * p.dram_active,
				 table_1[i].compute, table_1[i].memory);
	}
	hes_model_free(m);
}

TEST(as_many_of_the_papers_pairs_fit_as_it_says)
{
	struct hes_model_job r[TABLE_1];
	struct hes_model *m = with_the_papers_workloads(r);
	const struct hes_draw d = { .model = m };
	size_t fit = 0;

	for (size_t i = 0; i < TABLE_1; i++)
		for (size_t j = i; j < TABLE_1; j++) {
			const struct hes_model_job pair[] = { { r[i].workload, r[i].batch, 50 },
							      { r[j].workload, r[j].batch, 50 } };
			struct hes_point p[2];
			int rc = hes_draw_point(&d, v100(), 0, pair, 2, p, NULL);

			assert_true(rc == 0 || rc == -ENOSPC);
			fit += rc == 0;
		}
	assert_int_equal(fit, 121);
	hes_model_free(m);
}

static double speed(const struct hes_draw *d, struct hes_model_job r, uint32_t sm_pct)
{
	struct hes_point p;

	r.sm_pct = sm_pct;
	assert_int_equal(hes_draw_point(d, v100(), 0, &r, 1, &p, NULL), 0);
	return 1 / p.iteration_us;
}

/* fwt-samples, gemm-samples and mobile-inf: limited by bandwidth, by SMs, by the host. */
TEST(the_papers_workloads_take_to_sms_as_their_kinds_do)
{
	struct hes_model_job r[TABLE_1];
	struct hes_model *m = with_the_papers_workloads(r);
	const struct hes_draw d = { .model = m };

	assert_true(speed(&d, r[0], 100) / speed(&d, r[0], 80) < 1.05);
	assert_true(speed(&d, r[4], 100) / speed(&d, r[4], 50) > 1.8);
	assert_true(speed(&d, r[TABLE_1 - 1], 100) / speed(&d, r[TABLE_1 - 1], 10) < 1.1);
	hes_model_free(m);
}

int main(void)
{
	return run_unit_tests(load, unload);
}
