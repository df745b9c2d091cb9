/*
 * calibrate.c - fit the physics parameters to measurements: published sets,
 * and GPUs measured in our own format.
 *
 *	heshare-calibrate [--stage PATTERN] [--without TYPE] [--tests] PHYSICS.yaml DIR... >
 *FITTED.yaml
 *	heshare-calibrate --check [--physics FILE] [--tests] [--json] DIR...
 *
 * --check prints the model's errors against the measurements. It fits nothing but what it leaves
 * out in turn: kernels at locked clocks, and a measured GPU's shares and pairs.
 *
 * Levenberg-Marquardt (MINPACK's lmdif) over the logarithms of the parameters
 * named in stages[], one stage a data set, from the values in PHYSICS.yaml.
 * Residuals are log(model / measured) over the stage's tolerance, flattened for
 * outliers. A weak pull to the starting values keeps parameters that the data do not determine. The
 *equations are the library's.
 *
 * A measured GPU has a stage of its own, gpu_stage: its GPU type's parameters,
 * and those of workloads that were fitted on nothing else. No fit uses the part of a GPU that is
 *held back (bench/gpu/measured.md).
 */
#include <cminpack-1/cminpack.h>
#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "calibrate_check.h"
#include "calibrate_write.h"
#include "measured/check.h"
#include "measured/measured.h"
#include "model/params.h"

#define COUNT(a)           (sizeof(a) / sizeof((a)[0]))
#define MAX_FREE           400
#define INTERFERENCE_START 4
#define PULL               0.02 /* residual of a parameter moved by a factor e */
/* Of the interference of a type with jobs that share, as pairs left out: their slowdowns were off
 * by 3.1 of 18 % on an H100, and by 2.0 of 5 % on a V100. */
#define INTERFERENCE_SPREAD 0.3

struct weight {
	enum hes_series_id series;
	double tolerance;
};

/* "workloads|gpu TYPE|nature" and the parameters that are free in them. */
struct group {
	const char *kind;    /* "workload", "gpu", "nature" */
	const char *pattern; /* of names, as of the shell */
	const char *params;  /* "name:least:most ..." */
};

/* Parameters without data: one entry takes them from another, times a factor. */
struct inherit {
	const char
		*kind; /* "workload", "gpu"; "halfway": a workload's mean of what it has and that */
	const char *to, *from;
	const char *params; /* "name:factor ..." */
};

struct stage {
	const char *name;
	int starts;    /* fits of each workload alone, from scattered starts, before all together */
	bool hold_out; /* fit again without each workload of held_out */
	struct weight weights[8];
	struct group groups[12];
};

#define PARVA "efficiency:.02:1.2" PARVA_BUT_EFFICIENCY
#define PARVA_BUT_EFFICIENCY                                               \
	" host_us:100:60000 serial_us:1:20000 serial_us_per_item:.1:5000 " \
	"parallel_sms:1:400 parallel_growth:.05:1 traffic_mib_per_item:1:3000"

/* Depthwise convolutions have no use for tensor cores: they reach the CUDA cores' rate, an eighth
 * of TF32's, at most. */
#define PARVA_DEPTHWISE "efficiency:.02:.125" PARVA_BUT_EFFICIENCY

/* Its smallest product, 128 tokens by 1024 columns, has 64 tiles of 64 x 32; on the A100 the host
 * hides how far they spread. */
#define PARVA_BERT                                                                           \
	"efficiency:.02:1.2 host_us:100:60000 serial_us:1:20000 serial_us_per_item:.1:5000 " \
	"parallel_sms:64:400 parallel_growth:.05:1 traffic_mib_per_item:1:3000"

static const struct stage stages[] = {
#include "calibrate_stages.h"
};

#define GPU_WEIGHTS                                                                        \
	{                                                                                  \
		{ HES_SERIES_GPU_TIME, .02 }, { HES_SERIES_GPU_POWER, .03 },               \
			{ HES_SERIES_GPU_PAIR_POWER, .03 }, { HES_SERIES_GPU_PAIRS, .03 }, \
			{ HES_SERIES_GPU_CLOCK, .02 },                                     \
		{                                                                          \
			HES_SERIES_GPU_DRAM, .15                                           \
		}                                                                          \
	}
#include "calibrate_gpu.h"

/* Of a measured GPU: groups are its type, and the workloads that are its own. */
static const struct stage type_stage = {
	"type", 0, false, GPU_WEIGHTS, { { "gpu", "", GPU_TYPE } }
};
static const struct stage gpu_stage = {
	"gpu",
	3,
	false,
	GPU_WEIGHTS,
	{ { "gpu", "", GPU_TYPE }, { "workload", "", GPU_WORKLOAD }, { "host", "", GPU_HOST } }
};

static const struct inherit inherits[] = {
#include "calibrate_inherits.h"
};

