/*
 * test_measured.c - GPUs measured in our own format: what becomes of a good folder,
 * what may be missing, and each kind of bad value with its place.
 */
#include <math.h>
#include <sys/stat.h>

#include "heshare/model.h"
#include "measured/check.h"
#include "measured/locked.h"
#include "measured/measured.h"
#include "model/params.h"
#include "unit_test.h"

#define GPU_JSON                                                                               \
	"{\"format\": \"heshare measured GPU\", \"version\": 1, \"gpu\": {\"name\": \"NVIDIA " \
	"L4\", \"gpu_type\": \"L4\",\n"                                                        \
	"\"sm_count\": 58, \"power_limit_mw\": 60000, \"sm_clock_max_mhz\": null}, "           \
	"\"idle_power_mw\": 15500.5}\n"
#define GPU    "kind,mechanism,steady,power_mw,power_integral_mw,sm_clock_mhz,dram_active,throttle,"
#define MEMBER "workload,batch_size,precision,sm_share_pct,sms,iteration_us"
#define SOLO                                                                                  \
	GPU MEMBER ",locked_clock_mhz\n"                                                      \
		   "inference,none,1,50000,50100,2040,0.5,0x0,resnet50,8,tf32,100,58,9000,\n" \
		   "inference,mps,1,40000,40100,1900,0.3,0x4,resnet50,8,tf32,60,34,14000,\n"  \
		   "inference,mps,1,30000,30100,2040,0.2,0x0,vgg19,8,tf32,40,,40000,\n"       \
		   "inference,mps,1,35000,35100,900,0.2,0x0,vgg19,8,tf32,100,,50000,900\n"
#define PAIRS                                                                                     \
	GPU "first_workload,first_batch_size,first_precision,first_sm_share_pct,first_sms,first_" \
	    "iteration_us,"                                                                       \
	    "second_workload,second_batch_size,second_precision,second_sm_share_pct,second_sms,"  \
	    "second_iteration_us\n"                                                               \
	    "inference,mps,1,55000,55100,1800,0.5,0x4,resnet50,8,tf32,60,34,15400,vgg19,8,tf32,"  \
	    "40,,44000\n"
#define GROUPS                                                                                \
	GPU MEMBER ",group,form\n"                                                            \
		   "inference,mps,1,58000,,1700,0.5,0x4,resnet50,8,tf32,33,,30000,0,equal3\n" \
		   "inference,mps,1,58000,,1700,0.5,0x4,vgg19,8,tf32,33,,60000,0,equal3\n"    \
		   "inference,mps,1,58000,,1700,0.5,0x4,gpt2,8,tf32,33,,200000,0,equal3\n"

enum file { GPU_FILE, SOLO_FILE, PAIRS_FILE, GROUPS_FILE, N_FILES };

static const struct {
	const char *name, *text;
} files[N_FILES] = {
	{ "gpu.json", GPU_JSON },
	{ "solo.csv", SOLO },
	{ "pairs.csv", PAIRS },
	{ "groups.csv", GROUPS },
};

static struct hes_model *model;
static struct hes_catalogue types;
static char root[] = "/tmp/hes-measured-XXXXXX", dir[64];

static void write_file(enum file which, const char *text)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, files[which].name);
	unlink(path);
	if (!text)
		return;
	f = fopen(path, "we");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	fclose(f);
}

/* All four files as they should be. */
static void write_all(void)
{
	for (int i = 0; i < N_FILES; i++)
		write_file((enum file)i, files[i].text);
}

/* One file with the first @from in it turned into @to. */
static void change(enum file which, const char *from, const char *to)
{
	const char *text = files[which].text, *at = strstr(text, from);
	char changed[4096];

	assert_non_null(at);
	snprintf(changed, sizeof(changed), "%.*s%s%s", (int)(at - text), text, to,
		 at + strlen(from));
	write_file(which, changed);
}

