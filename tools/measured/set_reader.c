/*
 * set_reader.c - rows of tables as observations; see set_reader.h.
 */
#include "measured/set_reader.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>

#include "base/file.h"

bool set_reader_open(struct set_reader *r, const char *file)
{
	char path[PATH_MAX + 64];

	if (r->rc)
		return false;
	snprintf(path, sizeof(path), "%s/%s", r->dir, file);
	r->rc = hes_file_check_plain(path, r->err);
	if (!r->rc)
		r->rc = hes_csv_open(path, &r->csv, r->err);
	if (r->rc != -ENOENT)
		return r->rc == 0;
	r->rc = 0;
	return false;
}

bool set_reader_next(struct set_reader *r)
{
	int got = r->rc ? 0 : hes_csv_next(r->csv, r->err);

	if (got < 0)
		r->rc = got;
	if (got <= 0) {
		hes_csv_close(r->csv);
		r->csv = NULL;
	}
	return got > 0;
}

static void add(struct set_reader *r, struct hes_observation v)
{
	v.gpu = r->gpu;
	r->rc = hes_observations_add(r->out, &v, r->err);
}

bool set_reader_observe(struct set_reader *r, enum hes_series_id series, enum hes_metric metric,
			const struct hes_setup *at, double measured, bool held)
{
	if (r->rc || !(measured > 0))
		return false;
	add(r, (struct hes_observation){ .series = series,
					 .metric = metric,
					 .at = *at,
					 .measured = measured,
					 .held = held });
	return r->rc == 0;
}

void set_reader_compare(struct set_reader *r, enum hes_series_id series, enum hes_metric metric,
			const struct hes_setup *at, const struct hes_setup *against,
			double measured, bool held)
{
	if (!r->rc)
		add(r, (struct hes_observation){ .series = series,
						 .metric = metric,
						 .at = *at,
						 .against = *against,
						 .relative = true,
						 .measured = measured,
						 .held = held });
}
