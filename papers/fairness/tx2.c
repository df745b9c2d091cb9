/*
 * tx2.c - read the published profiles; see tx2.h.
 */
#include "tx2.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/csv.h"

static int row_read(const struct hes_csv *c, const int column[4], struct tx2 *out,
		    struct hes_err *err)
{
	const char *model = hes_csv_text(c, column[0]);
	struct tx2_network *n = strcmp(model, "resnet18") == 0   ? &out->resnet18
				: strcmp(model, "resnet50") == 0 ? &out->resnet50
								 : NULL;
	double mhz, us, mw;
	int rc = hes_csv_double(c, column[1], 1, 1e5, &mhz, err);

	if (!rc)
		rc = hes_csv_double(c, column[2], 1, 1e9, &us, err);
	if (!rc)
		rc = hes_csv_double(c, column[3], 1, 1e6, &mw, err);
	if (rc)
		return rc;
	if (!n || n->n == TX2_CLOCKS || (n->n && n->at[n->n - 1].mhz >= mhz))
		return hes_csv_fail(c, err, -EINVAL, "not resnet18 or resnet50 at %d rising clocks",
				    TX2_CLOCKS);
	n->at[n->n++] = (struct tx2_point){ mhz, mw / 1e3, (uint64_t)llround(us * 1e3) };
	return 0;
}

int tx2_load(const char *path, struct tx2 *out, struct hes_err *err)
{
	static const char *const names[4] = { "model", "gpu_mhz", "exec_time_us", "gpu_power_mw" };
	struct hes_csv *c;
	int column[4], rc = hes_csv_open(path, &c, err);

	if (rc)
		return rc;
	memset(out, 0, sizeof(*out));
	for (size_t k = 0; k < 4 && !rc; k++) {
		column[k] = hes_csv_column(c, names[k], err);
		rc = column[k] < 0 ? column[k] : 0;
	}
	while (!rc && (rc = hes_csv_next(c, err)) == 1)
		rc = row_read(c, column, out, err);
	hes_csv_close(c);
	if (!rc && (out->resnet18.n != TX2_CLOCKS || out->resnet50.n != TX2_CLOCKS))
		rc = hes_fail(err, -EINVAL, "%s: not %d clocks of each network", path, TX2_CLOCKS);
	return rc;
}

const struct tx2_point *tx2_at(const struct tx2_network *n, double mhz)
{
	const struct tx2_point *best = &n->at[0];

	for (size_t i = 1; i < n->n; i++)
		if (fabs(n->at[i].mhz - mhz) < fabs(best->mhz - mhz))
			best = &n->at[i];
	return best;
}
