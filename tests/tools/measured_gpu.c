/*
 * measured_gpu.c - a GPU made up for tests, in the format of measured ones:
 *
 *	measured_gpu PHYSICS.yaml TYPE FOLDER [NETWORKS [NOISE]]
 *
 * The physics with TYPE's parameters moved by known factors and those of the measured
 * workloads by factors of their own, the same for every GPU, as bench/gpu/measure
 * would have seen that GPU in its usual order, with relative noise (0.01 unless
 * given), the first NETWORKS of its networks (all 15 unless given). gpu.json says that it is a
 *test. What a fit finds again is a test of the fit; nothing is learnt of any real GPU.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/rng.h"
#include "measured/measured.h"
#include "model/params.h"

#define GPU_COLUMNS                                                                            \
	"kind,mechanism,windows,window_s,steady,power_mw,power_integral_mw,sm_clock_mhz,dram_" \
	"active,throttle"
#define MEMBER_COLUMNS(p)                                                                \
	p "workload," p "batch_size," p "precision," p "sm_share_pct," p "iterations," p \
	  "iteration_us," p "cv_pct," p "items_per_s"

struct factor {
	const char *param;
	double factor;
};

/* How the made-up GPU differs from what the file says of its type. */
static const struct factor type_factors[] = {
	{ "rate_tf32", .75 },        { "rate_fp16", .8 },  { "bandwidth_fraction", .9 },
	{ "saturating_share", 1.3 }, { "launch_us", 1.6 }, { "host_factor", .6 },
	{ "context_w", 1.5 },        { "switch_w", .8 },   { "stall", 1.4 },
	{ "dram_w", 1.3 },
};
/* ... and its workloads from what was derived: times e to a normal of this deviation. */
static const struct factor spreads[] = {
	{ "efficiency", .3 },           { "host_us", .2 },  { "parallel_sms", .2 },
	{ "traffic_mib_per_item", .3 }, { "activity", .1 },
};

/* As bench/gpu/schedule.py orders them; the first FEW stand for the others. */
static const char *const networks[] = {
	"resnet50",    "vgg19",     "mobilenetv2", "bert-large",  "gpt2",
	"densenet121", "resnet152", "transformer", "resnet18",    "vgg16",
	"mobilenet",   "resnet34",  "resnet101",   "densenet161", "densenet201",
};
#define N_NETWORKS (sizeof(networks) / sizeof(networks[0]))
#define FEW        8

struct maker {
	struct hes_model *m;
	struct hes_gpu_type gpu;
	struct hes_rng rng;
	size_t n, few; /* networks; those measured under shares and together */
	double noise;
	const char *dir;
	struct hes_file out;
	struct hes_err err;
};

static void move(void *object, const struct hes_param *table, size_t n, const struct factor *f,
		 size_t n_factors)
{
	for (size_t k = 0; k < n_factors; k++)
		for (size_t i = 0; i < n; i++)
			if (strcmp(table[i].name, f[k].param) == 0)
				*hes_param_in(&table[i], object) *= f[k].factor;
}

static void spread(struct hes_workload *w)
{
	struct hes_rng rng;
	uint64_t seed = 0;

	for (const char *c = w->name; *c; c++)
		seed = 31 * seed + (unsigned char)*c;
	hes_rng_seed(&rng, seed);
	for (size_t i = 0; i < sizeof(spreads) / sizeof(spreads[0]); i++) {
		const struct factor f = { spreads[i].param,
					  exp(spreads[i].factor * hes_rng_normal(&rng)) };

		move(w, hes_workload_params, hes_workload_param_count, &f, 1);
	}
}

static void make_truth(struct maker *k)
{
	for (size_t i = 0; i < k->m->n_gpus; i++)
		if (strcmp(k->m->gpus[i].type, k->gpu.name) == 0)
			move(&k->m->gpus[i], hes_gpu_params, hes_gpu_param_count, type_factors,
			     sizeof(type_factors) / sizeof(type_factors[0]));
	for (size_t i = 0; i < k->m->n_workloads; i++)
		if (strstr(k->m->workloads[i].framework, "bare loop"))
			spread(&k->m->workloads[i]);
}

static double noisy(struct maker *k, double v)
{
	return v * exp(k->noise * hes_rng_normal(&k->rng));
}