static int load(void **state)
{
	struct hes_err err;

	(void)state;
	if (!mkdtemp(root))
		return -1;
	snprintf(dir, sizeof(dir), "%s/l4", root);
	return mkdir(dir, 0700) || hes_model_load(NULL, &model, &err) ||
	       hes_model_add_inference(model, &err) || hes_catalogue_load(NULL, &types, &err) ||
	       hes_model_derive(model, &types, &err);
}

static struct hes_observations o; /* of the last observe() */

static int unload(void **state)
{
	(void)state;
	hes_observations_free(&o);
	for (int i = 0; i < N_FILES; i++)
		write_file((enum file)i, NULL);
	rmdir(dir);
	rmdir(root);
	hes_model_free(model);
	hes_catalogue_free(&types);
	return 0;
}

static void forget(void)
{
	hes_observations_free(&o);
	o = (struct hes_observations){ 0 };
}

static void observe(void)
{
	struct hes_err err;

	forget();
	if (hes_observe(model, &types, dir, false, &o, &err))
		fail_msg("%s", err.msg);
}

static void observe_all(void)
{
	write_all();
	observe();
}

static size_t count(enum hes_series_id series)
{
	size_t n = 0;

	for (size_t i = 0; i < o.n; i++)
		n += o.v[i].series == series;
	return n;
}

static const struct hes_observation *find(enum hes_series_id series, size_t nth)
{
	for (size_t i = 0; i < o.n; i++)
		if (o.v[i].series == series && nth-- == 0)
			return &o.v[i];
	fail_msg("no such observation");
	return NULL;
}

TEST(rows_become_observations)
{
	const struct hes_observation *v;

	observe_all();
	assert_int_equal(o.n_gpus, 1);
	assert_string_equal(o.gpus[0].name, "l4");
	assert_string_equal(o.gpus[0].type, "L4");
	assert_int_equal(count(HES_SERIES_GPU_TIME), 4);
	assert_int_equal(count(HES_SERIES_GPU_POWER), 4);
	assert_int_equal(count(HES_SERIES_GPU_DRAM), 4);
	v = find(HES_SERIES_GPU_TIME, 1);
	assert_true(fabs(v->measured - .014) < 1e-12);
	assert_int_equal(v->gpu, 1);
	assert_string_equal(v->at.r[0].workload->name, "resnet50-tf32");
	assert_int_equal(v->at.r[0].batch, 8);
	v = find(HES_SERIES_GPU_POWER, 1);
	assert_true(fabs(v->measured - 40) < 1e-12);
	assert_int_equal(find(HES_SERIES_GPU_TIME, 3)->at.clock_mhz, 900);
}

TEST(values_of_the_gpu_replace_those_of_the_catalogue)
{
	const struct hes_gpu_type *g;

	write_all();
	change(GPU_FILE, "\"sm_clock_max_mhz\": null",
	       "\"sm_clock_max_mhz\": 2100, \"l2_kib\": 24576");
	observe();
	g = &o.v[0].at.gpu;
	assert_int_equal(g->power_limit_mw, 60000);
	assert_int_equal(g->idle_power_mw, 15500);
	assert_int_equal(g->clock_max_mhz, 2100);
	assert_int_equal(g->clock_default_mhz, 2100);
	assert_int_equal(g->l2_kib, 24576);
	assert_int_equal(g->memory_bandwidth_gbs, 300);
}

TEST(the_share_that_a_job_got_counts_not_the_requested_one)
{
	observe_all();
	assert_int_equal(find(HES_SERIES_GPU_TIME, 1)->at.r[0].sm_pct, 59); /* 34 of 58 SMs */
	assert_int_equal(find(HES_SERIES_GPU_TIME, 2)->at.r[0].sm_pct, 40);
}

TEST(only_clocks_held_by_the_power_limit_are_checked)
{
	observe_all();
	assert_int_equal(count(HES_SERIES_GPU_CLOCK), 1);
	assert_true(find(HES_SERIES_GPU_CLOCK, 0)->measured == 1.9);
}

