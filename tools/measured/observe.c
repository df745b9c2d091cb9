/*
 * observe.c - readers of the published sets, one function a file's rows; see
 * observe.h.
 *
 * GPUs measured in our own format are measured.c's.
 * Each reader names the GPU a set was measured on, turns its columns into
 * jobs and units; check.c judges them. What the
 * sets are and where they come from: docs/gpu-model.md.
 */
#include "measured/observe.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "measured/locked.h"
#include "measured/tally.h"
#include "measured/measured.h"
#include "measured/set_reader.h"

int hes_observations_add(struct hes_observations *o, const struct hes_observation *v,
			 struct hes_err *err)
{
	if (o->n == o->capacity) {
		size_t capacity = o->capacity ? 2 * o->capacity : 1024;
		void *grown = realloc(o->v, capacity * sizeof(*o->v));

		if (!grown)
			return hes_fail(err, -ENOMEM, "out of memory");
		o->v = grown;
		o->capacity = capacity;
	}
	o->v[o->n++] = *v;
	return 0;
}

uint32_t hes_fold(const char *name)
{
	uint32_t h = 2166136261u;

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 16777619u;
	return h | 1;
}

/* From 0 to what an uint32_t holds, for batch sizes and clocks become one. */
static double number(struct set_reader *r, const char *column)
{
	double v = 1;
	int at = r->rc ? 0 : hes_csv_column(r->csv, column, r->err);

	if (!r->rc)
		r->rc = at < 0 ? at : hes_csv_double(r->csv, at, 0, 4e9, &v, r->err);
	return r->rc ? 1 : v;
}

static const char *text(struct set_reader *r, const char *column)
{
	int at = r->rc ? 0 : hes_csv_column(r->csv, column, r->err);

	if (!r->rc && at < 0)
		r->rc = at;
	return r->rc ? "" : hes_csv_text(r->csv, at);
}

static const struct hes_workload *workload(struct set_reader *r, const char *fmt, ...)
	HES_PRINTF(2, 3);
static const struct hes_workload *workload(struct set_reader *r, const char *fmt, ...)
{
	char name[128];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(name, sizeof(name), fmt, ap);
	va_end(ap);
	return hes_model_workload(r->m, name, NULL);
}

static struct hes_setup setup(struct set_reader *r, const char *type, const struct hes_workload *w,
			      double batch, double share)
{
	const struct hes_gpu_type *g = hes_gpu_type_find(r->c, type, r->rc ? NULL : r->err);
	struct hes_setup s = { .n = 1,
			       .r = { { w, (uint32_t)lround(batch), (uint32_t)lround(share) } } };

	if (g)
		s.gpu = *g;
	else if (!r->rc)
		r->rc = -ENOENT;
	return s;
}

/* The GPUs of some sets are SXM A100s with the 40 GB kind's memory. */
static void with_40gb(struct hes_setup *s)
{
	if (strcmp(s->gpu.name, "A100-SXM-80") == 0)
		s->gpu.memory_bandwidth_gbs = 1555;
}

/* Copies of the first job. */
static void multiply(struct hes_setup *s, double copies)
{
	size_t n = (size_t)fmin(fmax(copies, 1), HES_MODEL_MAX_JOBS);

	for (s->n = 1; s->n < n; s->n++)
		s->r[s->n] = s->r[0];
}

/* A slice of a partitioned GPU: its SMs, and eighths of memory and L2. */
static void slice(struct hes_setup *s, double slices)
{
	unsigned n = (unsigned)lround(slices), eighths = n == 7 ? 8 : n >= 3 ? 4 : n;

	s->gpu.sm_count = 14 * n;
	s->gpu.memory_bandwidth_gbs = s->gpu.memory_bandwidth_gbs * eighths / 8;
	s->gpu.l2_kib = s->gpu.l2_kib * eighths / 8;
}

