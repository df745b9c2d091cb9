/*
 * tenants_file.c - read a tenants file; see tenants_file.h.
 *
 * Unknown columns are refused: with a misspelt "weight" all tenants would have weight 1.
 */
#include "tenants_file.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "base/grow.h"
#include "base/texts.h"
#include "base/utf8.h"

enum column {
	NAME,
	POWER,
	REQUEST,
	WEIGHT,
	RATE,
	SPACING,
	ARRIVAL,
	DEPARTURE,
	PIECE,
	CLOCK,
	COLUMNS
};

#define MAX_SECONDS ((double)HES_FAIR_MAX_NS / 1e9)
#define MAX_RATE    1e6
#define MIN_RATE    1e-6

static const struct {
	const char *name;
	bool needed;
	double min, max, otherwise; /* otherwise: of an empty field, or without the column */
} columns[COLUMNS] = {
	[NAME] = { "name", true, 0, 0, 0 },
	[POWER] = { "power_w", true, HES_FAIR_MIN_NUMBER, HES_FAIR_MAX_NUMBER, 0 },
	[REQUEST] = { "request_ms", false, 1e-6, MAX_SECONDS * 1e3, 0 },
	[WEIGHT] = { "weight", false, HES_FAIR_MIN_NUMBER, HES_FAIR_MAX_NUMBER, 1 },
	[RATE] = { "rate_per_s", false, MIN_RATE, MAX_RATE, 0 },
	[SPACING] = { "spacing", false, 0, 0, 0 },
	[ARRIVAL] = { "arrival_s", false, 0, MAX_SECONDS, 0 },
	[DEPARTURE] = { "departure_s", false, 0, MAX_SECONDS, INFINITY },
	[PIECE] = { "piece_ms", false, 1e-6, MAX_SECONDS * 1e3, 0 },
	[CLOCK] = { "clock_mhz", false, 1, 1e5, 0 },
};

struct tenants_reader {
	struct hes_csv *csv;
	int at[COLUMNS]; /* -1: not there */
	struct fair_tenants t;
};

static int unknown_column(const struct hes_csv *c, const char *name, struct hes_err *err)
{
	char known[200] = "";

	for (int k = 0; k < COLUMNS; k++)
		hes_text_add(known, sizeof(known), ", ", "%s", columns[k].name);
	return hes_fail(err, -EINVAL, "%s:1: no column is called \"%.60s\"; there are %s",
			hes_csv_path(c), name, known);
}

static int columns_find(struct tenants_reader *r, struct hes_err *err)
{
	for (int k = 0; k < COLUMNS; k++) {
		r->at[k] = columns[k].needed ? hes_csv_column(r->csv, columns[k].name, err)
					     : hes_csv_find(r->csv, columns[k].name);
		if (columns[k].needed && r->at[k] < 0)
			return r->at[k];
	}
	for (size_t i = 0; i < hes_csv_columns(r->csv); i++) {
		const char *name = hes_csv_column_name(r->csv, i);
		int k = 0;

		while (k < COLUMNS && strcmp(name, columns[k].name) != 0)
			k++;
		if (k == COLUMNS)
			return unknown_column(r->csv, name, err);
	}
	return 0;
}

static int number_read(const struct tenants_reader *r, enum column k, double *out,
		       struct hes_err *err)
{
	if (columns[k].needed || hes_csv_text(r->csv, r->at[k])[0])
		return hes_csv_double(r->csv, r->at[k], columns[k].min, columns[k].max, out, err);
	*out = columns[k].otherwise;
	return 0;
}

static int spacing_read(const struct tenants_reader *r, bool *random, struct hes_err *err)
{
	const char *text = hes_csv_text(r->csv, r->at[SPACING]);

	*random = strcmp(text, "random") == 0;
	if (*random || !*text || strcmp(text, "even") == 0)
		return 0;
	return hes_csv_fail(r->csv, err, -EINVAL, "spacing: \"%.60s\" is not one of even, random",
			    text);
}

static int name_read(struct tenants_reader *r, char *out, struct hes_err *err)
{
	const char *name = hes_csv_text(r->csv, r->at[NAME]);
	int rc = hes_check_name("name", name, HES_NAME_MAX - 1, err);

	if (rc) {
		hes_fail_in(err, "%s:%zu", hes_csv_path(r->csv), hes_csv_line(r->csv));
		return rc;
	}
	for (size_t i = 0; i < r->t.n; i++)
		if (strcmp(r->t.names[i], name) == 0)
			return hes_csv_fail(
				r->csv, err, -EINVAL,
				"name: \"%s\" is there already; each tenant has one row", name);
	strcpy(out, name);
	return 0;
}