TEST(a_pair_is_compared_with_each_job_alone_at_the_same_share)
{
	const struct hes_observation *v;

	observe_all();
	assert_int_equal(count(HES_SERIES_GPU_PAIRS), 2);
	assert_int_equal(count(HES_SERIES_GPU_PAIR_POWER), 1);
	v = find(HES_SERIES_GPU_PAIRS, 0);
	assert_true(v->relative && fabs(v->measured - 15.4 / 14) < 1e-12);
	assert_int_equal(v->at.n, 2);
	assert_int_equal(v->against.n, 1);
	assert_int_equal(v->against.r[0].sm_pct, 59);
	v = find(HES_SERIES_GPU_PAIRS, 1);
	assert_string_equal(v->at.r[0].workload->name, "vgg19-tf32");
	assert_true(fabs(v->measured - 1.1) < 1e-12);
	change(PAIRS_FILE, "vgg19,8", "vgg19,16"); /* which was not measured alone */
	observe();
	assert_int_equal(count(HES_SERIES_GPU_PAIRS), 1);
	assert_int_equal(count(HES_SERIES_GPU_PAIR_POWER), 1);
}

TEST(every_member_of_a_group_is_observed_and_all_of_it_is_held_back)
{
	const struct hes_observation *v;

	observe_all();
	assert_int_equal(count(HES_SERIES_GPU_GROUPS), 3);
	assert_int_equal(count(HES_SERIES_GPU_GROUP_POWER), 1);
	v = find(HES_SERIES_GPU_GROUPS, 2);
	assert_true(v->held && v->at.n == 3 && v->measured == .2);
	assert_string_equal(v->at.r[0].workload->name, "gpt2-tf32");
	assert_string_equal(v->at.r[1].workload->name, "resnet50-tf32");
	change(GROUPS_FILE, "equal3", "unpartitioned3");
	observe();
	assert_int_equal(count(HES_SERIES_GPU_GROUPS), 0);
	assert_int_equal(count(HES_SERIES_GPU_UNSHARED), 3);
}

TEST(shares_and_pairs_held_back_are_the_same_every_time)
{
	static const char *const networks[] = {
		"resnet152",   "resnet101",   "resnet50",    "resnet34",    "resnet18",
		"densenet121", "densenet161", "densenet201", "vgg19",       "vgg16",
		"mobilenet",   "mobilenetv2", "bert-large",  "transformer", "gpt2",
	};
	size_t pairs = 0, swept = 0;

	observe_all();
	assert_false(find(HES_SERIES_GPU_TIME, 0)->held);
	assert_true(find(HES_SERIES_GPU_TIME, 1)->held); /* requested 60 %, got 59 */
	assert_true(find(HES_SERIES_GPU_TIME, 3)->held == hes_held_back_alone("vgg19", 100, true));
	for (int i = 0; i < 15; i++) {
		swept += hes_held_back_alone(networks[i], 100, true);
		for (int j = 0; j < i; j++) {
			bool held = hes_held_back_pair(networks[i], networks[j]);

			assert_true(held == hes_held_back_pair(networks[j], networks[i]));
			pairs += held;
		}
	}
	/* About half; the very pairs are pinned so that a GPU's parts never change. */
	assert_int_equal(pairs, 53);
	assert_int_equal(swept, 8);
	assert_false(hes_held_back_pair("resnet50", "vgg19"));
}

TEST(optional_columns_may_be_missing)
{
	write_all();
	write_file(SOLO_FILE,
		   "workload,batch_size,precision,sm_share_pct,kind,mechanism,steady,iteration_us\n"
		   "resnet50,8,tf32,100,inference,none,1,9000\n");
	write_file(PAIRS_FILE, NULL);
	write_file(GROUPS_FILE, NULL);
	write_file(GPU_FILE, "{\"format\": \"heshare measured GPU\", \"version\": 1, \"gpu\": "
			     "{\"gpu_type\": \"L4\"}}");
	observe();
	assert_int_equal(o.n, 1);
	assert_int_equal(o.v[0].at.gpu.power_limit_mw, 72000);
}

