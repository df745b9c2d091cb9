/*
 * predict_query.h - time and power of one job with its setting and its co-runners, by the predictor
 * that plans are made from.
 *
 * predict_query_free() takes a query that failed anywhere.
 */
#ifndef HES_APP_PREDICT_QUERY_H
#define HES_APP_PREDICT_QUERY_H

#include "app/app.h"
#include "app/known.h"

struct predict_request {
	const struct app *app;
	const char *workload;         /* or a script's command line */
	const char *gpu;              /* type */
	uint64_t batch, share, clock; /* clock 0: the type's default, MHz */
	const char *co_runners;       /* "vgg16:8:50,...": WORKLOAD:BATCH:SHARE; NULL: none */
	const char *store, *predictor, *profiles, *catalogue; /* files; NULL: the usual */
};

struct predict_query {
	struct hes_catalogue catalogue;
	struct app_known known;
	const struct hes_gpu_type *gpu;
	char workload[HES_NAME_MAX]; /* the request's, or its whole run */
	struct hes_profile task;
	struct hes_setting setting; /* at a clock that keeps the GPU's power limit */
	struct hes_load co_runners;
	struct hes_estimate estimate;
};

/** A co-runner as an option names it. */
struct predict_co_runner {
	char workload[HES_NAME_MAX];
	uint32_t batch_size, sm_pct;
};

/** Take the next of "WORKLOAD:BATCH:SHARE,...", and move on. @param list  NULL at its end, and
 * where there is none. @return 1; 0 there is none; -EINVAL, -ERANGE */
int predict_co_runner_next(const char **list, struct predict_co_runner *out, struct hes_err *err);
/** @return 0; -ENOENT an unknown type or workload; -ERANGE the type has no such clock; errors of
 * loading */
int predict_query(const struct predict_request *q, struct predict_query *out, struct hes_err *err);
void predict_query_free(struct predict_query *p);

#endif
