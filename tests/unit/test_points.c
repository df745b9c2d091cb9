/*
 * test_points.c - points drawn from the physics.
 */
#include <math.h>

#include "heshare/draw.h"
#include "unit_test.h"

static struct hes_model    *model;
static struct hes_catalogue types;

static int load(void **state)
{
	struct hes_err err;

	(void)state;
	return hes_model_load(NULL, &model, &err) || hes_catalogue_load(NULL, &types, &err);
}

static int unload(void **state)
{
	(void)state;
	hes_model_free(model);
	hes_catalogue_free(&types);
	return 0;
}

static const struct hes_gpu_type *gpu(const char *name)
{
	const struct hes_gpu_type *g = hes_gpu_type_find(&types, name, NULL);

	assert_non_null(g);
	return g;
}

static struct hes_model_job job(const char *workload, uint32_t batch, uint32_t sm_pct)
{
	const struct hes_workload *w = hes_model_workload(model, workload, NULL);

	assert_non_null(w);
	return (struct hes_model_job){ w, batch, sm_pct };
}

static void draw(double noise, uint64_t seed, uint32_t mhz, const struct hes_model_job *r, size_t n, struct hes_point *rows)
{
	const struct hes_draw d = { .model = model, .noise = noise, .seed = seed };
	struct hes_err err;

	if (hes_draw_point(&d, gpu("V100-SXM2-32"), mhz, r, n, rows, &err))
		fail_msg("%s", err.msg);
}

static bool near(double a, double b)
{
	return fabs(a - b) <= 1e-8 * fabs(b);
}

TEST(a_point_alone_is_what_the_physics_says)
{
	const struct hes_model_job r = job("bert-large", 8, 60);
	struct hes_instant now;
	struct hes_rate rate;
	struct hes_point p;

	draw(0, 1, 1200, &r, 1, &p);
	assert_int_equal(hes_model_instant(model, gpu("V100-SXM2-32"), 1200, 0, &r, 1, &rate, &now, NULL), 0);
	assert_string_equal(p.workload, "bert-large");
	assert_string_equal(p.gpu_type, "V100-SXM2-32");
	assert_string_equal(p.co_runners, "");
	assert_string_equal(p.command, "");
	assert_int_equal(p.batch_size, 8);
	assert_int_equal(p.sm_pct, 60);
	assert_int_equal(p.clock_mhz, 1200);
	assert_true(near(p.iteration_us, 1e6 / rate.iterations_per_s));
	assert_int_equal(p.power_mw, now.power_mw);
	assert_int_equal((uint32_t)(p.held_mhz + 1e-3), now.clock_mhz);
	assert_true(p.capped == 0 && !now.throttled);
	assert_true(near(p.busy, rate.busy) && near(p.sm_active, rate.sm_util) && near(p.dram_active, rate.dram_util));
	assert_true(p.memory_mib == hes_workload_memory_mib(r.workload, 8));
	assert_true(isnan(p.sm_occupancy));
	assert_true(p.fp32_active > 0.1 && p.tensor_active == 0); /* a V100 has no TF32 */
	assert_true(p.windows > 0 && p.seconds > 0 && p.cv == 0 && p.power_cv == 0);
	assert_true(near(p.pcie_rx_mibs, 8 * r.workload->copy_mib_per_item * rate.iterations_per_s));
}

TEST(without_a_clock_the_types_default_holds_and_a_power_limit_shows)
{
	const struct hes_model_job r = job("vgg19-trt8", 32, 100);
	struct hes_point p;

	draw(0, 1, 0, &r, 1, &p);
	assert_int_equal(p.clock_mhz, gpu("V100-SXM2-32")->clock_default_mhz);
	assert_true(p.capped == 1 && p.held_mhz < p.clock_mhz - 1);
	assert_true(p.fp32_active <= 1); /* Winograd: more operations than the pipes do */
}

TEST(rows_of_a_co_run_set_agree_in_what_belongs_to_the_gpu)
{
	const struct hes_model_job r[] = { job("resnet50", 4, 30), job("bert-large", 2, 50), job("mobilenetv2", 1, 20) };
	struct hes_point p[3], a, b;

	draw(0.017, 3, 1005, r, 3, p);
	for (size_t i = 0; i < 3; i++) {
		assert_string_equal(p[i].workload, r[i].workload->name);
		assert_int_equal(p[i].batch_size, r[i].batch);
		assert_int_equal(p[i].sm_pct, r[i].sm_pct);
		assert_true(isnan(p[i].memory_mib) && p[i].iteration_us > 0);
	}
	assert_string_equal(p[0].co_runners, "bert-large/2@50,mobilenetv2/1@20");
	assert_string_equal(p[1].co_runners, "mobilenetv2/1@20,resnet50/4@30");
	assert_string_equal(p[2].co_runners, "bert-large/2@50,resnet50/4@30");
	/* Without what is a job's own, rows are the same to the last bit, missing readings too. */
	for (size_t i = 1; i < 3; i++) {
		a = p[0];
		b = p[i];
		memset(a.workload, 0, sizeof(a.workload));
		memset(b.workload, 0, sizeof(b.workload));
		memset(a.co_runners, 0, sizeof(a.co_runners));
		memset(b.co_runners, 0, sizeof(b.co_runners));
		b.batch_size = a.batch_size;
		b.sm_pct = a.sm_pct;
		b.iteration_us = a.iteration_us;
		assert_memory_equal(&a.clock_mhz, &b.clock_mhz, sizeof(a.clock_mhz));
		assert_memory_equal(&a.command, &b.command, sizeof(a) - offsetof(struct hes_point, command));
		assert_string_equal(a.gpu_type, b.gpu_type);
	}
}

