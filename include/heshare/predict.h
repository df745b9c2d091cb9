/*
 * predict.h - predict the iteration time of a job and the power of its GPU from setting and
 * co-runners, learnt from samples (HeShare, section III-A).
 */
#ifndef HESHARE_PREDICT_H
#define HESHARE_PREDICT_H

#include <stdbool.h>

#include "heshare/gpu_type.h"
#include "heshare/profile.h"
#include "heshare/training_range.h"

struct hes_predictor;

/** What a plan chooses for a job. */
struct hes_setting {
	uint32_t sm_pct; /* 1..100 */
	uint32_t clock_mhz;
};

/**
 * A prediction and its interval, which contains a measurement with the probability of the
 * predictor's coverage. The interval is wider outside of the training range, and grows with the
 * distance.
 */
struct hes_estimate {
	double iteration_us; /* wall time of one iteration of the job */
	uint32_t power_mw;   /* mean power of the whole GPU while it runs */
	uint32_t outside; /* what is outside of the training range: enum hes_outside; 0: nothing */
	double iteration_low_us, iteration_high_us;
	uint32_t power_low_mw, power_high_mw;
	double widening; /* width of the wider interval / its width inside of the training range: 1
			    and more */
};

#define HES_TRAIN_MAX_TREES 10000 /* per output */

/** How to train; 0 means the default. */
struct hes_train_options {
	uint32_t trees; /* 1..HES_TRAIN_MAX_TREES per output */
	uint64_t seed;
	uint32_t threads; /* default: all processors; the result is the same */
	double coverage; /* probability that an interval contains a measurement, 0.5..0.99; default:
			    0.9 */
	const struct hes_samples *prior; /* modelled samples, which count less the more samples
					    are measured; NULL: none. Not kept */
};

/** Errors of an output on samples that were held back; those in percent are of Table V. Rows 0: it
 * was not tested. */
struct hes_accuracy {
	uint64_t rows;
	double mae;           /* mean |y - prediction|, in the output's unit: us, mW */
	double r2;            /* 1 - residual / total sum of squares; 0 when y does not vary */
	double abs_error_pct; /* mean |y - prediction| / mean y */
	double rel_error_pct; /* mean of |y - prediction| / y */
};

/** Where a predictor comes from. */
struct hes_predictor_info {
	struct hes_train_options options; /* as used: no defaults left; threads 0 */
	uint32_t rows;                    /* samples it was fitted on */
	uint32_t nodes;                   /* of all trees */
	uint32_t n_types;
	char (*types)[HES_NAME_MAX]; /* sampled GPU types, sorted */
	uint32_t n_workloads;
	char (*workloads)[HES_NAME_MAX]; /* sorted */
	uint32_t samples_crc;            /* CRC-32 of the samples' values */
	struct hes_accuracy time, power;
};

/** How often intervals contain the measurements of some samples. */
struct hes_coverage {
	double stated;                  /* intended coverage */
	double time, power;             /* part of the measurements inside */
	double time_width, power_width; /* median of high / prediction - 1 */
	size_t outside;                 /* samples outside of the training range */
};

/** Estimates against measurements of some samples. For 0 samples all but cover.stated is 0. */
struct hes_test {
	struct hes_accuracy time, power;
	struct hes_coverage cover;
};

/**
 * Train a predictor on measured samples, and on those of o->prior. On a prior alone it is the same
 * as on these samples without a prior. The same seed gives the same predictor, with any number of
 * threads.
 * @param s    any number; 0 with a prior only
 * @param c    types of the samples' GPUs; copied
 * @return 0; -EINVAL no samples, or too many; -ENOENT a sample's GPU type is not in @c; -ENOMEM
 */
int hes_predictor_train(const struct hes_samples *s, const struct hes_catalogue *c,
			const struct hes_train_options *o, struct hes_predictor **out,
			struct hes_err *err);