struct fit {
	struct hes_model *m;
	struct hes_observations *o;
	double tolerance[HES_SERIES_COUNT]; /* 0: not in this stage */
	const struct hes_workload *only;    /* rows of this workload only; NULL: of all */
	const char *without_type;           /* no rows of GPU types of this pattern */
	const struct hes_held_out *without; /* no rows of this workload; NULL: all */
	size_t gpu;                         /* rows of this measured GPU only; 0: of all */
	bool elsewhere;                     /* ... and no rows of workloads that are its own */
	uint32_t fold;                      /* no rows of this fold; 0: all */
	bool quiet;                         /* no lines about stages */
	double pull;             /* of a parameter moved by a factor e; 0: PULL, stronger the
				    more rows there are */
	double *value[MAX_FREE]; /* the parameters that are free ... */
	double least[MAX_FREE], most[MAX_FREE];
	double start[MAX_FREE]; /* ... and what the optimiser sees of them, see to_x */
	int n, rows;
	struct hes_err err;
};

/* A parameter between its bounds on a logarithmic scale, stretched to all real numbers. */
static double to_x(double v, double least, double most)
{
	double at = log(fmin(fmax(v, least * 1.0001), most / 1.0001) / least) / log(most / least);

	return log(at / (1 - at));
}

static double from_x(double x, double least, double most)
{
	return least * pow(most / least, 1 / (1 + exp(-x)));
}

/* Free the parameters of one object that a list "name:least:most ..." names; what it does not have,
 * which is 0, stays so. */
static void free_params(struct fit *f, void *object, const struct hes_param *table, size_t n,
			const char *list)
{
	char name[64];
	double least, most;
	int len;

	for (; sscanf(list, " %63[^:]:%lf:%lf%n", name, &least, &most, &len) == 3; list += len) {
		for (size_t i = 0; i < n && f->n < MAX_FREE; i++) {
			if (strcmp(table[i].name, name) || *hes_param_in(&table[i], object) == 0)
				continue;
			f->value[f->n] = hes_param_in(&table[i], object);
			f->least[f->n] = least;
			f->most[f->n] = most;
			f->start[f->n] = to_x(*f->value[f->n], least, most);
			f->n++;
		}
	}
}

/* Whether a folder before this one is of the same type. */
static bool is_later_folder(const struct fit *f)
{
	for (size_t i = 0; i + 1 < f->gpu; i++)
		if (strcmp(f->o->gpus[i].type, f->o->gpus[f->gpu - 1].type) == 0)
			return true;
	return false;
}

/* Whether a folder before this one, of the same type, has this name. */
static bool is_earlier(const struct fit *f, const char *name)
{
	for (size_t i = 0; i + 1 < f->gpu; i++)
		if (strcmp(f->o->gpus[i].name, name) == 0 &&
		    strcmp(f->o->gpus[i].type, f->o->gpus[f->gpu - 1].type) == 0)
			return true;
	return false;
}

/* The same network and arithmetic with CUDA graphs, as an earlier folder of the type measured it;
 * NULL: none. */
static struct hes_workload *graphs_of(const struct fit *f, const struct hes_workload *w)
{
	for (size_t i = 0; i < f->m->n_workloads; i++) {
		struct hes_workload *g = &f->m->workloads[i];
		size_t n = strlen(w->name);

		if (strncmp(g->name, w->name, n) == 0 && strcmp(g->name + n, "-graphs") == 0 &&
		    is_earlier(f, g->origin))
			return g;
	}
	return NULL;
}

static bool has_locked_clocks(const struct fit *f)
{
	for (size_t i = 0; i < f->o->n; i++)
		if (f->o->v[i].gpu == f->gpu && f->o->v[i].at.clock_mhz)
			return true;
	return false;
}

static void free_gpu(struct fit *f, const struct group *g)
{
	const struct hes_measured_gpu *b = &f->o->gpus[f->gpu - 1];
	const bool type = g->kind[0] == 'g' && !is_later_folder(f);

	for (size_t i = 0; type && !f->only && i < f->m->n_gpus; i++) {
		struct hes_gpu_physics *p = &f->m->gpus[i];

		if (strcmp(p->type, b->type))
			continue;
		free_params(f, p, hes_gpu_params, hes_gpu_param_count, g->params);
		if (has_locked_clocks(f))
			free_params(f, p, hes_gpu_params, hes_gpu_param_count, GPU_VOLTAGE);
		/* Only workloads fitted on another GPU separate a type's rates from their own
		 * efficiency. */
		if (f->elsewhere)
			free_params(f, p, hes_gpu_params, hes_gpu_param_count, GPU_RATES);
		if (f->elsewhere && p->rate[HES_MATH_TF32] > 0)
			free_params(f, p, hes_gpu_params, hes_gpu_param_count, GPU_TF32);
	}
	for (size_t i = 0; g->kind[0] != 'g' && i < f->m->n_workloads; i++) {
		struct hes_workload *w = &f->m->workloads[i];

		if (strcmp(w->origin, b->name) == 0 && (!f->only || f->only == w) &&
		    (g->kind[0] == 'h') == (graphs_of(f, w) != NULL))
			free_params(f, w, hes_workload_params, hes_workload_param_count, g->params);
	}
}