/* The GPU behind the name a set uses; NULL: not one of ours. */
static const char *gpu_type_of(const char *name)
{
	static const char *const names[][2] = {
		{ "T4", "T4" },
		{ "T4-16GB", "T4" },
		{ "t4", "T4" },
		{ "V100-16GB", "V100-SXM2-32" },
		{ "v100", "V100-PCIe" },
		{ "A100-40GB", "A100-SXM-80" },
		{ "dgx", "A100-SXM-80" },
		{ "rtx", "GeForce-RTX-2080-Ti" },
		{ "quad", "Quadro-RTX-6000" },
		{ "p100", "P100-PCIe-16" },
		{ "a40", "A40" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i][0], name) == 0)
			return names[i][1];
	return NULL;
}

static void igniter_solo_row(struct set_reader *r)
{
	const struct hes_workload *w = workload(r, "%s-trt8", text(r, "model"));
	struct hes_setup s = setup(r, "V100-SXM2-32", w, number(r, "batch"), number(r, "mps_pct"));
	const char *dram = text(r, "dram_util_pct");

	if (!w)
		return;
	set_reader_observe(r, HES_SERIES_IGNITER_SOLO, HES_METRIC_TIME_S, &s,
			   number(r, "latency_ms") / 1e3, false);
	if (dram[0] && set_reader_observe(r, HES_SERIES_IGNITER_DRAM, HES_METRIC_DRAM_UTIL, &s,
					  number(r, "dram_util_pct") / 100, false))
		r->out->v[r->out->n - 1].l2_use = number(r, "l2_util_pct") / 100;
}

/* The testbed's networks, in another framework and on a GPU they were not fitted on. */
static void igniter_testbed_row(struct set_reader *r)
{
	const struct hes_workload *w = workload(r, "%s", text(r, "model"));
	struct hes_setup s = setup(r, "V100-SXM2-32", w, number(r, "batch"), number(r, "mps_pct"));

	if (w)
		set_reader_observe(r, HES_SERIES_IGNITER_TESTBED, HES_METRIC_TIME_S, &s,
				   number(r, "latency_ms") / 1e3, false);
}

static void igniter_power_row(struct set_reader *r)
{
	const struct hes_workload *w = workload(r, "%s-trt8", text(r, "model"));
	struct hes_setup s = setup(r, "V100-SXM2-32", w, number(r, "batch"), number(r, "mps_pct"));

	if (w)
		set_reader_observe(r, HES_SERIES_IGNITER_POWER, HES_METRIC_POWER_W, &s,
				   number(r, "power_w"), false);
	if (w && number(r, "sm_mhz") < s.gpu.clock_max_mhz)
		set_reader_observe(r, HES_SERIES_IGNITER_CLOCK, HES_METRIC_CLOCK_GHZ, &s,
				   number(r, "sm_mhz") / 1e3, false);
}

static void igniter_copies_row(struct set_reader *r)
{
	const struct hes_workload *w = workload(r, "vgg19-trt8");
	struct hes_setup s = setup(r, "V100-SXM2-32", w, 3, 20);

	if (!w)
		return;
	multiply(&s, number(r, "n_colocated"));
	set_reader_observe(r, HES_SERIES_IGNITER_COPIES, HES_METRIC_POWER_W, &s,
			   number(r, "power_w"), false);
	if (number(r, "sm_mhz") < s.gpu.clock_max_mhz)
		set_reader_observe(r, HES_SERIES_IGNITER_CLOCK, HES_METRIC_CLOCK_GHZ, &s,
				   number(r, "sm_mhz") / 1e3, false);
}

/* Give the last observation the measured use of its second job alone. */
static void add_co_runners_use(struct set_reader *r)
{
	struct hes_observation *pair = r->rc ? NULL : &r->out->v[r->out->n - 1];

	for (size_t i = r->first; pair && i < r->out->n; i++) {
		const struct hes_observation *o = &r->out->v[i];

		if (o->series == HES_SERIES_IGNITER_DRAM &&
		    o->at.r[0].workload == pair->at.r[1].workload &&
		    o->at.r[0].batch == pair->at.r[1].batch &&
		    o->at.r[0].sm_pct == pair->at.r[1].sm_pct) {
			pair->co_l2 = o->l2_use;
			pair->co_dram = o->measured;
		}
	}
}

