/*
 * tx2.h - the profiles that the paper's authors published: two networks on a Jetson TX2, time and
 * power of a request at 13 clocks.
 */
#ifndef PAPERS_FAIRNESS_TX2_H
#define PAPERS_FAIRNESS_TX2_H

#include <stddef.h>
#include <stdint.h>

#include "heshare/err.h"

#define TX2_CLOCKS 13

struct tx2_point {
	double mhz, power_w;
	uint64_t request_ns;
};

struct tx2_network {
	struct tx2_point at[TX2_CLOCKS]; /* by rising clock */
	size_t n;
};

struct tx2 {
	struct tx2_network resnet18, resnet50;
};

/** Read freq_time_power.csv. @return 0; -ENOENT; -EINVAL it is not what was published */
int tx2_load(const char *path, struct tx2 *out, struct hes_err *err);

/** The point at the clock nearest to @mhz. */
const struct tx2_point *tx2_at(const struct tx2_network *n, double mhz);

#endif