static void free_group(struct fit *f, const struct group *g)
{
	if (f->gpu) {
		free_gpu(f, g);
		return;
	}
	if (strcmp(g->kind, "nature") == 0 && !f->only)
		free_params(f, &f->m->nature, hes_nature_params, hes_nature_param_count, g->params);
	for (size_t i = 0; g->kind[0] == 'g' && !f->only && i < f->m->n_gpus; i++)
		if (fnmatch(g->pattern, f->m->gpus[i].type, 0) == 0)
			free_params(f, &f->m->gpus[i], hes_gpu_params, hes_gpu_param_count,
				    g->params);
	for (size_t i = 0; g->kind[0] == 'w' && i < f->m->n_workloads; i++)
		if (fnmatch(g->pattern, f->m->workloads[i].name, 0) == 0 &&
		    (!f->only || f->only == &f->m->workloads[i]))
			free_params(f, &f->m->workloads[i], hes_workload_params,
				    hes_workload_param_count, g->params);
}

static bool has_own_workload(const struct fit *f, const struct hes_observation *o)
{
	for (size_t i = 0; i < o->at.n; i++)
		if (strcmp(o->at.r[i].workload->origin, f->o->gpus[f->gpu - 1].name) == 0)
			return true;
	return false;
}

static bool has_row(const struct fit *f, const struct hes_observation *o)
{
	const struct hes_held_out *p = f->without;

	if (f->tolerance[o->series] == 0 || (f->only && o->at.r[0].workload != f->only))
		return false;
	if (f->without_type && fnmatch(f->without_type, o->at.gpu.name, 0) == 0)
		return false;
	if (f->fold && o->fold == f->fold)
		return false;
	if (o->held || (f->gpu && (o->gpu != f->gpu || (f->only && o->at.n > 1))))
		return false;
	if (f->elsewhere && has_own_workload(f, o))
		return false;
	return !p || !hes_has_workload(o, p->workload);
}

static double flatten(double r)
{
	return copysign(sqrt(2 * (sqrt(1 + r * r) - 1)), r);
}

static int residuals(void *p, int m, int n, const double *x, double *out, int flag)
{
	struct fit *f = p;
	int row = 0;

	(void)m;
	(void)flag;
	for (int i = 0; i < n; i++)
		*f->value[i] = from_x(x[i], f->least[i], f->most[i]);
	for (size_t i = 0; i < f->o->n; i++) {
		const struct hes_observation *o = &f->o->v[i];
		double v;

		if (!has_row(f, o))
			continue;
		if (hes_reproduce(f->m, o, &v, &f->err))
			return -1;
		out[row++] = flatten(log(v / o->measured) / f->tolerance[o->series]);
	}
	for (int i = 0; i < n; i++)
		out[row++] = (x[i] - f->start[i]) *
			     (f->pull > 0 ? f->pull : PULL * sqrt(f->rows / 10.0));
	return 0;
}

/* Levenberg-Marquardt from @x, which becomes the best point. @return its sum of squares, or -1 */
static double minimise(struct fit *f, double *x)
{
	int m = f->rows + f->n, pivots[MAX_FREE], evaluations, info;
	double *fvec = calloc((size_t)m * ((size_t)f->n + 2) + 6 * MAX_FREE, sizeof(*fvec));
	double *fjac, *work, norm;

	if (!fvec)
		return hes_fail(&f->err, -ENOMEM, "out of memory");
	fjac = fvec + m;
	work = fjac + (size_t)m * (size_t)f->n;
	info = lmdif(residuals, f, m, f->n, x, fvec, 1e-6, 1e-6, 0, 60 * (f->n + 1), 1e-7, work, 1,
		     10, 0, &evaluations, fjac, m, pivots, work + MAX_FREE, work + 2 * MAX_FREE,
		     work + 3 * MAX_FREE, work + 4 * MAX_FREE, work + 5 * MAX_FREE);
	if (info >= 0)
		info = residuals(f, m, f->n, x, fvec, 0);
	norm = enorm(m, fvec);
	free(fvec);
	return info < 0 ? -1 : norm * norm;
}

/* Choose rows and free parameters for a stage; @only a workload unless NULL. */
static void set_up(struct fit *f, const struct stage *s, const struct hes_workload *only)
{
	memset(f->tolerance, 0, sizeof(f->tolerance));
	f->only = only;
	f->n = f->rows = 0;
	for (size_t i = 0; i < COUNT(s->weights); i++)
		if (s->weights[i].tolerance > 0)
			f->tolerance[s->weights[i].series] = s->weights[i].tolerance;
	for (size_t i = 0; i < COUNT(s->groups) && s->groups[i].kind; i++)
		free_group(f, &s->groups[i]);
	for (size_t i = 0; i < f->o->n; i++)
		f->rows += has_row(f, &f->o->v[i]);
}

/* Each workload alone from scattered starts; the best fit is kept. */
static int scatter(struct fit *f, const struct stage *s)
{
	struct hes_rng rng;

	hes_rng_seed(&rng, 1);
	for (size_t w = 0; s->starts && w < f->m->n_workloads; w++) {
		double best = INFINITY, x[MAX_FREE], best_x[MAX_FREE] = { 0 }, sum;

		set_up(f, s, &f->m->workloads[w]);
		for (int k = 0; f->rows && f->n && k < s->starts; k++) {
			for (int i = 0; i < f->n; i++)
				x[i] = f->start[i] + (k ? 1.5 * hes_rng_normal(&rng) : 0);
			sum = minimise(f, x);
			if (sum < 0)
				return f->err.code;
			if (sum < best) {
				best = sum;
				memcpy(best_x, x, sizeof(x));
			}
		}
		for (int i = 0; best < INFINITY && i < f->n; i++)
			*f->value[i] = from_x(best_x[i], f->least[i], f->most[i]);
	}
	return 0;
}