static void igniter_pairs_row(struct set_reader *r)
{
	const struct hes_workload *one = workload(r, "%s-trt8", text(r, "model1"));
	const struct hes_workload *two = workload(r, "%s-trt8", text(r, "model2"));
	struct hes_setup a = setup(r, "V100-SXM2-32", one, number(r, "batch1"), number(r, "mps1"));
	struct hes_setup b = setup(r, "V100-SXM2-32", two, number(r, "batch2"), number(r, "mps2"));
	const double slowdown[2] = { number(r, "slowdown1"), number(r, "slowdown2") };

	for (int i = 0; one && two && i < 2; i++) {
		struct hes_setup alone = i ? b : a, together = alone;

		together.r[1] = i ? a.r[0] : b.r[0];
		together.n = 2;
		set_reader_compare(r, HES_SERIES_IGNITER_PAIRS, HES_METRIC_TIME_S, &together,
				   &alone, slowdown[i], false);
		add_co_runners_use(r);
	}
}

static void jetson_row(struct set_reader *r)
{
	const struct hes_workload *w = workload(r, "%s-jetson", text(r, "model"));
	struct hes_setup s = setup(r, "Jetson-TX2", w, 1, 100);

	s.clock_mhz = (uint32_t)number(r, "gpu_mhz");
	if (!w)
		return;
	set_reader_observe(r, HES_SERIES_JETSON_TIME, HES_METRIC_TIME_S, &s,
			   number(r, "exec_time_us") / 1e6, false);
	set_reader_observe(r, HES_SERIES_JETSON_POWER, HES_METRIC_POWER_W, &s,
			   number(r, "gpu_power_mw") / 1e3, false);
}

/* Items of an epoch; only their product with the work of an item matters. */
static double epoch_items(const char *dataset)
{
	static const struct {
		const char *dataset;
		double items;
	} sizes[] = {
		{ "cifar100", 50000 },       { "imagenet", 1281167 },    { "librispeech", 28539 },
		{ "movielens-1m", 4970845 }, { "sentiment140", 500000 }, { "squad", 88524 },
	};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		if (strcmp(sizes[i].dataset, dataset) == 0)
			return sizes[i].items;
	return 0;
}

static bool same_job(const struct hes_setup *a, const struct hes_setup *b)
{
	return a->r[0].workload == b->r[0].workload && a->r[0].batch == b->r[0].batch;
}

/* A row of Zeus's table. */
struct zeus {
	struct hes_setup at;
	double step_s, power_w;
};

/* @return whether the row is of a workload and a GPU that the model knows */
static bool zeus_row(struct set_reader *r, struct zeus *z)
{
	const char *dataset = text(r, "dataset"), *gpu = gpu_type_of(text(r, "gpu"));
	double items = epoch_items(dataset), batch = number(r, "batch");
	/* Two optimisers were tried on one network only. */
	bool two = strcmp(dataset, "cifar100") == 0;
	const struct hes_workload *w =
		workload(r, "%s%s%s-%s-zeus", text(r, "network"), two ? "-" : "",
			 two ? text(r, "optimizer") : "", dataset);

	if (!gpu || !w || items == 0)
		return false;
	z->at = setup(r, gpu, w, batch, 100);
	z->at.power_limit_mw = (uint32_t)(number(r, "power_limit_w") * 1e3);
	z->step_s = number(r, "time_per_epoch_s") / (items / batch);
	z->power_w = number(r, "avg_power_w");
	return r->rc == 0;
}

/* Time and energy at a cap, against those of the same job @full without one. */
static void zeus_capped(struct set_reader *r, const struct zeus *z, const struct zeus *full,
			enum hes_series_id time, enum hes_series_id energy)
{
	double slower = z->step_s / full->step_s;

	set_reader_compare(r, time, HES_METRIC_TIME_S, &z->at, &full->at, slower, false);
	set_reader_compare(r, energy, HES_METRIC_ENERGY_J, &z->at, &full->at,
			   slower * z->power_w / full->power_w, false);
	if (!r->rc)
		r->out->v[r->out->n - 1].noise = full->power_w * 1e3 < z->at.power_limit_mw;
}