TEST(noise_does_not_depend_on_the_order_of_calls_or_jobs)
{
	const struct hes_model_job r[] = { job("resnet50", 4, 30), job("bert-large", 2, 50) }, turned[] = { r[1], r[0] };
	struct hes_point first[2], later[2], other[2];

	draw(0.05, 7, 0, r, 2, first);
	draw(0.05, 7, 1005, r, 2, other);
	draw(0.05, 7, 0, turned, 2, later);
	assert_true(first[0].iteration_us == later[1].iteration_us && first[1].iteration_us == later[0].iteration_us);
	assert_int_equal(first[0].power_mw, later[0].power_mw);
	draw(0.05, 8, 0, r, 2, other);
	assert_true(other[0].iteration_us != first[0].iteration_us && other[0].power_mw != first[0].power_mw);
}

/* What a clock, a share or a co-runner changes in noise alone. */
TEST(every_setting_has_noise_of_its_own)
{
	const struct hes_model_job r[] = { job("resnet50", 4, 30), job("resnet50", 4, 30) };
	struct hes_point with[2], without[2];
	double factor[3];

	for (uint32_t i = 0; i < 3; i++) {
		draw(0.05, 7, i == 1 ? 1005 : 0, r, i == 2 ? 2 : 1, with);
		draw(0, 7, i == 1 ? 1005 : 0, r, i == 2 ? 2 : 1, without);
		factor[i] = with[0].iteration_us / without[0].iteration_us;
	}
	assert_true(factor[0] != factor[1] && factor[0] != factor[2] && factor[1] != factor[2]);
	/* Two of a kind are measured one by one. */
	assert_true(with[0].iteration_us != with[1].iteration_us && without[0].iteration_us == without[1].iteration_us);
}

TEST(noise_has_the_requested_coefficient_of_variation)
{
	enum { N = 4000 };
	const struct hes_model_job r = job("resnet50", 4, 30);
	struct hes_point p, exact;
	double sum = 0, squares = 0, watts = 0, power_squares = 0;

	draw(0, 0, 0, &r, 1, &exact);
	for (uint64_t seed = 0; seed < N; seed++) {
		double x, y;

		draw(0.04, seed, 0, &r, 1, &p);
		x = p.iteration_us / exact.iteration_us - 1;
		y = (double)p.power_mw / exact.power_mw - 1;
		sum += x;
		squares += x * x;
		watts += y;
		power_squares += y * y;
	}
	assert_true(fabs(sum / N) < 0.003 && fabs(watts / N) < 0.003);
	assert_true(fabs(sqrt(squares / N) - 0.04) < 0.002 && fabs(sqrt(power_squares / N) - 0.04) < 0.002);
}

TEST(drawn_points_come_back_from_a_file_as_they_were)
{
	const struct hes_model_job r[] = { job("resnet50", 4, 30), job("bert-large", 2, 50) };
	char path[] = "/tmp/heshare-points-XXXXXX";
	struct hes_point drawn[2];
	struct hes_points in = { drawn, 2 }, out;
	struct hes_err err;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	close(fd);
	draw(0.017, 3, 0, r, 2, drawn);
	assert_int_equal(hes_points_save(path, &in, &err), 0);
	if (hes_points_load(path, &out, &err))
		fail_msg("%s", err.msg);
	unlink(path);
	assert_int_equal(out.n, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_string_equal(out.v[i].co_runners, drawn[i].co_runners);
		assert_true(out.v[i].iteration_us == drawn[i].iteration_us && out.v[i].power_mw == drawn[i].power_mw);
		assert_true(out.v[i].sm_active == drawn[i].sm_active && out.v[i].held_mhz == drawn[i].held_mhz);
		assert_true(isnan(out.v[i].sm_occupancy) && isnan(out.v[i].memory_mib));
	}
	hes_points_free(&out);
}

TEST(what_cannot_be_measured_is_refused_and_writes_no_row)
{
	const struct hes_draw d = { .model = model }, noisy = { .model = model, .noise = 0.6 };
	const struct hes_gpu_type *g = gpu("T4");
	struct hes_model_job r[HES_MODEL_MAX_JOBS + 1];
	struct hes_point rows[HES_MODEL_MAX_JOBS + 1], before[HES_MODEL_MAX_JOBS + 1];
	struct hes_err err;

	for (size_t i = 0; i < HES_MODEL_MAX_JOBS + 1; i++)
		r[i] = job("vgg19", 64, 10);
	memset(rows, 0x5a, sizeof(rows));
	memcpy(before, rows, sizeof(rows));
	assert_int_equal(hes_draw_point(&d, g, 0, r, 8, rows, &err), -ENOSPC);
	assert_non_null(strstr(err.msg, "T4 has"));
	assert_int_equal(hes_draw_point(&d, g, 0, r, HES_MODEL_MAX_JOBS + 1, rows, &err), -E2BIG);
	assert_int_equal(hes_draw_point(&d, g, 0, r, 0, rows, &err), -EINVAL);
	assert_int_equal(hes_draw_point(&d, g, 9999, r, 1, rows, &err), -ERANGE);
	assert_int_equal(hes_draw_point(&noisy, g, 0, r, 1, rows, &err), -EINVAL);
	r[0].sm_pct = 101;
	assert_int_equal(hes_draw_point(&d, g, 0, r, 1, rows, &err), -EINVAL);
	assert_memory_equal(rows, before, sizeof(rows));
}

int main(void) { return run_unit_tests(load, unload); }