static int fit_stage(struct fit *f, const struct stage *s)
{
	double x[MAX_FREE], sum;
	int rc = scatter(f, s);

	if (rc)
		return rc;
	set_up(f, s, NULL);
	if (f->rows == 0 || f->n == 0) {
		if (!f->quiet)
			fprintf(stderr, "%-8s no data; parameters stay\n", s->name);
		return 0;
	}
	memcpy(x, f->start, sizeof(x));
	sum = minimise(f, x);
	if (!f->quiet)
		fprintf(stderr, "%-8s %5d values, %3d parameters, rms residual %.3f\n", s->name,
			f->rows, f->n, sqrt(fmax(sum, 0) / f->rows));
	return sum < 0 ? f->err.code : 0;
}

/* Five digits are more than the data support, and keep the file readable. */
static double round_digits(double v)
{
	char digits[32];

	snprintf(digits, sizeof(digits), "%.5g", v);
	return strtod(digits, NULL);
}

static void round_values(struct fit *f)
{
	for (int i = 0; i < f->n; i++)
		*f->value[i] = round_digits(*f->value[i]);
}

/* Fit a stage without each workload in turn; the fitted nature is kept in addition to the model's.
 * What the file has stays where there is nothing to fit. */
static int hold_out(struct fit *f, const struct stage *s)
{
	struct hes_nature all = f->m->nature;
	int rc = 0;

	for (size_t i = 0; !rc && i < f->m->n_held_out; i++) {
		f->without = &f->m->held_out[i];
		rc = fit_stage(f, s);
		round_values(f);
		if (f->rows > 0)
			f->m->held_out[i].nature = f->m->nature;
		f->m->nature = all;
	}
	f->without = NULL;
	return rc;
}

static void take_over(const char *list, void *to, void *from, const struct hes_param *table,
		      size_t n, bool halfway)
{
	char name[64];
	double factor;
	int len;

	for (; sscanf(list, " %63[^:]:%lf%n", name, &factor, &len) == 2; list += len)
		for (size_t i = 0; i < n; i++)
			if (strcmp(table[i].name, name) == 0) {
				double v = factor * *hes_param_in(&table[i], from),
				       *had = hes_param_in(&table[i], to);

				*had = round_digits(halfway ? sqrt(*had * v) : v);
			}
}

/* An entry that was fitted on a measured GPU is final. */
static bool is_final(const char *origin)
{
	for (size_t i = 0; i < HES_SERIES_PUBLISHED; i++)
		if (strcmp(hes_series[i].set, origin) == 0)
			return false;
	return strcmp(origin, "derived") != 0;
}

/* What is derived, from what was fitted; the list is in order. */
static int inherit(struct fit *f)
{
	for (size_t i = 0; i < COUNT(inherits); i++) {
		const struct inherit *h = &inherits[i];
		bool gpu = strcmp(h->kind, "gpu") == 0;
		/* The tables are of our own model, which is ours to change. */
		void *to = gpu ? (void *)hes_model_gpu(f->m, h->to)
			       : (void *)hes_model_workload(f->m, h->to, NULL);
		void *from = gpu ? (void *)hes_model_gpu(f->m, h->from)
				 : (void *)hes_model_workload(f->m, h->from, NULL);

		if (!to || !from)
			return hes_fail(&f->err, -ENOENT, "%s or %s is not in the file", h->to,
					h->from);
		if (is_final(gpu ? ((struct hes_gpu_physics *)to)->origin
				 : ((struct hes_workload *)to)->origin))
			continue;
		take_over(h->params, to, from, gpu ? hes_gpu_params : hes_workload_params,
			  gpu ? hes_gpu_param_count : hes_workload_param_count,
			  strcmp(h->kind, "halfway") == 0);
	}
	return 0;
}

static const char gpu_part[] =
	"efficiency:1 parallel_sms:1 parallel_growth:1 traffic_mib_per_item:1 activity:1";

static bool has_rows_of(const struct fit *f, const struct hes_workload *w)
{
	for (size_t i = 0; i < f->o->n; i++)
		if (f->o->v[i].gpu && (!f->gpu || f->o->v[i].gpu == f->gpu) &&
		    f->o->v[i].at.r[0].workload == w)
			return true;
	return false;
}

/* The type, unless an earlier folder measured it, and the workloads that were only derived become
 * the GPU's own. What CUDA graphs showed of a network's work on the GPU holds for eager programs.
 */
static void claim(struct fit *f)
{
	const struct hes_measured_gpu *b = &f->o->gpus[f->gpu - 1];

	for (size_t i = 0; i < f->m->n_gpus && !is_later_folder(f); i++)
		if (strcmp(f->m->gpus[i].type, b->type) == 0) {
			snprintf(f->m->gpus[i].origin, HES_NAME_MAX, "%s", b->name);
			/* Below, jobs that saturate the memory hide it from the optimiser. */
			f->m->gpus[i].interference =
				fmax(f->m->gpus[i].interference, INTERFERENCE_START);
		}
	for (size_t i = 0; i < f->m->n_workloads; i++) {
		struct hes_workload *w = &f->m->workloads[i], *graphs = graphs_of(f, w);

		if (strcmp(w->origin, HES_MODEL_DERIVED) == 0 && has_rows_of(f, w))
			snprintf(w->origin, HES_NAME_MAX, "%s", b->name);
		if (graphs && strcmp(w->origin, b->name) == 0)
			take_over(gpu_part, w, graphs, hes_workload_params,
				  hes_workload_param_count, false);
	}
}