TEST(a_missing_reading_is_no_value_and_never_zero)
{
	write_all();
	change(SOLO_FILE, "1,50000,50100,2040,0.5,0x0,resnet50,8,tf32,100,58,9000,",
	       "1,,,,,,resnet50,8,tf32,100,,,");
	observe();
	assert_int_equal(count(HES_SERIES_GPU_TIME), 3);
	assert_int_equal(count(HES_SERIES_GPU_POWER), 3);
	assert_int_equal(count(HES_SERIES_GPU_DRAM), 3);
	change(SOLO_FILE, "1,50000,50100",
	       "1,,50100"); /* the counter was not there: the integral is taken */
	observe();
	assert_true(fabs(find(HES_SERIES_GPU_POWER, 0)->measured - 50.1) < 1e-12);
}

TEST(rows_that_the_model_cannot_predict_are_counted_and_left_out)
{
	write_all();
	change(SOLO_FILE, "resnet50,8,tf32,60", "lenet,8,tf32,60");
	change(PAIRS_FILE, "inference,mps,1", "inference,mps,0");
	change(GROUPS_FILE, "inference,mps", "inference,none");
	observe();
	assert_int_equal(o.gpus[0].unknown, 1);
	assert_int_equal(o.gpus[0].unsteady, 1);
	assert_int_equal(o.gpus[0].undescribed, 1);
	assert_int_equal(count(HES_SERIES_GPU_TIME), 3);
	assert_int_equal(count(HES_SERIES_GPU_PAIRS), 0);
	assert_int_equal(count(HES_SERIES_GPU_GROUPS), 0);
	write_all();
	change(SOLO_FILE, "inference,none", "training,none");
	observe();
	assert_int_equal(o.gpus[0].undescribed, 1);
}

TEST(jobs_that_take_turns_are_not_sharing)
{
	write_all();
	write_file(GROUPS_FILE, GPU MEMBER
		   ",group,form\n"
		   "inference,none,1,58000,,1700,0.5,0x4,resnet50,8,tf32,100,,30000,4,sequential2\n"
		   "inference,none,1,58000,,1700,0.5,0x4,vgg19,8,tf32,100,,60000,4,sequential2\n");
	observe();
	assert_int_equal(count(HES_SERIES_GPU_GROUPS), 0);
	assert_int_equal(o.gpus[0].undescribed, 2);
}

TEST(a_network_in_the_loop_is_a_workload_without_copies_and_waits)
{
	const struct hes_workload *loop = hes_model_workload(model, "resnet18-fp16", NULL);
	const struct hes_workload *testbed = hes_model_workload(model, "resnet18", NULL);
	const size_t n = hes_model_workloads(model);
	struct hes_err err;

	assert_non_null(loop);
	assert_int_equal(loop->math, HES_MATH_FP16);
	assert_string_equal(loop->origin, "derived");
	assert_false(loop->testbed);
	assert_true(loop->serial_us == 0 && loop->copy_mib_per_item == 0 &&
		    loop->host_us == model->eager.host_us && loop->host_us > 0);
	assert_true(loop->traffic_mib == testbed->traffic_mib / 2);
	/* CUDA graphs leave the host nothing to do. */
	assert_true(hes_model_workload(model, "resnet18-fp16-graphs", NULL)->host_us == 0);
	assert_int_equal(hes_model_workload(model, "gpt2-fp32", NULL)->math, HES_MATH_FP32);
	assert_int_equal(hes_model_add_inference(model, &err), 0); /* once is enough */
	assert_int_equal(hes_model_workloads(model), n);
}