static void zeus_observe(struct set_reader *r, const struct zeus *z, const struct zeus *full)
{
	const char *type = z->at.gpu.name;
	bool v100 = strcmp(type, "V100-PCIe") == 0,
	     low = z->at.power_limit_mw <= z->at.gpu.power_limit_mw / 2;

	if (low) {
		zeus_capped(r, z, full, HES_SERIES_ZEUS_LOW_TIME,
			    v100                  ? HES_SERIES_ZEUS_LOW_V100
			    : strcmp(type, "A40") ? HES_SERIES_ZEUS_LOW_P100
						  : HES_SERIES_ZEUS_LOW_A40);
	} else if (v100) {
		set_reader_observe(r, HES_SERIES_ZEUS_TIME, HES_METRIC_TIME_S, &z->at, z->step_s,
				   false);
		set_reader_observe(r, HES_SERIES_ZEUS_ENERGY, HES_METRIC_ENERGY_J, &z->at,
				   z->step_s * z->power_w, false);
	} else {
		set_reader_observe(r, HES_SERIES_ZEUS_TYPES_TIME, HES_METRIC_TIME_S, &z->at,
				   z->step_s, false);
		set_reader_observe(r, HES_SERIES_ZEUS_TYPES_POWER, HES_METRIC_POWER_W, &z->at,
				   z->power_w, false);
		zeus_capped(r, z, full, HES_SERIES_ZEUS_TYPES_CAPPED, HES_SERIES_ZEUS_TYPES_CAPPED);
	}
}

static void read_zeus(struct set_reader *r)
{
	const char *file = "zeus_power_limit/power_limit_train.csv";
	struct zeus full[256], z = { 0 };
	size_t n = 0, i;

	if (!set_reader_open(r, file))
		return;
	while (set_reader_next(r))
		if (zeus_row(r, &z) && z.at.power_limit_mw == z.at.gpu.power_limit_mw &&
		    n < sizeof(full) / sizeof(full[0]))
			full[n++] = z;
	if (!set_reader_open(r, file))
		return;
	while (set_reader_next(r)) {
		if (!zeus_row(r, &z))
			continue;
		for (i = 0; i < n; i++)
			if (same_job(&full[i].at, &z.at) &&
			    strcmp(full[i].at.gpu.name, z.at.gpu.name) == 0)
				break;
		if (i < n)
			zeus_observe(r, &z, &full[i]);
	}
}

static void a100_sweep_row(struct set_reader *r)
{
	const struct hes_workload *w = workload(r, "%s", text(r, "benchmark"));
	struct hes_setup s = setup(r, "A100-PCIe-80", w, 1, 100);

	if (strcmp(text(r, "gpu"), "cricket-a100") || !w)
		return;
	s.clock_mhz = (uint32_t)number(r, "sm_mhz");
	s.power_limit_mw = (uint32_t)(number(r, "power_cap_w") * 1e3);
	set_reader_observe(r, HES_SERIES_A100_TIME, HES_METRIC_TIME_S, &s, number(r, "time_s"),
			   false);
	set_reader_observe(r, HES_SERIES_A100_POWER, HES_METRIC_POWER_W, &s,
			   number(r, "avg_power_w"), false);
}

static void parva_row(struct set_reader *r)
{
	const char *model = text(r, "model");
	const struct hes_workload *w =
		workload(r, "%s", strcmp(model, "bert") ? model : "bert-large");
	struct hes_setup s = setup(r, "A100-SXM-80", w, number(r, "batch"), 100);
	double processes = number(r, "n_procs");
	bool unseen = w && strcmp(w->origin, HES_MODEL_DERIVED) == 0;

	if (!w)
		return;
	slice(&s, number(r, "mig_gpcs"));
	multiply(&s, processes);
	set_reader_observe(
		r,
		unseen    ? (s.n > 1 ? HES_SERIES_PARVA_NEW_SHARED : HES_SERIES_PARVA_NEW_ALONE)
		: s.n > 1 ? HES_SERIES_PARVA_SHARED
			  : HES_SERIES_PARVA_ALONE,
		HES_METRIC_ITEMS_PER_S, &s, processes * number(r, "throughput_per_proc"), false);
}