/* A type's reference is the switching of a typical network: the mean activity of its own is 1. */
static void centre_activity(struct fit *f)
{
	const struct hes_measured_gpu *b = &f->o->gpus[f->gpu - 1];
	double sum = 0, n = 0;

	for (size_t i = 0; i < f->m->n_workloads; i++)
		if (strcmp(f->m->workloads[i].origin, b->name) == 0) {
			sum += log(f->m->workloads[i].activity);
			n++;
		}
	for (size_t i = 0; n > 0 && i < f->m->n_workloads; i++)
		if (strcmp(f->m->workloads[i].origin, b->name) == 0)
			f->m->workloads[i].activity =
				round_digits(f->m->workloads[i].activity / exp(sum / n));
	for (size_t i = 0; n > 0 && i < f->m->n_gpus; i++)
		if (strcmp(f->m->gpus[i].origin, b->name) == 0)
			f->m->gpus[i].switch_w =
				round_digits(f->m->gpus[i].switch_w * exp(sum / n));
}

/* Values that the testbed derived for a network follow the GPU's measurement of the GPU's part in
 * the same arithmetic. */
static void hand_down(struct fit *f)
{
	const struct hes_measured_gpu *b = &f->o->gpus[f->gpu - 1];

	for (size_t i = 0; i < f->m->n_workloads; i++) {
		struct hes_workload *to = &f->m->workloads[i], *from;
		char name[HES_NAME_MAX];

		if (!to->testbed || (strcmp(to->origin, "derived") && strcmp(to->origin, b->name)))
			continue;
		hes_inference_name(name, to->name, "tf32", HES_STYLE_EAGER);
		from = (struct hes_workload *)hes_model_workload(f->m, name, NULL);
		if (!from || strcmp(from->origin, b->name))
			continue;
		take_over(gpu_part, to, from, hes_workload_params, hes_workload_param_count, false);
		memcpy(to->origin, from->origin, sizeof(to->origin));
	}
}

/*
 * A GPU: its type on the workloads that come from another GPU, or on all as they were derived
 * when none does; then its own workloads each on that type; then all.
 */
static int fit_gpus(struct fit *f)
{
	int rc = 0;

	for (f->gpu = 1; !rc && f->gpu <= f->o->n_gpus; f->gpu++) {
		fprintf(stderr, "%s, of type %s\n", f->o->gpus[f->gpu - 1].name,
			f->o->gpus[f->gpu - 1].type);
		claim(f);
		f->elsewhere = true;
		set_up(f, &type_stage, NULL);
		f->elsewhere = f->rows > 0;
		rc = fit_stage(f, &type_stage);
		f->elsewhere = false;
		if (!rc)
			rc = fit_stage(f, &gpu_stage);
		round_values(f);
		if (!is_later_folder(f))
			centre_activity(f);
		hand_down(f);
	}
	f->gpu = 0;
	return rc;
}

/* Mean and spread of logarithms; of one value there is no spread. */
struct logs {
	double n, sum, squares;
};

static void add_log(struct logs *l, double v)
{
	l->n++;
	l->sum += log(v);
	l->squares += log(v) * log(v);
}

static double mean_of(const struct logs *l)
{
	return round_digits(exp(l->sum / l->n));
}

static double spread_of(const struct logs *l)
{
	return l->n > 1 ? round_digits(
				  sqrt(fmax(0, l->squares - l->sum * l->sum / l->n) / (l->n - 1)))
			: 0;
}

/* Whether the host time of @w was fitted: an eager program of a measured GPU. */
static bool has_host(const struct fit *f, const struct hes_workload *w)
{
	return w->style == HES_STYLE_EAGER && strcmp(w->origin, HES_MODEL_DERIVED) &&
	       has_rows_of(f, w);
}

/* The host time that eager programs other than @but have in common; 0: there is none. */
static double host_of_others(const struct fit *f, const struct hes_workload *but)
{
	struct logs host = { 0 };

	for (size_t i = 0; i < f->m->n_workloads; i++)
		if (&f->m->workloads[i] != but && has_host(f, &f->m->workloads[i]))
			add_log(&host, f->m->workloads[i].host_us);
	return host.n > 0 ? mean_of(&host) : 0;
}

/* Rows of eager programs as the host time of the other networks predicts them. */
static int leave_hosts_out(struct fit *f)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < f->o->n; i++) {
		struct hes_observation *o = &f->o->v[i];
		struct hes_workload *w = (void *)o->at.r[0].workload;
		const double own = w ? w->host_us : 0;

		if (o->series != HES_SERIES_GPU_TIME || !has_host(f, w) || !host_of_others(f, w))
			continue;
		w->host_us = host_of_others(f, w);
		rc = hes_reproduce(f->m, o, &o->left_out, &f->err);
		w->host_us = own;
	}
	return rc;
}

