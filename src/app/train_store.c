/*
 * train_store.c - `heshare train --from-store`: samples out of the store, and
 * the errors of what was learnt back into it.
 *
 * Later errors are compared with those (drift_report.c).
 */
#include <errno.h>
#include <stdlib.h>

#include "app/known_store.h"
#include "cli/cli.h"
#include "cli/train/train.h"

int train_store_load(const struct train_opts *o, struct app_rows *out, struct hes_err *err)
{
	const struct hes_store_query q = { .with_modelled = o->with_modelled };
	struct app_rows r = { 0 };
	struct hes_store *s = NULL;
	int rc = app_store_open(cli_app(), o->store, HES_STORE_READ, HES_STORE_WAIT_MS, &s, err);

	if (!rc)
		rc = hes_store_samples(s, &q, &r.samples, err);
	if (!rc)
		rc = hes_store_profiles(s, &q, &r.profiles, err);
	hes_store_close(s);
	if (!rc && !r.samples.n)
		rc = hes_fail(err, -ENOENT, "the store has no samples%s",
			      o->with_modelled
				      ? ""
				      : " that are not modelled; --with-modelled takes those too");
	if (rc)
		app_rows_free(&r);
	else
		*out = r;
	return rc;
}

int train_store_keep(const struct train_opts *o, const struct hes_predictor *p,
		     const struct hes_samples *held_back, const struct hes_estimate *said,
		     struct hes_err *err)
{
	struct hes_forecast *forecasts = calloc(held_back->n + 1, sizeof(*forecasts));
	struct hes_store_predictor about;
	struct hes_store *s = NULL;
	int rc = forecasts ? app_store_predictor(o->out, p, &about, err)
			   : hes_fail(err, -ENOMEM, "out of memory for %zu predictions",
				      held_back->n);

	for (size_t i = 0; i < held_back->n && !rc; i++)
		if (hes_predictor_knows(p, held_back->v[i].task.gpu_type))
			forecasts[i] =
				(struct hes_forecast){ said[i].iteration_us, said[i].power_mw };
	if (!rc)
		rc = app_store_open(cli_app(), o->store, HES_STORE_WRITE, HES_STORE_WAIT_MS, &s,
				    err);
	if (!rc)
		rc = hes_store_keep_validation(s, &about, held_back, forecasts, err);
	hes_store_close(s);
	free(forecasts);
	return rc;
}