static void tensorrt_bert_row(struct set_reader *r)
{
	const char *gpu = gpu_type_of(text(r, "gpu"));
	bool large = strcmp(text(r, "model"), "BERT Large") == 0;
	const struct hes_workload *w =
		workload(r, "bert-%s-trt-%s", large ? "large" : "base", text(r, "seq_len"));
	struct hes_setup s;

	if (!gpu || !w || strcmp(text(r, "precision"), "fp16"))
		return;
	s = setup(r, gpu, w, number(r, "batch"), 100);
	with_40gb(&s);
	set_reader_observe(r, HES_SERIES_BERT_TIME, HES_METRIC_TIME_S, &s,
			   number(r, "avg_ms") / 1e3, false);
}

/*
 * ResNet-50 in TensorFlow on three types; and in PyTorch on two, which is the
 * testbed's workload where it was not fitted.
 */
static void dle_row(struct set_reader *r)
{
	const char *gpu = gpu_type_of(text(r, "gpu")), *precision = text(r, "precision");
	const char *readme = text(r, "readme");
	bool mixed = strcmp(precision, "mixed") == 0;
	bool torch = strcmp(readme, "PyTorch/Classification/ConvNets/resnet50v1.5") == 0;
	const struct hes_workload *w = workload(r, "resnet50%s",
						torch   ? ""
						: mixed ? "-tf-mixed"
							: "-tf");
	struct hes_setup s;
	double batch;

	if (!gpu || !w ||
	    (!torch && strcmp(readme, "TensorFlow/Classification/ConvNets/resnet50v1.5")))
		return;
	if (!mixed && strcmp(precision, strncmp(gpu, "A100", 4) ? "fp32" : "tf32"))
		return;
	if (torch && mixed)
		return;
	batch = number(r, "batch");
	s = setup(r, gpu, w, batch, 100);
	with_40gb(&s);
	set_reader_observe(r, torch ? HES_SERIES_DLE_TESTBED : HES_SERIES_DLE_TIME,
			   HES_METRIC_TIME_S, &s, batch / number(r, "throughput"), false);
}

/* BERT Large in TensorFlow, sequences of 128. */
static void dle_bert_row(struct set_reader *r)
{
	const char *gpu = gpu_type_of(text(r, "gpu"));
	const struct hes_workload *w = workload(r, "bert-large");
	struct hes_setup s;
	double batch;

	if (!gpu || !w || strcmp(text(r, "readme"), "TensorFlow/LanguageModeling/BERT") ||
	    strcmp(text(r, "model"), "large") || strcmp(text(r, "seq_len"), "128") ||
	    strcmp(text(r, "precision"), "fp32") || strncmp(gpu, "A100", 4) == 0)
		return;
	batch = number(r, "batch");
	s = setup(r, gpu, w, batch, 100);
	set_reader_observe(r, HES_SERIES_DLE_BERT, HES_METRIC_TIME_S, &s,
			   batch / number(r, "throughput"), false);
}

/* The kernels of one forward pass at batch 4, summed up. */
static void read_orion(struct set_reader *r)
{
	struct {
		const char *name;
		double kernels_s;
	} passes[] = { { "resnet50", 0 }, { "resnet101", 0 }, { "mobilenetv2", 0 } };
	const size_t n = sizeof(passes) / sizeof(passes[0]);
	char pass[64];

	if (!set_reader_open(r, "orion_v100_kernels/kernels.csv.gz"))
		return;
	while (set_reader_next(r))
		for (size_t i = 0; i < n; i++) {
			snprintf(pass, sizeof(pass), "%s_4_fwd", passes[i].name);
			if (strcmp(text(r, "model_batch_pass"), pass) == 0 &&
			    strcmp(text(r, "set"), "kernel_files") == 0)
				passes[i].kernels_s += number(r, "duration_ns") * 1e-9;
		}
	for (size_t i = 0; i < n && !r->rc; i++) {
		const struct hes_workload *w = workload(r, "%s", passes[i].name);
		struct hes_setup s = setup(r, "V100-PCIe", w, 4, 100);

		if (w)
			set_reader_observe(r, HES_SERIES_ORION, HES_METRIC_GPU_S, &s,
					   passes[i].kernels_s, false);
	}
}