/* The folder as it is must be refused, and nothing must come of it. */
static void refused(int code, const char *words)
{
	struct hes_err err = { 0 };

	forget();
	assert_int_equal(hes_observe(model, &types, dir, false, &o, &err), code);
	if (!strstr(err.msg, words))
		fail_msg("\"%s\" does not say \"%s\"", err.msg, words);
	assert_int_equal(o.n, 0);
	assert_int_equal(o.n_gpus, 0);
	write_all();
}

TEST(a_bad_value_is_named_by_file_line_column_and_value)
{
	write_all();
	change(SOLO_FILE, ",9000,", ",fast,");
	refused(-EINVAL, "/l4/solo.csv:2: iteration_us: \"fast\"");
	change(SOLO_FILE, ",14000,", ",0,");
	refused(-ERANGE, "/l4/solo.csv:3: iteration_us: 0");
	change(SOLO_FILE, "tf32,60", "tf32,101");
	refused(-ERANGE, "/l4/solo.csv:3: sm_share_pct: 101");
	change(SOLO_FILE, "tf32,60", "tf32,");
	refused(-EINVAL, "/l4/solo.csv:3: sm_share_pct: \"\"");
	change(SOLO_FILE, "resnet50,8", "resnet50,0");
	refused(-ERANGE, "/l4/solo.csv:2: batch_size: 0");
	change(SOLO_FILE, "tf32,60", "int8,60");
	refused(-EINVAL, "/l4/solo.csv:3: precision: \"int8\"; it must be one of fp16, fp32, tf32");
	change(SOLO_FILE, "none,1", "mig,1");
	refused(-EINVAL, "/l4/solo.csv:2: mechanism: \"mig\"; it must be one of mps, green, none");
	change(SOLO_FILE, "none,1", "none,2");
	refused(-ERANGE, "/l4/solo.csv:2: steady: 2");
	change(SOLO_FILE, "1,50000", "1,-5");
	refused(-ERANGE, "/l4/solo.csv:2: power_mw: -5");
	change(SOLO_FILE, ",0.5,", ",1.5,");
	refused(-ERANGE, "/l4/solo.csv:2: dram_active: 1.5");
	change(SOLO_FILE, "0x4", "cap");
	refused(-EINVAL, "/l4/solo.csv:3: throttle: \"cap\" is no hexadecimal number");
	change(SOLO_FILE, ",50000,900", ",50000,100");
	refused(-ERANGE, "/l4/solo.csv:5: locked_clock_mhz: 100");
	change(SOLO_FILE, "resnet50", "");
	refused(-EINVAL, "/l4/solo.csv:2: workload: \"\"; a name of 1 to 47 characters is needed");
	change(PAIRS_FILE, "tf32,40", "tf32,nan");
	refused(-EINVAL, "/l4/pairs.csv:2: second_sm_share_pct: \"nan\"");
	change(GROUPS_FILE, "equal3", "threes");
	refused(-EINVAL, "/l4/groups.csv:2: form: \"threes\"; it must be one of equal3");
}

TEST(a_missing_column_is_named)
{
	static const char *const needed[] = { "workload,",     "batch_size,", "precision,",
					      "sm_share_pct,", "kind,",       "mechanism,",
					      "steady," };
	char words[64];

	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		write_all();
		change(SOLO_FILE, needed[i], "other,");
		snprintf(words, sizeof(words), "/l4/solo.csv:1: no column \"%.*s\"",
			 (int)strlen(needed[i]) - 1, needed[i]);
		refused(-ENOENT, words);
	}
	change(PAIRS_FILE, "second_workload", "third_workload");
	refused(-ENOENT, "no column \"second_workload\"");
	change(GROUPS_FILE, ",form", ",shape");
	refused(-ENOENT, "no column \"form\"");
}

TEST(a_group_has_as_many_rows_as_its_form_says)
{
	write_all();
	change(GROUPS_FILE, "200000,0,equal3", "200000,1,equal3");
	refused(-EINVAL, "groups.csv:2: group 0 needs 3 members and has 2 rows");
	change(GROUPS_FILE, "200000,0,equal3", "200000,0,equal4");
	refused(-EINVAL, "groups.csv:4: group 0 has 3 members");
}

