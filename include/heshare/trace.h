/*
 * trace.h - read logs of clusters, and draw jobs from them.
 *
 * A trace gives rows one by one, from a log file in one of several formats
 * (hes_trace_formats) or from a generator whose distributions were fitted to
 * a log. hes_trace_jobs turns rows into jobs: the log gives arrival and
 * run time; a table of choices gives the workload, where the log does not name one.
 * The same input and seed give the same jobs.
 */
#ifndef HESHARE_TRACE_H
#define HESHARE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heshare/err.h"
#include "heshare/job.h"

/** A job of the log that ran on GPUs. */
struct hes_trace_row {
	char id[HES_NAME_MAX]; /* "": not in the log */
	int64_t arrival_us;  /* on the clock of the log, whose zero is arbitrary; 0: not in the log
			      */
	int64_t runtime_us;  /* > 0; 0: not in the log, which has iterations */
	uint32_t gpu_milli;  /* 1000: one GPU; less: a part of one; > 0 */
	uint64_t iterations; /* 0: they follow from the run time */
	char workload[HES_NAME_MAX]; /* "": not in the log */
	uint32_t batch_size;         /* 0: not in the log */
};

/** Why rows are skipped. */
enum hes_trace_skip {
	HES_SKIP_STEP,    /* a step of a Slurm job, not a job */
	HES_SKIP_NO_GPU,  /* 0 GPUs */
	HES_SKIP_GPUS,    /* the number of GPUs is missing */
	HES_SKIP_RUNTIME, /* the run time is missing or 0: it waits, or never ran */
	HES_SKIP_ARRIVAL, /* the arrival is missing */
	HES_TRACE_SKIPS
};
/** "without a run time": behind "3 rows"; and as keys of JSON documents. */
extern const char *const hes_trace_skip_words[HES_TRACE_SKIPS];
extern const char *const hes_trace_skip_keys[HES_TRACE_SKIPS];

#define HES_TRACE_LAYOUTS 4

/** A known log: a row of the table in src/trace/log_formats.c. */
struct hes_trace_format {
	const char *name;
	const char *summary; /* one line */
	/** Each: "FIELD=COLUMN" as in --columns, NULL-terminated; the columns identify the log.
	 * NULL: no more. */
	const char *const *layouts[HES_TRACE_LAYOUTS];
	const char *first; /* NULL: it has a header; else its first cell has this text */
};

extern const struct hes_trace_format *const hes_trace_formats[]; /* NULL-terminated */

/** @return NULL with the known names in @err */
const struct hes_trace_format *hes_trace_format_find(const char *name, struct hes_err *err);

struct hes_trace;

/**
 * Open a log, plain or .gz.
 * @param f  NULL: recognised by its columns
 * @return 0; -ENOENT a column is missing, or no format has these columns (@err has an example of
 * columns for hes_trace_open_columns)
 */
int hes_trace_open(const char *path, const struct hes_trace_format *f, struct hes_trace **out,
		   struct hes_err *err);

/** What a log of a user's own may hold; NULL-terminated. */
extern const char *const hes_trace_fields[];

/**
 * Open a log of no known format, plain or .gz, of which the caller names the columns.
 * @param columns  "FIELD=COLUMN,..." (docs/formats/trace.md); fields: hes_trace_fields. Needed is
 * runtime, or start and end, or iterations. Without gpus, each job has one
 * @return 0; -EINVAL @columns is wrong; -ENOENT a column is missing (@err lists those there are);
 * -ENOMEM; -errno of reading
 */
int hes_trace_open_columns(const char *path, const char *columns, struct hes_trace **out,
			   struct hes_err *err);

/** From now on, dates without a zone are in the zone of the process (TZ), not in UTC. */
void hes_trace_use_local_time(struct hes_trace *t);
/** Whether dates without a zone were read as UTC. */
bool hes_trace_took_utc(const struct hes_trace *t);

#define HES_TRACE_GENERATOR "helios-like" /* the built-in profile's name */

/**
 * Jobs drawn from distributions (docs/formats/trace.md).
 * @param path  a profile in YAML; NULL: the built-in one
 * @param n     rows to give
 * @param out   written on success only; hes_trace_close it
 * @return 0; -EINVAL, -ERANGE with file, field and what is wrong; -EFBIG above 16 MiB; -ENOMEM;
 * -errno of reading the file
 */
int hes_trace_generate(const char *path, uint64_t seed, uint64_t n, struct hes_trace **out,
		       struct hes_err *err);

/** @return 1 a row; 0 the end; negative errno with file, line, column and value */
int hes_trace_next(struct hes_trace *t, struct hes_trace_row *out, struct hes_err *err);
/** File name, or the generator's. */
const char *hes_trace_name(const struct hes_trace *t);
/** Name of the format, "generator" for a generator. */
const char *hes_trace_format_name(const struct hes_trace *t);
/** Rows skipped so far, for each reason. */
const uint64_t *hes_trace_skipped(const struct hes_trace *t);
void hes_trace_close(struct hes_trace *t);

