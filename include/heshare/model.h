/*
 * model.h - the GPU model: the time of an iteration and the power of a GPU when jobs
 * run on it, alone or together.
 *
 * One set of equations (docs/gpu-model.md) for every workload and GPU type.
 * Parameters belong to a workload, to a GPU type or to all of them, never to a
 * data point; they come from data/physics.yaml. Planners must not use this header:
 * they see profiles and trained predictors, as they would on real GPUs.
 *
 * A model is constant once loaded and extended: any number of threads may share it.
 */
#ifndef HESHARE_MODEL_H
#define HESHARE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heshare/err.h"
#include "heshare/gpu_type.h"

#define HES_MODEL_MAX_JOBS  8 /* jobs on one GPU at a time */
#define HES_MODEL_MAX_BATCH 65536

struct hes_model;

/** Arithmetic a workload runs in; it picks a GPU type's rate. */
enum hes_math {
	HES_MATH_FP32, /* CUDA cores */
	HES_MATH_TF32, /* tensor cores where the type has them for FP32 inputs, else CUDA cores:
			  PyTorch's default */
	HES_MATH_FP16, /* tensor cores, mixed precision */
};

/** How heavy a workload of the testbed is (HeShare, section V-B). */
enum hes_load_class {
	HES_LOAD_LOW,    /* MobileNets, ResNet-18, -34, -50 */
	HES_LOAD_MEDIUM, /* ResNet-101 and -152, DenseNets, VGGs */
	HES_LOAD_HIGH,   /* BERT Large, Transformer, GPT-2 */
};

/** What a measurement is against the model: nine in ten lie between these factors. Both 0: not
 * known. */
struct hes_factors {
	double low, high;
};

/** How a program issues its kernels: one by one, or as one captured graph, so that the host has
 * nothing to do. */
enum hes_style { HES_STYLE_UNKNOWN, HES_STYLE_EAGER, HES_STYLE_GRAPHS };

/**
 * A workload in one framework. An iteration handles one batch.
 * Times are of an idle host and GPU; work does not depend on the GPU type.
 */
struct hes_workload {
	char name[HES_NAME_MAX];      /* "resnet50" */
	char framework[HES_NAME_MAX]; /* "pytorch" */
	char origin[HES_NAME_MAX];    /* data set it was fitted on, or "derived" */
	bool testbed;                 /* one of HeShare's Table IV */
	enum hes_load_class load;
	enum hes_math math;
	double host_us;            /* CPU time to issue an iteration; hides behind the GPU's */
	double serial_us;          /* per iteration, GPU idle: synchronisation */
	double serial_us_per_item; /* per item, GPU idle: input, output, CPU work */
	double copy_mib_per_item;  /* over PCIe, GPU idle */
	double kernels;            /* launches of an iteration */
	double gflop_per_item;     /* published operations; multiply and add count two */
	double efficiency; /* of the type's rate; above 1 where an algorithm saves operations */
	double winograd; /* part of the operations in 3x3 convolutions of stride 1, which Winograd's
			    algorithm shortens */
	double padding;  /* work of an item grows as batch^padding (sequences padded to the longest)
			  */
	double parallel_sms;         /* SMs that an item can keep busy */
	double parallel_growth;      /* ... times batch^growth */
	double traffic_mib;          /* DRAM traffic of an iteration: weights, optimiser state */
	double traffic_mib_per_item; /* DRAM traffic of an item when nothing stays in L2 */
	double working_set_mib;      /* of an item, competing for L2 */
	double activity;   /* switching of a busy SM against the type's reference, about 1 */
	double memory_mib; /* device memory: context, weights, workspace */
	double memory_mib_per_item;
	double start_s;       /* until a job's first iteration, the GPU idle */
	enum hes_style style; /* of eager programs host_us and start_s that are 0 become the
				 style's, of graphs host_us is 0 */
	bool own; /* added by a user (hes_model_add_file); jobs may run it like those of the testbed
		   */
	struct hes_factors time_factors,
		power_factors; /* of an added workload: the error to expect */
};

/**
 * Load physics parameters.
 * @param path  YAML file, or NULL for the built-in one
 * @param out   set on success; hes_model_free it
 * @return 0; -EINVAL, -ERANGE with file, entry, field and value; -EEXIST an entry given twice;
 * -ENOMEM
 */
int hes_model_load(const char *path, struct hes_model **out, struct hes_err *err);
void hes_model_free(struct hes_model *m);

/**
 * Add the workloads of a catalogue file; a row replaces one of the same name. Pointers to workloads
 * become invalid.
 * @return as hes_model_load(); on failure @m is as it was
 */
int hes_model_add_file(struct hes_model *m, const char *path, struct hes_err *err);