static void read_sia(struct set_reader *r, const char *application)
{
	char file[64];

	snprintf(file, sizeof(file), "sia_profiles/seed_1gpu_%s.csv", application);
	if (!set_reader_open(r, file))
		return;
	while (set_reader_next(r)) {
		const char *gpu = gpu_type_of(text(r, "gpu_type"));
		const struct hes_workload *w = workload(r, "%s-sia", application);
		struct hes_setup s;

		if (!gpu || !w)
			continue;
		s = setup(r, gpu, w, number(r, "local_bsz"), 100);
		with_40gb(&s);
		/* Of Turing's GPUs the T4 alone is one that workloads are fitted on. */
		set_reader_observe(r,
				   s.gpu.compute == 75 && strcmp(gpu, "T4") ? HES_SERIES_SIA_TYPES
									    : HES_SERIES_SIA_TIME,
				   HES_METRIC_TIME_S, &s, number(r, "step_time"), false);
	}
}

static void miso_steps_row(struct set_reader *r)
{
	const struct hes_workload *w = workload(r, "%s-miso", text(r, "model"));
	struct hes_setup s = setup(r, "A100-PCIe-40", w, number(r, "batch"), 100);
	double slices = number(r, "mig_slices");

	if (!w)
		return;
	slice(&s, slices);
	set_reader_observe(
		r, slices == 3 || slices == 7 ? HES_SERIES_MISO_TIME : HES_SERIES_MISO_SLICES,
		HES_METRIC_TIME_S, &s, number(r, "median_step_s"), false);
}

static void miso_power_row(struct set_reader *r)
{
	const struct hes_workload *w = workload(r, "%s-miso", text(r, "model"));
	struct hes_setup s = setup(r, "A100-PCIe-40", w, number(r, "batch"), 100);

	if (w)
		set_reader_observe(r, HES_SERIES_MISO_POWER, HES_METRIC_POWER_W, &s,
				   number(r, "power_w"), false);
}

/* Speed of every time in @from against the T4's at the same workload and batch. */
static void add_ratios(struct set_reader *r, enum hes_series_id from, enum hes_series_id to)
{
	size_t n = r->out->n;

	for (size_t i = r->first; i < n && !r->rc; i++) {
		struct hes_observation fast = r->out->v[i];

		for (size_t j = r->first;
		     fast.series == from && strcmp(fast.at.gpu.name, "T4") && j < n; j++) {
			struct hes_observation slow = r->out->v[j];

			if (slow.series != from || strcmp(slow.at.gpu.name, "T4") ||
			    !same_job(&slow.at, &fast.at))
				continue;
			set_reader_compare(r, to, HES_METRIC_TIME_S, &slow.at, &fast.at,
					   slow.measured / fast.measured, false);
			break;
		}
	}
}

/* A time in the program that a workload was fitted in, at the full power limit. */
static bool is_plain_time(const struct hes_observation *o)
{
	switch (o->series) {
	case HES_SERIES_ZEUS_TIME:
	case HES_SERIES_ZEUS_TYPES_TIME:
		return o->at.power_limit_mw == o->at.gpu.power_limit_mw;
	case HES_SERIES_BERT_TIME:
	case HES_SERIES_DLE_TIME:
	case HES_SERIES_SIA_TIME:
	case HES_SERIES_SIA_TYPES:
		return true;
	default:
		return false;
	}
}

