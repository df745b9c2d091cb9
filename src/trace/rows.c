/*
 * rows.c - rows of a trace in memory; see rows.h.
 */
#include "trace/rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/texts.h"

static int add(struct rows *r, const struct hes_trace_row *row)
{
	struct hes_trace_row *v = hes_grow(r->v, r->n, sizeof(*v));

	if (!v)
		return -ENOMEM;
	r->v = v;
	v[r->n++] = *row;
	return 0;
}

int rows_read(struct hes_trace *t, rows_filter *wanted, void *ctx, struct rows *out,
	      struct hes_err *err)
{
	struct rows r = { 0 };
	struct hes_trace_row row;
	int rc;

	while ((rc = hes_trace_next(t, &row, err)) == 1) {
		if (wanted && !wanted(&row, ctx))
			continue;
		if (r.n == HES_MAX_JOBS) {
			rc = hes_fail(err, -E2BIG, "%s: more than %d jobs", hes_trace_name(t),
				      HES_MAX_JOBS);
			break;
		}
		if (add(&r, &row)) {
			rc = hes_fail(err, -ENOMEM, "%s: out of memory at job %zu",
				      hes_trace_name(t), r.n + 1);
			break;
		}
	}
	if (rc)
		rows_free(&r);
	*out = r;
	return rc;
}

int rows_none(const struct hes_trace *t, const char *what, int code, struct hes_err *err)
{
	const uint64_t *skipped = hes_trace_skipped(t);
	char why[256] = "";

	for (size_t i = 0; i < HES_TRACE_SKIPS; i++)
		if (skipped[i])
			hes_text_add(why, sizeof(why), ", ", "%" PRIu64 " %s", skipped[i],
				     hes_trace_skip_words[i]);
	return hes_fail(err, code, "%s: no %s in this trace%s%s", hes_trace_name(t), what,
			*why ? "; rows: " : "", why);
}

void rows_free(struct rows *r)
{
	free(r->v);
	*r = (struct rows){ 0 };
}