/* What eager programs have in common, whatever the network: host time, with the error that it has
 * for a network left out, and start-up. */
static int fit_eager(struct fit *f)
{
	struct logs errors = { 0 }, start = { 0 };
	struct hes_eager *e = &f->m->eager;
	int rc = leave_hosts_out(f);

	for (size_t i = 0; !rc && i < f->o->n; i++) {
		struct hes_observation *o = &f->o->v[i];

		if (o->series == HES_SERIES_GPU_START)
			add_log(&start, o->measured);
		if (o->series != HES_SERIES_GPU_TIME || o->held ||
		    !has_host(f, o->at.r[0].workload) || o->left_out == 0)
			continue;
		add_log(&errors, o->measured / o->left_out);
		snprintf(e->origin, sizeof(e->origin), "%s", o->at.r[0].workload->origin);
	}
	if (errors.n > 0) {
		e->host_us = host_of_others(f, NULL);
		e->host_spread = round_digits(sqrt(errors.squares / errors.n));
	}
	if (start.n > 0) {
		e->start_s = mean_of(&start);
		e->start_spread = spread_of(&start);
	}
	return rc;
}

/* Whether a stage fits the interference of a type. */
static bool in_a_stage(const char *type)
{
	for (size_t i = 0; i < COUNT(stages); i++)
		for (size_t k = 0; k < COUNT(stages[i].groups); k++) {
			const struct group *g = &stages[i].groups[k];

			if (g->kind && strcmp(g->kind, "gpu") == 0 &&
			    fnmatch(g->pattern, type, 0) == 0 && strstr(g->params, "interference"))
				return true;
		}
	return false;
}

static bool has_sharing(const struct fit *f, const char *type)
{
	if (in_a_stage(type))
		return true;
	for (size_t i = 0; i < f->o->n; i++)
		if (f->o->v[i].series == HES_SERIES_GPU_PAIRS &&
		    strcmp(f->o->v[i].at.gpu.name, type) == 0)
			return true;
	return false;
}

/* Types without jobs that share have the mean of those with some: the V100, for which nature's
 * constant stands, those of stages, and the measured GPUs, whose data may be elsewhere. */
static void set_interference(struct fit *f)
{
	double sum = 0, n = 1;

	for (size_t i = 0; i < f->m->n_gpus; i++)
		if (has_sharing(f, f->m->gpus[i].type) ||
		    (is_final(f->m->gpus[i].origin) && f->m->gpus[i].interference_spread > 0)) {
			sum += log(f->m->gpus[i].interference);
			n++;
		}
	for (size_t i = 0; n > 1 && i < f->m->n_gpus; i++) {
		struct hes_gpu_physics *p = &f->m->gpus[i];

		if (strncmp(p->type, "V100", 4) && !in_a_stage(p->type) && !is_final(p->origin))
			p->interference = round_digits(exp(sum / n));
		else
			p->interference_spread = INTERFERENCE_SPREAD;
	}
}

static bool was_measured(const struct fit *f, const struct hes_gpu_physics *p)
{
	for (size_t i = 0; i < f->o->n_gpus; i++)
		if (strcmp(f->o->gpus[i].type, p->type) == 0)
			return true;
	return false;
}

/* Whether the fit of @w is of its host time alone, which the file has of all eager programs. */
static bool is_eager_only(const struct fit *f, const struct hes_workload *w)
{
	for (size_t i = 0; i < f->m->n_gpus; i++)
		if (strcmp(f->m->gpus[i].origin, w->origin) == 0)
			return false;
	return strcmp(f->m->eager.origin, w->origin) == 0;
}

/* Workloads that none of the measured GPUs was measured with leave again, those of eager programs
 * alone, and types that nobody measured. */
static void drop_unused(struct fit *f, size_t first, size_t first_gpu)
{
	size_t n = first, n_gpus = first_gpu;

	for (size_t i = first; i < f->m->n_workloads; i++)
		if (has_rows_of(f, &f->m->workloads[i]) && !is_eager_only(f, &f->m->workloads[i]))
			f->m->workloads[n++] = f->m->workloads[i];
	f->m->n_workloads = n;
	for (size_t i = first_gpu; i < f->m->n_gpus; i++)
		if (was_measured(f, &f->m->gpus[i]))
			f->m->gpus[n_gpus++] = f->m->gpus[i];
	f->m->n_gpus = n_gpus;
}

static int calibrate(struct fit *f, const char *only)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < COUNT(stages); i++) {
		if (only && fnmatch(only, stages[i].name, 0))
			continue;
		rc = fit_stage(f, &stages[i]);
		round_values(f);
		if (!rc && stages[i].hold_out)
			rc = hold_out(f, &stages[i]);
	}
	if (!rc && (!only || fnmatch(only, gpu_stage.name, 0) == 0))
		rc = fit_gpus(f);
	if (!rc)
		rc = fit_eager(f);
	set_interference(f);
	return rc ? rc : inherit(f);
}

/* Published kernels at locked clocks, fitted without some of them. A type with few kernels begins
 * as another type of the same chip that did not see them, and stays near it. */
