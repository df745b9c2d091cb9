/*
 * predict_query.c - time and power of one job with its setting and its co-runners; see
 * predict_query.h.
 */
#include "app/predict_query.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/catalogue.h"
#include "base/num.h"
#include "base/texts.h"
#include "heshare/plan.h"

int predict_co_runner_next(const char **list, struct predict_co_runner *out, struct hes_err *err)
{
	char text[3 * HES_NAME_MAX], batch[16], share[16];
	int rc;

	if (!hes_text_next(list, text, sizeof(text)))
		return 0;
	if (sscanf(text, "%47[^:]:%15[^:]:%15[^:]", out->workload, batch, share) != 3)
		return hes_fail(err, -EINVAL, "--co-runners: \"%.60s\" is not WORKLOAD:BATCH:SHARE",
				text);
	rc = hes_parse_u32("--co-runners: batch size", batch, 1, HES_MAX_BATCH_SIZE,
			   &out->batch_size, err);
	if (!rc)
		rc = hes_parse_u32("--co-runners: share", share, 1, 100, &out->sm_pct, err);
	return rc ? rc : 1;
}

/* A co-runner joins those before it; the power with all of them is predicted. */
static int query_add_co_runner(struct predict_query *p, const struct predict_co_runner *r,
			       struct hes_err *err)
{
	const struct hes_setting setting = { r->sm_pct, p->setting.clock_mhz };
	struct hes_estimate e;
	struct hes_profile solo;
	int rc = hes_profile_find(&p->known.profiles, r->workload, r->batch_size, p->gpu->name,
				  &solo, err);

	if (rc)
		return rc;
	if (p->co_runners.jobs + 2 > HES_MAX_SHARING)
		return hes_fail(err, -E2BIG, "--co-runners: more than %d co-runners",
				HES_MAX_SHARING - 1);
	hes_predict(p->known.predictor, p->gpu, &solo, &setting, &p->co_runners, &e);
	hes_predict_load_add(p->known.predictor, p->gpu, &solo, &setting, &p->co_runners);
	p->co_runners.power_mw = p->co_runners.predicted_mw = e.power_mw;
	return 0;
}

static int query_add_co_runners(struct predict_query *p, const char *list, struct hes_err *err)
{
	struct predict_co_runner r;
	int rc;

	while ((rc = predict_co_runner_next(&list, &r, err)) > 0) {
		rc = query_add_co_runner(p, &r, err);
		if (rc)
			return rc;
	}
	return rc;
}

/* At the clock of @q. */
static int query_at(const struct predict_request *q, struct predict_query *p, struct hes_err *err)
{
	int rc = hes_profile_find(&p->known.profiles, p->workload, (uint32_t)q->batch, p->gpu->name,
				  &p->task, err);

	if (rc)
		return rc;
	p->co_runners = (struct hes_load){ .power_mw = p->gpu->idle_power_mw };
	return query_add_co_runners(p, q->co_runners, err);
}

static double query_power(const struct predict_query *p)
{
	struct hes_estimate e;

	hes_predict(p->known.predictor, p->gpu, &p->task, &p->setting, &p->co_runners, &e);
	return e.power_mw;
}

/* Predictors know the default power limit: below a lower one the GPU holds the clock at which it
 * draws what it may. */
static int query_keep_limit(const struct predict_request *q, struct predict_query *p,
			    struct hes_err *err)
{
	uint32_t low = p->gpu->clock_min_mhz, high = p->setting.clock_mhz;
	int rc = 0;

	if (p->gpu->power_limit_mw >= hes_gpu_type_default_limit_mw(p->gpu) ||
	    query_power(p) <= p->gpu->power_limit_mw)
		return 0;
	while (!rc && high - low > 1) {
		const uint32_t mid = low + (high - low) / 2;

		p->setting.clock_mhz = mid;
		rc = query_at(q, p, err);
		if (!rc && query_power(p) > p->gpu->power_limit_mw)
			high = mid;
		else
			low = mid;
	}
	p->setting.clock_mhz = low;
	return rc ? rc : query_at(q, p, err);
}

static int query_prepare(const struct predict_request *q, struct predict_query *p,
			 struct hes_err *err)
{
	int rc;