/** Load classes of HeShare, section V-B; a set of them is their sum. */
enum hes_mix {
	HES_MIX_LOW = 1,    /* light nets */
	HES_MIX_MEDIUM = 2, /* ResNet-152, DenseNets and the like */
	HES_MIX_HIGH = 4,   /* BERT, GPT-2, Transformer */
	HES_MIX_ALL = 7,
};

/** A workload and batch size that a job can have. */
struct hes_choice {
	char workload[HES_NAME_MAX];
	uint32_t batch_size;
	uint32_t memory_mib;
	double iteration_us; /* alone on the reference GPU */
	unsigned mix;        /* its class */
};

enum hes_arrivals {
	HES_ARRIVALS_POISSON, /* independent gaps; jobs picked at random */
	HES_ARRIVALS_BURST,   /* all at 0; jobs picked at random */
	HES_ARRIVALS_TRACE,   /* of the log: consecutive jobs from a random moment on */
};

struct hes_trace_options {
	uint64_t seed;
	size_t n_jobs;          /* 0: every row that fits */
	bool fewer;             /* than n_jobs are no error: then every row that fits */
	bool any_gpus;          /* also rows of more than one GPU, as if they had requested one */
	int64_t min_runtime_us; /* run times are clamped to these limits; 0 and INT64_MAX: none */
	int64_t max_runtime_us;
	bool drop_outside; /* skip rows outside of the limits, instead of clamping them */
	enum hes_arrivals arrivals;
	double gap_s;       /* Poisson: mean time between arrivals */
	double first_gap_s; /* ... among the first third of the jobs */
	double speedup;     /* trace: its times are divided by this */
	unsigned mix;       /* classes to choose from */
};

/** MISO's and HeShare's setting: 60 jobs of 120-6082 s, gaps of 60 s, the first third 30 s. */
void hes_trace_options_defaults(struct hes_trace_options *d);

/** What became of the rows of a trace. */
struct hes_trace_account {
	uint64_t rows; /* read */
	uint64_t skipped[HES_TRACE_SKIPS];
	uint64_t several_gpus;    /* left out: on more than one GPU */
	uint64_t shorter, longer; /* of the rest, outside of the limits; left out if drop_outside */
	uint64_t kept;            /* to draw from */
	uint64_t jobs;            /* drawn */
	uint64_t iterated;        /* of the drawn, with the iterations of the log */
	uint64_t raised, lowered; /* of the drawn, clamped */
	uint64_t named, nearest;  /* ... with workload and batch size of the row, or the nearest
				     batch size */
	uint64_t named_alone;     /* ... with the workload of the row, which has no batch size */
	uint64_t unknown;         /* ... whose row names a workload that is no choice */
	char unknown_workload[HES_NAME_MAX]; /* the first of these; "" */
	int64_t origin_us; /* from the first kept row's arrival to the first job's */
};

/**
 * Draw jobs from the rest of a trace, in the order of arrival; the first
 * arrives at 0. If the choices have the row's workload, it is used with the
 * nearest batch size; else workload and batch size are drawn at random, each
 * workload with the same probability. The number of iterations follows from the run time.
 * Run times, arrivals and workloads have separate random streams, so that another
 * mix or arrival process does not change the run times.
 * @param account  written on success only; may be NULL
 * @return 0; -EINVAL no choice left, or arrivals of the log are wanted that it does not have;
 * -ERANGE too few rows, or more than HES_MAX_ITERATIONS; -E2BIG too many rows; -EEXIST an id of
 * several jobs; -ENOMEM; -errno of reading
 */
int hes_trace_jobs(struct hes_trace *t, const struct hes_choice *choices, size_t n_choices,
		   const struct hes_trace_options *d, struct hes_jobs *out,
		   struct hes_trace_account *account, struct hes_err *err);

#define HES_TRACE_QUANTILES 9
#define HES_TRACE_GPU_SIZES 7

/** Probabilities of hes_trace_summary.runtime_us. */
extern const double hes_trace_quantiles[HES_TRACE_QUANTILES];
/** Largest gpu_milli of each of hes_trace_summary.by_gpus; the last has no limit. */
extern const uint32_t hes_trace_gpu_sizes[HES_TRACE_GPU_SIZES];

struct hes_trace_summary {
	uint64_t jobs;
	uint64_t skipped[HES_TRACE_SKIPS];
	int64_t span_us; /* first to last arrival */
	int64_t runtime_us[HES_TRACE_QUANTILES];
	double mean_runtime_s;
	double gpu_hours;
	uint64_t by_gpus[HES_TRACE_GPU_SIZES]; /* jobs */
	uint64_t by_hour[24];                  /* arrivals, by hour from the first one's */
	int64_t gap_us[HES_TRACE_QUANTILES];   /* between arrivals; 0 with one job */
};

/** Summarise the rest of a trace. @return 0; -EINVAL no rows, or no run times; -E2BIG; -ENOMEM;
 * -errno of reading */
int hes_trace_summarise(struct hes_trace *t, struct hes_trace_summary *out, struct hes_err *err);

#endif