/* A workload's name is NETWORK-PRECISION. */
static void put_member(struct maker *k, const struct hes_model_job *r, double iterations_per_s)
{
	const char *precision = strrchr(r->workload->name, '-');
	double us = noisy(k, 1e6 / iterations_per_s);

	fprintf(k->out.f, ",%.*s,%u,%s,%u,%.0f,%.3f,0.8,%.3f", (int)(precision - r->workload->name),
		r->workload->name, r->batch, precision + 1, r->sm_pct, 4e6 / us, us,
		1e6 * r->batch / us);
}

static void put_gpu(struct maker *k, const char *mechanism, const struct hes_instant *now,
		    double dram)
{
	double power = noisy(k, now->power_mw);

	fprintf(k->out.f, "inference,%s,4,4.0,1,%.0f,%.0f,%u,%.4f,%s", mechanism, power,
		noisy(k, power), now->clock_mhz, dram, now->throttled ? "0x4" : "0x0");
}

static int open_table(struct maker *k, const char *name, const char *columns)
{
	char path[4096];
	int rc;

	snprintf(path, sizeof(path), "%s/%s", k->dir, name);
	rc = hes_file_create(&k->out, path, &k->err);
	if (!rc)
		fprintf(k->out.f, "%s\n", columns);
	return rc;
}

static const struct hes_workload *in(struct maker *k, const char *network, const char *precision)
{
	char name[HES_NAME_MAX];

	hes_inference_name(name, network, precision, HES_STYLE_EAGER);
	return hes_model_workload(k->m, name, &k->err);
}

static int put_solo(struct maker *k, const struct hes_workload *w, uint32_t batch, uint32_t pct)
{
	struct hes_model_job r = { w, batch, pct };
	struct hes_rate rate;
	struct hes_instant now;
	int rc = hes_model_instant(k->m, &k->gpu, 0, 0, &r, 1, &rate, &now, &k->err);

	if (rc)
		return rc;
	put_gpu(k, pct == 100 ? "none" : "mps", &now, rate.dram_util);
	put_member(k, &r, rate.iterations_per_s);
	fputs(",\n", k->out.f);
	return 0;
}

/* Convolutions use TF32 by the framework's default, matrix products do not. */
static const char *single(const char *network)
{
	bool language = strcmp(network, "bert-large") == 0 || strcmp(network, "gpt2") == 0 ||
			strcmp(network, "transformer") == 0;

	return language ? "fp32" : "tf32";
}

static int make_solo(struct maker *k)
{
	static const uint32_t batches[] = { 8, 1, 32 };
	int rc = open_table(k, "solo.csv", GPU_COLUMNS "," MEMBER_COLUMNS("") ",locked_clock_mhz");

	for (size_t b = 0; b < 3; b++) {
		for (size_t i = 0; !rc && i < k->n; i++)
			rc = put_solo(k, in(k, networks[i], "fp16"), batches[b], 100);
		for (uint32_t pct = 10; pct <= 90; pct += 10)
			for (size_t i = 0; !rc && i < k->few; i++)
				rc = put_solo(k, in(k, networks[i], "fp16"), batches[b], pct);
		for (size_t i = 0; !rc && i < k->n; i++)
			rc = put_solo(k, in(k, networks[i], single(networks[i])), batches[b], 100);
	}
	return rc ? rc : hes_file_commit(&k->out, &k->err);
}

static int put_pair(struct maker *k, const char *one, const char *two, uint32_t pct)
{
	struct hes_model_job r[2] = { { in(k, one, "fp16"), 8, pct },
				      { in(k, two, "fp16"), 8, 100 - pct } };
	struct hes_rate rates[2];
	struct hes_instant now;
	int rc = hes_model_instant(k->m, &k->gpu, 0, 0, r, 2, rates, &now, &k->err);

	if (rc)
		return rc;
	put_gpu(k, "mps", &now, rates[0].dram_util + rates[1].dram_util);
	put_member(k, &r[0], rates[0].iterations_per_s);
	put_member(k, &r[1], rates[1].iterations_per_s);
	fputs("\n", k->out.f);
	return 0;
}

static int make_pairs(struct maker *k)
{
	int rc = open_table(k, "pairs.csv",
			    GPU_COLUMNS "," MEMBER_COLUMNS("first_") "," MEMBER_COLUMNS("second_"));

	for (size_t step = 1; step <= (k->few + 1) / 2 - 1; step++)
		for (size_t i = 0; i < k->few; i++)
			for (uint32_t pct = 10; !rc && pct <= 90; pct += 10)
				rc = put_pair(k, networks[i], networks[(i + step) % k->few], pct);
	return rc ? rc : hes_file_commit(&k->out, &k->err);
}