/* Power of a kernel that only computes, by (12) and (14), from that at 1380 MHz. */
static double power_at_clock(double mhz, double top_w)
{
	const struct hes_gpu_type *g = hes_gpu_type_find(&types, "V100-PCIe", NULL);
	const struct hes_gpu_physics *p = hes_model_gpu(model, "V100-PCIe");
	const double still = g->idle_power_mw * 1e-3 + p->context_w, f[] = { mhz, 1380 };
	double scale[2];

	for (int i = 0; i < 2; i++) {
		double part = f[i] / g->clock_max_mhz,
		       x = fmax(0, (part - p->volt_knee) / (1 - p->volt_knee)),
		       v = p->volt_min + (1 - p->volt_min) * pow(x, p->volt_bend);

		scale[i] = part * v * v;
	}
	return still + (top_w - still) * scale[0] / scale[1];
}

static void write_locked(const char *path)
{
	static const double mhz[] = { 1380, 1200, 1005, 705, 510 };
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	fputs("gpu,program,setting,kernel,sm_mhz,time_ms,power_w,dram_active\n", f);
	for (int i = 0; i < 5; i++)
		fprintf(f, "V100-PCIe,sum,large,add,%g,%g,%g,0\n", mhz[i], 5 * 1380 / mhz[i],
			power_at_clock(mhz[i], 180));
	/* Not held, at the limit of 250 W; of another GPU; at one clock alone. */
	fputs("V100-PCIe,sum,large,add,1455,4.8,244,0\n"
	      "P100,sum,large,add,1005,9,80,0\n"
	      "V100-PCIe,sort,small,merge,1005,9,80,0.1\n",
	      f);
	/* Nobody measured its DRAM: its time is half memory's, as half of it stays at half the
	 * clock. */
	fputs("V100-PCIe,copy,small,move,1380,10,120,\nV100-PCIe,copy,small,move,690,15,90,\n", f);
	fclose(f);
}

TEST(power_at_locked_clocks_follows_from_the_row_at_the_highest)
{
	char path[128], folder[96];
	struct hes_err err;
	double w;

	snprintf(folder, sizeof(folder), "%s/nv_dvfs", root);
	snprintf(path, sizeof(path), "%s/real.csv", folder);
	assert_int_equal(mkdir(folder, 0700), 0);
	write_locked(path);
	forget();
	assert_int_equal(hes_observe(model, &types, root, false, &o, &err), 0);
	unlink(path);
	rmdir(folder);
	assert_int_equal(count(HES_SERIES_LOCKED_V100), 4);
	for (size_t i = 0; i < 4; i++) {
		const struct hes_observation *at = find(HES_SERIES_LOCKED_V100, i);

		assert_int_equal(locked_power(model, at, &w, &err), 0);
		assert_true(at->locked.mhz == 1380 && at->at.clock_mhz < 1380);
		if (i < 3) {
			assert_true(at->locked.power_w > 179.9 && at->locked.power_w < 180.1);
			assert_true(fabs(w / at->measured - 1) < 1e-4);
		}
	}
	assert_true(fabs(find(HES_SERIES_LOCKED_V100, 3)->locked.memory - .5) < 1e-9);
	/* Whole programs are left out together. */
	assert_true(find(HES_SERIES_LOCKED_V100, 0)->fold == find(HES_SERIES_LOCKED_V100, 2)->fold);
	assert_true(find(HES_SERIES_LOCKED_V100, 0)->fold != find(HES_SERIES_LOCKED_V100, 3)->fold);
}