/** The origin of parameters that were not fitted to measurements. */
#define HES_MODEL_DERIVED "derived"
/** Said with their names: how far measured types are off when they are derived (docs/gpu-model.md).
 */
#define HES_MODEL_DERIVED_ERROR \
	"expect times within 15 % in half of the cases, within 50 % in nine of ten"

/**
 * Add parameters for each type of @c that @m has none for: those of the measured type most like it,
 * scaled by figures of data sheets (docs/gpu-model.md). Their origin is HES_MODEL_DERIVED. Derive
 * before the model is shared.
 * @return 0; -ENOMEM
 */
int hes_model_derive(struct hes_model *m, const struct hes_catalogue *c, struct hes_err *err);

/**
 * The types whose parameters are derived, of @n: their names with commas, cut where @out is full.
 * @param out  of @size bytes, at least 1; "": none
 */
void hes_model_derived(const struct hes_model *m, const struct hes_gpu_type *const *types, size_t n,
		       char *out, size_t size);

/**
 * A model with parameters drawn within their uncertainty: they differ from those of @m as far as
 * left-out errors say (docs/gpu-model.md).
 * @param seed  the same seed gives the same parameters
 * @param out   set on success; hes_model_free it
 * @return 0; -ENOMEM
 */
int hes_model_varied(const struct hes_model *m, uint64_t seed, struct hes_model **out,
		     struct hes_err *err);

/**
 * Give @m other equations for the same parameters, fitted to nothing: a world that no form of a
 * predictor matches. For tests of plans and predictors. Before the model is shared.
 */
void hes_model_second(struct hes_model *m);

/** Number of workloads; hes_model_workload_at takes 0 .. n - 1, in the order of the file. */
size_t hes_model_workloads(const struct hes_model *m);
const struct hes_workload *hes_model_workload_at(const struct hes_model *m, size_t i);
/** @return the workload, owned by @m; NULL with -ENOENT and the nearest names in @err */
const struct hes_workload *hes_model_workload(const struct hes_model *m, const char *name,
					      struct hes_err *err);
/** Whether @m has parameters for this GPU type. */
bool hes_model_knows_gpu(const struct hes_model *m, const char *type);

/** Data set that a GPU type's parameters were fitted on, or "derived"; NULL for a type @m does not
 * know. */
const char *hes_model_gpu_origin(const struct hes_model *m, const char *type);

/** "low", "medium", "high". */
const char *hes_load_class_name(enum hes_load_class c);

/** Device memory of a workload at a batch size. */
uint32_t hes_workload_memory_mib(const struct hes_workload *w, uint32_t batch);

/** A placement: a job on the GPU, with its SM share. */
struct hes_model_job {
	const struct hes_workload *workload;
	uint32_t batch;  /* 1 .. HES_MODEL_MAX_BATCH */
	uint32_t sm_pct; /* MPS share of the SMs, 1..100 */
};

/** Rates of a job. Utilisations are means over time, 0..1 of the GPU; each sums to at most 1 over
 * the jobs, except busy: kernels of several jobs can run at the same time. */
struct hes_rate {
	double iterations_per_s;
	double busy;      /* part of the time with a kernel of its own running */
	double sm_util;   /* SMs busy, computing or waiting for memory */
	double dram_util; /* of the data sheet's bandwidth */
	double l2_util;   /* of the L2 capacity, while busy */
	double occupancy; /* active warps, of those that fit on all SMs */
};

/** Power and clock of the GPU meanwhile. */
struct hes_instant {
	uint32_t power_mw;  /* mean GPU power */
	uint32_t clock_mhz; /* SM clock that it holds */
	bool throttled;     /* the power limit holds the clock below the requested one */
};

/**
 * The steady state of jobs on one GPU at a clock (docs/gpu-model.md).
 * Pure: no I/O, clock, allocation or state. @g may be a modified copy of a
 * catalogue type (a MIG slice, another power limit); parameters go by its
 * name, specification by its fields. Memory is the caller's to check.
 * Shares may sum to more than 100: jobs then limit each other as
 * far as they are busy at the same time.
 *
 * @param clock_mhz       SM clock requested; 0: the type's default
 * @param power_limit_mw  GPU limit; 0: the type's
 * @param n               0 .. HES_MODEL_MAX_JOBS; 0: the idle GPU
 * @param rates           n of them; like @out written only on success
 * @return 0; -EINVAL batch or share out of range, or a limit below idle; -ERANGE a clock
 *         outside the type's range; -E2BIG too many jobs; -ENOENT no parameters for the type
 */
int hes_model_instant(const struct hes_model *m, const struct hes_gpu_type *g, uint32_t clock_mhz,
		      uint32_t power_limit_mw, const struct hes_model_job *r, size_t n,
		      struct hes_rate *rates, struct hes_instant *out, struct hes_err *err);

#endif