static int put_group(struct maker *k, unsigned group, const char *form, uint32_t n, uint32_t pct)
{
	struct hes_model_job r[4];
	struct hes_rate rates[4];
	struct hes_instant now;
	int rc;

	for (uint32_t i = 0; i < n; i++)
		r[i] = (struct hes_model_job){ in(k, networks[(group + 2 * i) % k->few], "fp16"), 8,
					       pct };
	rc = hes_model_instant(k->m, &k->gpu, 0, 0, r, n, rates, &now, &k->err);
	for (uint32_t i = 0; !rc && i < n; i++) {
		put_gpu(k, "mps", &now, rates[i].dram_util);
		put_member(k, &r[i], rates[i].iterations_per_s);
		fprintf(k->out.f, ",%u,%s\n", group, form);
	}
	return rc;
}

static int make_groups(struct maker *k)
{
	int rc = open_table(k, "groups.csv", GPU_COLUMNS "," MEMBER_COLUMNS("") ",group,form");

	for (unsigned g = 0; !rc && g < 12; g += 3) {
		rc = put_group(k, g, "equal3", 3, 33);
		if (!rc)
			rc = put_group(k, g + 1, "equal4", 4, 25);
		if (!rc)
			rc = put_group(k, g + 2, "unpartitioned2", 2, 100);
	}
	return rc ? rc : hes_file_commit(&k->out, &k->err);
}

static int make_gpu(struct maker *k)
{
	char path[4096];
	int rc;

	snprintf(path, sizeof(path), "%s/gpu.json", k->dir);
	rc = hes_file_create(&k->out, path, &k->err);
	if (rc)
		return rc;
	fprintf(k->out.f,
		"{\"format\": \"heshare measured GPU\", \"version\": 1, \"test\": true,\n"
		" \"gpu\": {\"name\": \"made up for tests\", \"gpu_type\": \"%s\", \"sm_count\": "
		"%u, \"power_limit_mw\": %u,\n"
		"  \"sm_clock_max_mhz\": null},\n"
		" \"sharing\": {\"mechanism\": \"mps\", \"why\": \"\"}, \"idle_power_mw\": %u}\n",
		k->gpu.name, k->gpu.sm_count, k->gpu.power_limit_mw, k->gpu.idle_power_mw);
	return hes_file_commit(&k->out, &k->err);
}

static int make(struct maker *k, const struct hes_catalogue *c, char **argv)
{
	const struct hes_gpu_type *g = hes_gpu_type_find(c, argv[2], &k->err);
	int rc = g ? hes_model_load(argv[1], &k->m, &k->err) : k->err.code;

	if (!rc)
		rc = hes_model_add_inference(k->m, &k->err);
	if (!rc)
		rc = hes_model_derive(k->m, c, &k->err);
	if (!rc)
		rc = hes_folder_create(k->dir, &k->err);
	if (rc)
		return rc;
	k->gpu = *g;
	k->gpu.idle_power_mw = g->idle_power_mw * 5 / 4;
	make_truth(k);
	rc = make_gpu(k);
	if (!rc)
		rc = make_solo(k);
	if (!rc)
		rc = make_pairs(k);
	return rc ? rc : make_groups(k);
}

int main(int argc, char **argv)
{
	struct maker k = { .n = argc > 4 ? strtoul(argv[4], NULL, 10) : N_NETWORKS,
			   .noise = argc > 5 ? strtod(argv[5], NULL) : .01,
			   .dir = argc > 3 ? argv[3] : "" };
	struct hes_catalogue c = { 0 };
	int rc;

	if (argc < 4 || argc > 6 || k.n < 4 || k.n > N_NETWORKS) {
		fputs("usage: measured_gpu PHYSICS.yaml TYPE FOLDER [NETWORKS [NOISE]]\n", stderr);
		return 2;
	}
	k.few = k.n < FEW ? k.n : FEW;
	hes_rng_seed(&k.rng, 1);
	rc = hes_catalogue_load(NULL, &c, &k.err);
	if (!rc)
		rc = make(&k, &c, argv);
	if (rc)
		fprintf(stderr, "measured_gpu: %s\n", k.err.msg);
	hes_model_free(k.m);
	hes_catalogue_free(&c);
	return rc ? 1 : 0;
}