static int row_check(const struct tenants_reader *r, const double *v, bool random,
		     struct hes_err *err)
{
	if (v[DEPARTURE] <= v[ARRIVAL])
		return hes_csv_fail(r->csv, err, -EINVAL,
				    "departure_s: %g is not after arrival_s %g", v[DEPARTURE],
				    v[ARRIVAL]);
	if (v[RATE] > 0 && !(v[REQUEST] > 0))
		return hes_csv_fail(
			r->csv, err, -EINVAL,
			"rate_per_s needs request_ms: the GPU time that a request takes");
	if (random && !(v[RATE] > 0))
		return hes_csv_fail(
			r->csv, err, -EINVAL,
			"spacing needs rate_per_s; a tenant without a rate always has work");
	if (v[PIECE] > v[REQUEST] && v[REQUEST] > 0)
		return hes_csv_fail(r->csv, err, -EINVAL,
				    "piece_ms: %g is longer than request_ms %g", v[PIECE],
				    v[REQUEST]);
	return 0;
}

static uint64_t whole_ns(double x, double ns)
{
	return x > 0 ? (uint64_t)llround(x * ns) : 0;
}

static int tenant_read(struct tenants_reader *r, struct hes_err *err)
{
	struct fair_tenants *t = &r->t;
	double v[COLUMNS] = { 0 };
	bool random;
	int rc = name_read(r, t->names[t->n], err);

	for (int k = 0; k < COLUMNS && !rc; k++)
		if (k != NAME && k != SPACING)
			rc = number_read(r, (enum column)k, &v[k], err);
	if (!rc)
		rc = spacing_read(r, &random, err);
	if (!rc)
		rc = row_check(r, v, random, err);
	if (rc)
		return rc;
	t->clock_mhz[t->n] = v[CLOCK];
	t->v[t->n++] = (struct fair_replay_tenant){
		.power_w = v[POWER],
		.weight = v[WEIGHT],
		.arrival_ns = whole_ns(v[ARRIVAL], 1e9),
		.departure_ns =
			isinf(v[DEPARTURE]) ? FAIR_REPLAY_NEVER : whole_ns(v[DEPARTURE], 1e9),
		.request_ns = whole_ns(v[REQUEST], 1e6),
		.period_ns = v[RATE] > 0 ? whole_ns(1 / v[RATE], 1e9) : 0,
		.random = random,
		.piece_ns = whole_ns(v[PIECE], 1e6),
	};
	t->any_clock |= v[CLOCK] > 0;
	t->any_request |= v[REQUEST] > 0;
	return 0;
}

static int tenants_grow(struct tenants_reader *r, struct hes_err *err)
{
	const size_t n = r->t.n;
	char(*names)[HES_NAME_MAX];
	struct fair_replay_tenant *v;
	double *clocks;

	if (n == FAIR_REPLAY_MAX_TENANTS)
		return hes_csv_fail(r->csv, err, -E2BIG, "more than %d tenants",
				    FAIR_REPLAY_MAX_TENANTS);
	names = hes_grow(r->t.names, n, sizeof(*names));
	r->t.names = names ? names : r->t.names;
	v = hes_grow(r->t.v, n, sizeof(*v));
	r->t.v = v ? v : r->t.v;
	clocks = hes_grow(r->t.clock_mhz, n, sizeof(*clocks));
	r->t.clock_mhz = clocks ? clocks : r->t.clock_mhz;
	return names && v && clocks ? 0
				    : hes_fail(err, -ENOMEM, "out of memory for %zu tenants", n);
}

int fair_tenants_load(const char *path, struct fair_tenants *out, struct hes_err *err)
{
	struct tenants_reader r = { 0 };
	int rc = hes_csv_open(path, &r.csv, err);

	if (rc)
		return rc;
	rc = columns_find(&r, err);
	while (!rc && (rc = hes_csv_next(r.csv, err)) == 1) {
		rc = tenants_grow(&r, err);
		if (!rc)
			rc = tenant_read(&r, err);
	}
	hes_csv_close(r.csv);
	if (!rc && !r.t.n)
		rc = hes_fail(err, -EINVAL, "%s: no tenant", path);
	if (rc)
		fair_tenants_free(&r.t);
	else
		*out = r.t;
	return rc;
}

void fair_tenants_free(struct fair_tenants *t)
{
	free(t->names);
	free(t->clock_mhz);
	free(t->v);
	*t = (struct fair_tenants){ 0 };
}