static const struct without {
	enum hes_series_id series;
	const char *type, *from; /* NULL: it begins as it was fitted */
	bool power_caps;         /* rows of the type's stage count, too */
} withouts[] = {
	{ HES_SERIES_LOCKED_V100, "V100-PCIe", NULL, true },
	{ HES_SERIES_LOCKED_RTX_8000, "Quadro-RTX-8000", NULL, false },
	{ HES_SERIES_LOCKED_A40, "A40", NULL, true },
	{ HES_SERIES_LOCKED_A100_40, "A100-PCIe-40", "A100-PCIe-80", false },
	{ HES_SERIES_LOCKED_A100_80, "A100-PCIe-80", "A100-PCIe-40", false },
	{ HES_SERIES_LOCKED_A100_SXM, "A100-SXM-80", "A100-PCIe-80", false },
};

/* Predict the rows of a fold as the fit without it does, for the check's rows of what was left out.
 */
static int predict_fold(struct fit *f, uint32_t fold)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < f->o->n; i++)
		if (f->o->v[i].fold == fold && f->o->v[i].gpu == f->gpu)
			rc = hes_reproduce(f->m, &f->o->v[i], &f->o->v[i].left_out, &f->err);
	return rc;
}

static void take_over_gpu(struct fit *f, const char *list, const char *to, const char *from)
{
	void *t = (void *)hes_model_gpu(f->m, to), *g = (void *)hes_model_gpu(f->m, from);

	if (t && g)
		take_over(list, t, g, hes_gpu_params, hes_gpu_param_count, false);
}

/* Fit @s without each fold of a series in turn. The model is as before in the end. */
static int leave_out(struct fit *f, const struct stage *s, enum hes_series_id series,
		     const struct without *w)
{
	static const char *const own = "context_w:1 stall:1 dram_w:1",
				 *const curve = "volt_min:1 volt_knee:1 volt_bend:1";
	double fitted[MAX_FREE];
	int rc = 0;

	set_up(f, s, NULL);
	for (int i = 0; i < f->n; i++)
		fitted[i] = *f->value[i];
	for (size_t i = 0; !rc && i < f->o->n; i++) {
		const struct hes_observation *o = &f->o->v[i];

		if (o->series != series || o->gpu != f->gpu || o->fold == 0 || o->left_out > 0)
			continue;
		if (w && w->from) {
			take_over_gpu(f, own, w->type, w->from);
			take_over_gpu(f, curve, w->type, "Quadro-RTX-8000");
		}
		f->fold = o->fold;
		f->pull = w && w->from ? 1 : 0;
		rc = fit_stage(f, s);
		if (!rc)
			rc = predict_fold(f, o->fold);
		f->fold = 0;
		set_up(f, s, NULL);
		for (int k = 0; k < f->n; k++)
			*f->value[k] = fitted[k];
	}
	return rc;
}

/* The stage that fits the type of @w, with the type's power alone free. */
static struct stage stage_without(const struct without *w)
{
	struct stage s = { .name = w->type, .weights = { { w->series, .02 } } };

	for (size_t i = 0; i < COUNT(stages) && w->power_caps; i++)
		for (size_t k = 0; k < COUNT(stages[i].weights); k++)
			if (stages[i].weights[k].series == w->series)
				memcpy(s.weights, stages[i].weights, sizeof(s.weights));
	s.groups[0] = (struct group){ "gpu", w->type,
				      "context_w:.5:100 stall:.02:1.5 dram_w:5:150 "
				      "volt_min:.5:.95 volt_knee:.2:.85 volt_bend:.7:3" };
	return s;
}

/* Eager programs, each with the host time of the others. The model is as before in the end. */
static int leave_refitted_hosts_out(struct fit *f)
{
	const size_t size = f->m->n_workloads * sizeof(*f->m->workloads);
	struct hes_workload *kept = malloc(size);
	int rc;

	if (!kept)
		return hes_fail(&f->err, -ENOMEM, "out of memory");
	memcpy(kept, f->m->workloads, size);
	claim(f);
	rc = fit_stage(f, &gpu_stage);
	if (!rc)
		rc = leave_hosts_out(f);
	memcpy(f->m->workloads, kept, size);
	free(kept);
	return rc;
}

/* Fits that leave kernels, shares or pairs out, of all types that were fitted on such. */
static int leave_all_out(struct fit *f)
{
	struct stage once = gpu_stage;
	int rc = 0;

	f->quiet = true;
	once.starts = 0;
	for (size_t i = 0; !rc && i < COUNT(withouts); i++) {
		struct stage s = stage_without(&withouts[i]);

		if (hes_model_gpu(f->m, withouts[i].type))
			rc = leave_out(f, &s, withouts[i].series, &withouts[i]);
	}
	for (f->gpu = 1; !rc && f->gpu <= f->o->n_gpus; f->gpu++) {
		const char *origin = hes_model_gpu_origin(f->m, f->o->gpus[f->gpu - 1].type);

		if (strcmp(f->m->eager.origin, f->o->gpus[f->gpu - 1].name) == 0 &&
		    is_later_folder(f))
			rc = leave_refitted_hosts_out(f);
		if (!origin || strcmp(origin, f->o->gpus[f->gpu - 1].name))
			continue;
		rc = leave_out(f, &once, HES_SERIES_GPU_TIME, NULL);
		if (!rc)
			rc = leave_out(f, &once, HES_SERIES_GPU_PAIR_POWER, NULL);
	}
	f->gpu = 0;
	return rc;
}

