/*
 * gpu_point.c - columns of a point from windows of a meter, and how well windows agree; see
 * gpu_point.h.
 */
#include "measure/gpu_point.h"

#include <math.h>

double steady_cv(const double *v, size_t n)
{
	double mean = 0, squares = 0;

	if (n < 2)
		return NAN;
	for (size_t i = 0; i < n; i++)
		mean += v[i] / (double)n;
	for (size_t i = 0; i < n; i++)
		squares += (v[i] - mean) * (v[i] - mean);
	return mean != 0 ? sqrt(squares / (double)(n - 1)) / fabs(mean) : NAN;
}

/* Quantile of 95 % of Student's t distribution over that of the normal one, by degrees of freedom.
 */
static double wider(size_t freedom)
{
	static const double of[] = { 0, 3.838, 1.775, 1.431, 1.296, 1.225, 1.181, 1.152, 1.130 };

	return freedom < sizeof(of) / sizeof(of[0]) ? of[freedom] : 1 + 1.04 / (double)freedom;
}

static double block_se(const double *v, size_t n, size_t block)
{
	const size_t blocks = n / block;
	double mean[blocks];

	for (size_t i = 0; i < blocks; i++) {
		mean[i] = 0;
		for (size_t k = 0; k < block; k++)
			mean[i] += v[i * block + k] / (double)block;
	}
	return wider(blocks - 1) * steady_cv(mean, blocks) / sqrt((double)blocks);
}

double steady_se(const double *v, size_t n)
{
	double se = NAN;

	for (size_t block = 1; block == 1 ? n >= 2 : n / block >= 3; block *= 2)
		se = fmax(se, block_se(v, n, block));
	return se;
}

static double part_or_nan(double part, double whole)
{
	return whole > 0 ? fmin(fmax(part / whole, 0), 1) : NAN;
}

static const struct {
	enum hes_act act;
	size_t offset;
} activities[] = {
	{ HES_ACT_BUSY, offsetof(struct hes_point, busy) },
	{ HES_ACT_COPYING, offsetof(struct hes_point, memory_busy) },
	{ HES_ACT_SM, offsetof(struct hes_point, sm_active) },
	{ HES_ACT_OCCUPANCY, offsetof(struct hes_point, sm_occupancy) },
	{ HES_ACT_DRAM, offsetof(struct hes_point, dram_active) },
	{ HES_ACT_FP32, offsetof(struct hes_point, fp32_active) },
	{ HES_ACT_TENSOR, offsetof(struct hes_point, tensor_active) },
	{ HES_ACT_PCIE_OUT, offsetof(struct hes_point, pcie_tx_mibs) },
	{ HES_ACT_PCIE_IN, offsetof(struct hes_point, pcie_rx_mibs) },
};

/* Means over the windows, weighted by the time that each value covers. */
static void fill_activity(const struct hes_measured *v, size_t n, struct hes_point *row)
{
	for (size_t i = 0; i < sizeof(activities) / sizeof(activities[0]); i++) {
		double value = 0, seconds = 0,
		       *slot = (double *)(void *)((char *)row + activities[i].offset);
		bool part = activities[i].act != HES_ACT_PCIE_OUT &&
			    activities[i].act != HES_ACT_PCIE_IN;

		for (size_t k = 0; k < n; k++) {
			const struct hes_mean *m = &v[k].activity.of[activities[i].act];

			value += m->value * m->seconds;
			seconds += m->seconds;
		}
		*slot = seconds > 0 ? fmax(value / seconds, 0) : NAN;
		if (part && *slot > 1)
			*slot = 1;
	}
}

struct hes_point hes_gpu_point(const struct hes_measured *v, size_t n)
{
	struct hes_point row = {
		.windows = (uint32_t)n,
		.memory_mib = NAN,
		.temperature_c = NAN,
		.time_se = NAN,
		.first_use_s = NAN,
		.start_s = NAN,
		.run_s = NAN,
	};
	double energy_j = 0, clock_mhz_s = 0, clock_s = 0, capped_s = 0, reasons_s = 0,
	       power_w[n + 1];

	power_w[0] = NAN;
	for (size_t k = 0; k < n; k++) {
		power_w[k] = v[k].mean_w;
		energy_j += v[k].mean_w * v[k].seconds;
		row.seconds += v[k].seconds;
		clock_mhz_s += v[k].clock_mhz * v[k].clock_s;
		clock_s += v[k].clock_s;
		capped_s += v[k].capped_s;
		reasons_s += v[k].reasons_s;
	}
	row.power_mw = (uint32_t)lround(1e3 * energy_j / row.seconds);
	row.power_cv = steady_cv(power_w, n);
	row.held_mhz = clock_s > 0 ? clock_mhz_s / clock_s : NAN;
	row.capped = part_or_nan(capped_s, reasons_s);
	fill_activity(v, n, &row);
	return row;
}