/* The times on every type once more, to be predicted from the other types. */
static void add_types(struct set_reader *r)
{
	static const struct {
		const char *prefix;
		enum hes_series_id series;
	} types[] = {
		{ "P100", HES_SERIES_TYPE_P100 },       { "V100", HES_SERIES_TYPE_V100 },
		{ "T4", HES_SERIES_TYPE_T4 },           { "GeForce", HES_SERIES_TYPE_RTX_2080_TI },
		{ "Quadro", HES_SERIES_TYPE_RTX_6000 }, { "A40", HES_SERIES_TYPE_A40 },
		{ "A100", HES_SERIES_TYPE_A100 },
	};
	size_t n = r->out->n;

	for (size_t i = r->first; i < n; i++) {
		const struct hes_observation o = r->out->v[i];

		if (!is_plain_time(&o))
			continue;
		set_reader_observe(r, HES_SERIES_TYPES, o.metric, &o.at, o.measured, false);
		for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++)
			if (strncmp(o.at.gpu.name, types[t].prefix, strlen(types[t].prefix)) == 0)
				set_reader_observe(r, types[t].series, o.metric, &o.at, o.measured,
						   false);
	}
}

static const struct {
	const char *file;
	void (*row)(struct set_reader *r);
} tables[] = {
	{ "igniter_v100/solo_mps.csv", igniter_solo_row },
	{ "igniter_v100/solo_mps.csv", igniter_testbed_row },
	{ "igniter_v100/power_freq.csv", igniter_power_row },
	{ "igniter_v100/colocated_n_vgg19_20pct.csv", igniter_copies_row },
	{ "igniter_v100/pair_mps.csv", igniter_pairs_row },
	{ "etf_jetson_tx2/freq_time_power.csv", jetson_row },
	{ "a100_freq_powercap/energy_time.csv", a100_sweep_row },
	{ "parvagpu_a100/mig_batch_nproc.csv", parva_row },
	{ "tensorrt_bert/latency.csv", tensorrt_bert_row },
	{ "nvidia_dle/native_inference.csv", dle_row },
	{ "nvidia_dle/native_inference.csv", dle_bert_row },
	{ "miso_a100/mig_step_time.csv", miso_steps_row },
	{ "miso_a100/full_gpu_util_power.csv", miso_power_row },
};

static void read_published(struct set_reader *r)
{
	static const char *const sia[] = { "bert", "imagenet", "cifar10" };

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		if (set_reader_open(r, tables[i].file))
			while (set_reader_next(r))
				tables[i].row(r);
	locked_read(r);
	tally_read(r);
	read_zeus(r);
	read_orion(r);
	for (size_t i = 0; i < sizeof(sia) / sizeof(sia[0]); i++)
		read_sia(r, sia[i]);
	add_ratios(r, HES_SERIES_BERT_TIME, HES_SERIES_BERT_RATIO);
	add_ratios(r, HES_SERIES_DLE_TIME, HES_SERIES_DLE_RATIO);
	add_ratios(r, HES_SERIES_SIA_TIME, HES_SERIES_SIA_RATIO);
	add_types(r);
	hes_csv_close(r->csv);
	r->csv = NULL;
}

int hes_observe(const struct hes_model *m, const struct hes_catalogue *c, const char *dir,
		bool tests, struct hes_observations *out, struct hes_err *err)
{
	const size_t n = out->n, n_gpus = out->n_gpus;
	struct set_reader r = { .m = m, .c = c, .dir = dir, .out = out, .err = err, .first = n };
	struct stat st;

	if (stat(dir, &st) != 0)
		return hes_fail(err, -errno, "%s: %s", dir, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return hes_fail(err, -ENOTDIR,
				"%s: not a folder; the one that holds the data sets is needed",
				dir);
	read_published(&r);
	if (!r.rc)
		r.rc = hes_observe_gpus(m, c, dir, tests, out, err);
	if (!r.rc && out->n == n &&
	    out->n_gpus == n_gpus) /* nothing checked must not pass for all met */
		r.rc = hes_fail(
			err, -ENOENT,
			"%s: no data set below it; one is a folder such as %s, or a measured "
			"GPU's with gpu.json",
			dir, hes_series[0].set);
	if (r.rc) {
		out->n = n;
		out->n_gpus = n_gpus;
	}
	return r.rc;
}

void hes_observations_free(struct hes_observations *o)
{
	free(o->v);
	free(o->gpus);
	*o = (struct hes_observations){ 0 };
}