/* The spread of voltages by that of powers without a kernel: power grows with the voltage's square,
 * and part of it does not follow the clock. */
static int set_voltage_spreads(struct fit *f)
{
	int rc = leave_all_out(f);

	for (size_t i = 0; !rc && i < COUNT(withouts); i++) {
		void *p = (void *)hes_model_gpu(f->m, withouts[i].type);
		double sum = 0, n = 0;

		for (size_t k = 0; k < f->o->n; k++)
			if (f->o->v[k].series == withouts[i].series && f->o->v[k].left_out > 0) {
				sum += pow(log(f->o->v[k].left_out / f->o->v[k].measured), 2);
				n++;
			}
		if (p && n > 0)
			((struct hes_gpu_physics *)p)->volt_spread = round_digits(sqrt(sum / n));
	}
	return rc;
}

struct arguments {
	const char *stage;
	const char *without;
	const char *physics; /* with --check: NULL: the built-in ones */
	bool tests, check, json;
	int first; /* operand */
};

/* @return whether they make sense */
static bool parse(int argc, char **argv, struct arguments *a)
{
	int i = 1;

	for (; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
		if (strcmp(argv[i], "--tests") == 0)
			a->tests = true;
		else if (strcmp(argv[i], "--check") == 0)
			a->check = true;
		else if (strcmp(argv[i], "--json") == 0)
			a->json = true;
		else if (strcmp(argv[i], "--physics") == 0 && i + 1 < argc)
			a->physics = argv[++i];
		else if (strcmp(argv[i], "--stage") == 0 && i + 1 < argc)
			a->stage = argv[++i];
		else if (strcmp(argv[i], "--without") == 0 && i + 1 < argc)
			a->without = argv[++i];
		else
			return false;
	}
	a->first = i;
	if (a->check)
		return argc - i >= 1 && !a->stage && !a->without;
	return argc - i >= 2 && !a->json && !a->physics;
}

static int load(struct fit *f, const struct hes_catalogue *c, const struct arguments *a,
		char **argv, size_t *n_workloads, size_t *n_gpus)
{
	char **dirs = &argv[a->check ? a->first : a->first + 1];
	int rc = hes_model_load(a->check ? a->physics : argv[a->first], &f->m, &f->err);

	if (rc)
		return rc;
	*n_workloads = f->m->n_workloads;
	*n_gpus = f->m->n_gpus;
	rc = hes_model_add_inference(f->m, &f->err);
	/* A measured GPU without parameters begins with derived ones. */
	if (!rc)
		rc = hes_model_derive(f->m, c, &f->err);
	for (char **dir = dirs; !rc && *dir; dir++)
		rc = hes_observe(f->m, c, *dir, a->tests, f->o, &f->err);
	return rc;
}

/* Fit, and write the parameters to standard output. */
static int fit_and_print(struct fit *f, const char *stage, size_t n_workloads, size_t n_gpus)
{
	int rc = calibrate(f, stage);

	if (!rc && !stage)
		rc = set_voltage_spreads(f);
	if (rc)
		return rc;
	drop_unused(f, n_workloads, n_gpus);
	calibrate_write(f->m, stdout);
	errno = 0;
	if (!fflush(stdout) && !ferror(stdout))
		return 0;
	rc = errno ? -errno : -EIO;
	return hes_fail(&f->err, rc, "cannot write standard output: %s", strerror(-rc));
}

/* @return below 0 on failure; 1 when a target is not met */
static int check_and_print(struct fit *f, bool json)
{
	struct hes_check table = { 0 };
	int rc = leave_all_out(f);

	if (!rc)
		rc = hes_model_check(f->m, f->o, &table, &f->err);

	if (!rc)
		rc = calibrate_check_print(&table, f->o, json);
	hes_check_free(&table);
	return rc;
}

int main(int argc, char **argv)
{
	struct hes_catalogue c = { 0 };
	struct hes_observations o = { 0 };
	struct fit f = { .o = &o };
	struct arguments a = { 0 };
	size_t n_workloads = 0, n_gpus = 0;
	int rc;

	if (!parse(argc, argv, &a)) {
		fputs("usage: heshare-calibrate [--stage PATTERN] [--without TYPE] [--tests] "
		      "PHYSICS.yaml DIR... > FITTED.yaml\n"
		      "       heshare-calibrate --check [--physics FILE] [--tests] [--json] "
		      "DIR...\n",
		      stderr);
		return 2;
	}
	f.without_type = a.without;
	rc = hes_catalogue_load(NULL, &c, &f.err);
	if (!rc)
		rc = load(&f, &c, &a, argv, &n_workloads, &n_gpus);
	if (!rc)
		rc = a.check ? check_and_print(&f, a.json)
			     : fit_and_print(&f, a.stage, n_workloads, n_gpus);
	if (rc < 0)
		fprintf(stderr, "heshare-calibrate: %s\n", f.err.msg);
	hes_observations_free(&o);
	hes_model_free(f.m);
	hes_catalogue_free(&c);
	return rc ? 1 : 0;
}