	p->setting = (struct hes_setting){ (uint32_t)q->share,
					   hes_gpu_type_clock(p->gpu, (uint32_t)q->clock) };
	if (!hes_gpu_type_is_unlocked(p->gpu, p->setting.clock_mhz) &&
	    !hes_gpu_type_has_clock(p->gpu, p->setting.clock_mhz))
		return hes_fail(err, -ERANGE,
				"--clock: %s has no clock of %u MHz; it runs from %u to %u MHz",
				p->gpu->name, p->setting.clock_mhz, p->gpu->clock_min_mhz,
				p->gpu->clock_max_mhz);
	rc = query_at(q, p, err);
	return rc ? rc : query_keep_limit(q, p, err);
}

/* The workload, its whole run and its co-runners. */
static int query_name_jobs(const struct predict_request *q, struct hes_jobs *out,
			   struct hes_err *err)
{
	const char *list = q->co_runners;
	struct predict_co_runner r;
	int rc;

	out->v = calloc(3 + (list ? strlen(list) : 0), sizeof(*out->v));
	if (!out->v)
		return hes_fail(err, -ENOMEM, "out of memory");
	snprintf(out->v[0].workload, sizeof(out->v[0].workload), "%s", q->workload);
	out->v[0].batch_size = (uint32_t)q->batch;
	hes_job_whole_run_of(q->workload, out->v[1].workload);
	out->v[1].batch_size = (uint32_t)q->batch;
	out->v[1].whole_run = true;
	for (out->n = 2; (rc = predict_co_runner_next(&list, &r, err)) > 0; out->n++) {
		strcpy(out->v[out->n].workload, r.workload);
		out->v[out->n].batch_size = r.batch_size;
	}
	return rc;
}

static int query_load_known(const struct predict_request *q, struct predict_query *p,
			    struct hes_err *err)
{
	struct hes_jobs jobs = { .n = 0 };
	const struct app_known_request from = { .app = q->app,
						.catalogue = &p->catalogue,
						.types = &p->gpu,
						.n_types = 1,
						.store = q->store,
						.predictor = q->predictor,
						.profiles = q->profiles,
						.jobs = &jobs };
	int rc = query_name_jobs(q, &jobs, err);

	if (!rc)
		rc = app_known_load(&from, &p->known, err);
	free(jobs.v);
	return rc;
}

static bool query_is_known(const struct predict_request *q, const struct predict_query *p,
			   const char *workload)
{
	return app_known_of(&p->known, workload, (uint32_t)q->batch, p->gpu->name).source !=
	       HES_KNOWN_UNKNOWN;
}

int predict_query(const struct predict_request *q, struct predict_query *out, struct hes_err *err)
{
	char whole[HES_NAME_MAX];
	int rc;

	*out = (struct predict_query){ .gpu = NULL };
	rc = app_catalogue_load(q->app, q->catalogue, q->predictor != NULL, &out->catalogue, err);
	if (rc)
		return rc;
	out->gpu = hes_gpu_type_find(&out->catalogue, q->gpu, err);
	if (!out->gpu) {
		hes_fail_in(err, "--gpu");
		return -ENOENT;
	}
	rc = query_load_known(q, out, err);
	if (rc)
		return rc;
	app_known_fit(&out->known, false, out->catalogue.types, out->catalogue.n);
	/* Of a script there is mostly the whole run alone. */
	hes_job_whole_run_of(q->workload, whole);
	snprintf(out->workload, sizeof(out->workload), "%s",
		 !query_is_known(q, out, q->workload) && query_is_known(q, out, whole)
			 ? whole
			 : q->workload);
	rc = query_prepare(q, out, err);
	if (rc)
		return rc;
	hes_predict(out->known.predictor, out->gpu, &out->task, &out->setting, &out->co_runners,
		    &out->estimate);
	/* A mean that was learnt may be a little above what the GPU keeps to. */
	if (out->gpu->power_limit_mw && out->estimate.power_mw > out->gpu->power_limit_mw)
		out->estimate.power_mw = out->gpu->power_limit_mw;
	return 0;
}

void predict_query_free(struct predict_query *p)
{
	app_known_free(&p->known);
	hes_catalogue_free(&p->catalogue);
}