void hes_predictor_free(struct hes_predictor *p);
const struct hes_predictor_info *hes_predictor_about(const struct hes_predictor *p);
/** Whether this GPU type was sampled; other types are extrapolated from their data sheets. */
bool hes_predictor_knows(const struct hes_predictor *p, const char *gpu_type);
/** Leave @g its default clock, and of the others those within the clocks that were sampled on it:
 * no other was measured as a lock. A type without samples keeps all. */
void hes_predictor_offer(const struct hes_predictor *p, struct hes_gpu_type *g);
/** Greatest sum of the shares on a GPU in samples of a type, in whole tens; for an unknown type, in
 * all samples. */
uint32_t hes_predictor_share_sum(const struct hes_predictor *p, const char *gpu_type);

/**
 * Predict one job on a GPU of type @g. Pure, thread-safe, no allocation.
 * @param task        the job's solo profile on this type (hes_profile_find)
 * @param co_runners  their sums (hes_load_add), with the GPU power of the co-runners alone
 */
void hes_predict(const struct hes_predictor *p, const struct hes_gpu_type *g,
		 const struct hes_profile *task, const struct hes_setting *s,
		 const struct hes_load *co_runners, struct hes_estimate *out);

/**
 * hes_load_add() with data of @p: predictions are more accurate, and report co-runners that were
 * never sampled. Pure, no allocation. If power_mw of the load is itself predicted, set predicted_mw
 * to the same.
 * @param load  only for queries to this predictor
 */
void hes_predict_load_add(const struct hes_predictor *p, const struct hes_gpu_type *g,
			  const struct hes_profile *solo, const struct hes_setting *s,
			  struct hes_load *load);

/**
 * Predict what samples measured. Co-runners whose names are in s->known are loaded from their
 * profiles.
 * @param out  [s->n]; filled on success
 * @return 0; -EINVAL, -ENOENT an invalid sample; -ENOMEM
 */
int hes_predict_samples(const struct hes_predictor *p, const struct hes_samples *s,
			const struct hes_catalogue *c, struct hes_estimate *out,
			struct hes_err *err);

/** Test the estimates of hes_predict_samples() whose intervals are to have a @coverage. @return 0;
 * -ENOMEM */
int hes_estimates_test(const struct hes_samples *s, const struct hes_estimate *predicted,
		       double coverage, struct hes_test *out, struct hes_err *err);

/**
 * Estimate each of some samples by a predictor that was trained without it and without the other
 * samples of its co-run set: the sets are divided into @folds. For few samples, of which none can
 * be held back.
 * @param folds  fewer where there are fewer sets
 * @param out    [s->n]
 * @return 0; -ENODATA a single set, nothing is left to train on; errors of training
 */
int hes_predict_left_out(const struct hes_samples *s, const struct hes_catalogue *c,
			 const struct hes_train_options *o, size_t folds, struct hes_estimate *out,
			 struct hes_err *err);

/** Keep the errors of a test; they go into the model file. Call it before the predictor is shared.
 */
void hes_predictor_keep_test(struct hes_predictor *p, const struct hes_test *t);

/**
 * Write a model file: versioned, checksummed. @path "-" is standard output. The file is written
 * completely or not at all.
 * @return 0; -ENOMEM; -errno of creating or writing it
 */
int hes_predictor_save(const char *path, const struct hes_predictor *p, struct hes_err *err);
/**
 * @param out  written on success only; hes_predictor_free it
 * @return 0; -EINVAL not a predictor's file, a damaged one, or one of another version or with other
 * features; @err has the reason; -EFBIG above 4 GiB; -ENOMEM; -errno of reading the file
 */
int hes_predictor_load(const char *path, struct hes_predictor **out, struct hes_err *err);
/** The model file in memory, and back. @param out  free() it. @return as for files */
int hes_predictor_pack(const struct hes_predictor *p, char **out, size_t *n, struct hes_err *err);
int hes_predictor_unpack(const char *name, const char *bytes, size_t n, struct hes_predictor **out,
			 struct hes_err *err);
/** The checksum of its model file: predictors with equal predictions have equal checksums. @return
 * 0 or -ENOMEM */
int hes_predictor_checksum(const struct hes_predictor *p, uint32_t *out, struct hes_err *err);

#endif