TEST(a_bad_gpu_is_named_by_file_and_key)
{
	write_all();
	change(GPU_FILE, "\"L4\"", "null");
	refused(-ENOENT, "/l4/gpu.json: gpu_type: \"NVIDIA L4\" is no type of the catalogue; give "
			 "it a row there");
	change(GPU_FILE, "\"L4\"", "\"K80\"");
	refused(-ENOENT, "/l4/gpu.json: gpu_type: unknown GPU type \"K80\"; known: P100");
	change(GPU_FILE, "heshare measured GPU", "a GPU");
	refused(-EINVAL, "format: \"heshare measured GPU\" is needed");
	change(GPU_FILE, "\"version\": 1", "\"version\": 2");
	refused(-EINVAL, "version: this program reads version 1");
	change(GPU_FILE, "60000", "\"60 W\"");
	refused(-EINVAL, "power_limit_mw: a number or null is needed");
	change(GPU_FILE, "60000", "60");
	refused(-ERANGE, "power_limit_mw: 60; it must be from 1000 to 1e+07");
	change(GPU_FILE, "15500.5", "60000");
	refused(-ERANGE, "idle_power_mw: 60000; it must be from 1 to 59999");
	change(GPU_FILE, "\"version\": 1", "\"test\": \"no\", \"version\": 1");
	refused(-EINVAL, "test: true or false is needed");
	change(GPU_FILE, "60000,", "60000");
	refused(-EINVAL, "/l4/gpu.json:2: ");
	write_file(SOLO_FILE, NULL);
	write_file(PAIRS_FILE, NULL);
	write_file(GROUPS_FILE, NULL);
	refused(-ENOENT, "/l4: no rows in solo.csv, pairs.csv or groups.csv");
}

TEST(a_test_is_refused_without_the_tests_option)
{
	struct hes_err err;

	write_all();
	change(GPU_FILE, "\"version\": 1", "\"test\": true, \"version\": 1");
	refused(-EINVAL, "/l4/gpu.json: test: true, so this is a recording and no measured GPU");
	change(GPU_FILE, "\"version\": 1", "\"test\": true, \"version\": 1");
	assert_int_equal(hes_observe(model, &types, dir, true, &o, &err), 0);
	assert_true(o.n > 0);
}

TEST(a_folder_of_gpus_is_read_and_the_same_gpu_twice_is_refused)
{
	struct hes_err err;
	size_t n;

	forget();
	write_all();
	assert_int_equal(hes_observe(model, &types, root, false, &o, &err), 0);
	assert_int_equal(o.n_gpus, 1);
	n = o.n;
	assert_int_equal(hes_observe(model, &types, dir, false, &o, &err), -EEXIST);
	assert_non_null(strstr(err.msg, "two folders of a measured GPU are called l4"));
	assert_int_equal(o.n, n);
	assert_int_equal(o.n_gpus, 1);
}

TEST(the_table_separates_held_back_rows_from_fitted_ones)
{
	struct hes_gpu_physics *l4 = (struct hes_gpu_physics *)hes_model_gpu(model, "L4");
	struct hes_check table;
	struct hes_err err;
	size_t held = 0;

	observe_all();
	assert_int_equal(hes_model_check(model, &o, &table, &err), 0);
	assert_true(table.n > HES_SERIES_PUBLISHED);
	for (size_t i = HES_SERIES_PUBLISHED; i < table.n; i++) {
		assert_string_equal(table.rows[i].set, "l4");
		assert_int_equal(table.rows[i].kind, HES_CHECK_PREDICTED);
		held += table.rows[i].held;
	}
	assert_true(held > 0);
	hes_check_free(&table);
	snprintf(l4->origin, sizeof(l4->origin), "l4"); /* as after a calibration on this folder */
	assert_int_equal(hes_model_check(model, &o, &table, &err), 0);
	assert_int_equal(table.rows[HES_SERIES_PUBLISHED].kind, HES_CHECK_FITTED);
	assert_int_equal(table.rows[HES_SERIES_PUBLISHED + 1].kind, HES_CHECK_HELD_BACK);
	snprintf(l4->origin, sizeof(l4->origin), "derived");
	hes_check_free(&table);
}

int main(void)
{
	return run_unit_tests(load, unload);
}
