/*
 * known_predictor.c - the predictor of what is known: from its file, the store's, or trained; see
 * known.h.
 *
 * Modelled samples are the prior, measured ones move it. A predictor that learnt from measured
 * samples is kept in the store, under a hash of all that it was trained on.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/known_rows.h"
#include "base/clock.h"
#include "base/hash.h"
#include "heshare/version.h"
#include "store/row_sql.h"

#define SAY_FROM     2000 /* samples whose training takes seconds */
#define KEEP_WAIT_MS 1000

/* What a predictor is trained on. */
struct training_data {
	struct hes_samples prior, measured;
	struct hes_profiles known; /* of the co-runners of measured samples */
	struct hes_catalogue types;
};

static void training_data_free(struct training_data *t)
{
	hes_samples_free(&t->prior);
	hes_samples_free(&t->measured);
	hes_profiles_free(&t->known);
	free(t->types.types);
}

/* Types that the catalogue does not have are of other machines, or of a catalogue that was not
 * given. */
static void leave_out_types(const struct hes_catalogue *c, struct hes_samples *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		if (hes_gpu_type_find(c, s->v[i].task.gpu_type, NULL))
			s->v[n++] = s->v[i];
	s->n = n;
}

/* Unlocked GPUs ran at the clocks that they held. */
static int hold_types(const struct known_load *l, const struct app_known *k,
		      struct training_data *t, struct hes_err *err)
{
	const struct hes_catalogue *c = l->q->catalogue;

	t->types.types = malloc((c->n + 1) * sizeof(*c->types));
	if (!t->types.types)
		return hes_fail(err, -ENOMEM, "out of memory for GPU types");
	memcpy(t->types.types, c->types, c->n * sizeof(*c->types));
	t->types.n = c->n;
	hes_profiles_hold(&k->measured, t->types.types, t->types.n);
	return 0;
}

static int load_measured(struct known_load *l, struct app_known *k, struct training_data *t,
			 struct hes_err *err)
{
	const struct hes_store_query all = { .workload = NULL };
	int rc = hes_store_samples(l->store, &all, &t->measured, err);

	if (!rc && hes_profiles_join(&k->measured, &l->drawn, &t->known))
		rc = hes_fail(err, -ENOMEM, "out of memory for profiles");
	leave_out_types(l->q->catalogue, &t->measured);
	t->measured.known = &t->known;
	k->learnt = !rc && t->measured.n;
	return rc ? rc : hold_types(l, k, t, err);
}

static int train(struct known_load *l, struct app_known *k, struct training_data *t,
		 struct hes_err *err)
{
	const struct hes_train_options options = { .seed = APP_KNOWN_SEED, .prior = &t->prior };

	if (t->measured.n >= SAY_FROM)
		app_say(l->q->again ? NULL : l->q->app,
			"a predictor is trained on %zu samples of the store; the next plan finds "
			"it there",
			t->measured.n);
	return hes_predictor_train(&t->measured, k->learnt ? &t->types : l->q->catalogue, &options,
				   &k->predictor, err);
}

static int add_key(const struct hes_row_table *t, const void *row, uint64_t *h, struct hes_err *err)
{
	unsigned char key[HES_ROW_KEY_BYTES];
	int rc = hes_row_key(t, row, key, err);

	if (!rc)
		*h = hes_hash_bytes(*h, key, sizeof(key));
	return rc;
}

/* A hash of all that decides the predictor. */
static int key_of(const struct known_load *l, const struct app_known *k,
		  const struct training_data *t, uint64_t *out, struct hes_err *err)
{
	uint64_t h;
	int rc = hes_store_mark(l->store, &h, err);

	if (rc)
		return rc;
	h = hes_hash_text(h, HES_VERSION);
	for (size_t i = 0; i < k->measured.n && !rc; i++)
		rc = add_key(&hes_profile_table, &k->measured.v[i], &h, err);
	for (size_t i = 0; i < t->prior.n && !rc; i++)
		rc = add_key(&hes_sample_table, &t->prior.v[i], &h, err);
	for (size_t i = 0; i < l->q->catalogue->n; i++) {
		const struct hes_gpu_type *g = &l->q->catalogue->types[i];

		h = hes_hash_text(h, g->name);
		h = hes_hash_bytes(h, &g->clock_default_mhz, sizeof(g->clock_default_mhz));
		h = hes_hash_bytes(h, &g->power_limit_mw, sizeof(g->power_limit_mw));
	}
	if (!rc)
		*out = h;
	return rc;
}

/* @return -ENOENT it is not there, or this program cannot read it */
static int find_kept(const struct known_load *l, uint64_t key, struct app_known *k)
{
	char *bytes = NULL;
	size_t n;
	int rc = hes_store_trained(l->store, key, &bytes, &n, NULL);

	if (!rc)
		rc = hes_predictor_unpack(hes_store_path(l->store), bytes, n, &k->predictor, NULL);
	free(bytes);
	return rc;
}

/* A store that cannot be written is no error: the next plan trains again. */
static void keep(const struct known_load *l, uint64_t key, const struct app_known *k)
{
	struct hes_store *s = NULL;
	char *bytes = NULL;
	size_t n;

	if (hes_predictor_pack(k->predictor, &bytes, &n, NULL))
		return;
	if (!hes_store_open(hes_store_path(l->store), HES_STORE_WRITE, KEEP_WAIT_MS, &s, NULL))
		hes_store_keep_trained(s, key, hes_wall_us(), bytes, n, NULL);
	hes_store_close(s);
	free(bytes);
}

static int find_or_train(struct known_load *l, struct app_known *k, struct training_data *t,
			 struct hes_err *err)
{
	uint64_t key;
	int rc = key_of(l, k, t, &key, err);

	if (rc)
		return rc;
	if (!find_kept(l, key, k)) {
		k->learnt = true;
		return 0;
	}
	rc = load_measured(l, k, t, err);
	if (!rc)
		rc = train(l, k, t, err);
	if (!rc && k->learnt && !l->q->model)
		keep(l, key, k);
	return rc;
}

int known_predictor(struct known_load *l, struct app_known *k, struct hes_err *err)
{
	struct training_data t = { .prior = { .n = 0 } };
	int rc;

	if (l->q->predictor) {
		k->learnt = true;
		return hes_predictor_load(l->q->predictor, &k->predictor, err);
	}
	/* Samples are drawn from drawn profiles, even if there are measured ones. */
	rc = hes_draw_samples(&l->draw, &l->drawn, APP_KNOWN_SAMPLES, &t.prior, err);
	t.prior.known = &l->drawn;
	if (!rc)
		rc = l->store ? find_or_train(l, k, &t, err) : train(l, k, &t, err);
	training_data_free(&t);
	return rc;
}
