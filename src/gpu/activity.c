/*
 * activity.c - watch GPUs, each with its best source, and sum up; see heshare/activity.h.
 * Sources: gpm.c, dcgm.c, and the utilisation rates, which reading.c reads.
 */
#include "heshare/activity.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>

#include "base/clock.h"
#include "gpu/dcgm.h"
#include "gpu/gpm.h"
#include "gpu/watch.h"

/* Above these a value is not possible; counters that are read a moment apart exceed 1 a little. */
#define MOST_PART  1.1
#define MOST_MIB_S 1e6

struct watched {
	size_t gpu;
	double looked_s;
	struct hes_gpm gpm; /* valid if sums.from is HES_ACTIVITY_GPM */
	struct hes_activity_sums sums;
};

struct hes_watch {
	const struct hes_devices *d;
	struct hes_dcgm *dcgm; /* NULL: not needed, or not installed */
	size_t n;
	struct watched gpus[];
};

void hes_activity_add(struct hes_activity_sums *sums, enum hes_act act, double value,
		      double seconds)
{
	const bool rate = act == HES_ACT_PCIE_OUT || act == HES_ACT_PCIE_IN;

	if (!isfinite(value) || value < 0 || value > (rate ? MOST_MIB_S : MOST_PART) ||
	    !(seconds > 0))
		return;
	sums->value_s[act] += value * seconds;
	sums->seconds[act] += seconds;
}

static bool begin_dcgm(struct hes_watch *w, struct watched *b, bool *tried)
{
	struct hes_device_info info;

	if (!*tried)
		w->dcgm = hes_dcgm_open();
	*tried = true;
	return w->dcgm && !hes_device_info(w->d, b->gpu, &info, NULL) &&
	       hes_dcgm_watch(w->dcgm, info.uuid, &b->sums);
}

static void watch_begin(struct hes_watch *w, struct watched *b, bool *tried_dcgm)
{
	struct hes_reading r;

	b->looked_s = hes_monotonic_s();
	if (hes_gpm_begin(w->d, b->gpu, &b->gpm, b->looked_s))
		b->sums.from = HES_ACTIVITY_GPM;
	else if (begin_dcgm(w, b, tried_dcgm))
		b->sums.from = HES_ACTIVITY_DCGM;
	else if (!hes_device_read(w->d, b->gpu, HES_HAS_UTILISATION, &r, NULL) && r.has)
		b->sums.from = HES_ACTIVITY_UTILISATION;
}

int hes_watch_start(struct hes_watch **out, const struct hes_devices *d, const size_t *gpus,
		    size_t n, struct hes_err *err)
{
	struct hes_watch *w = calloc(1, sizeof(*w) + n * sizeof(w->gpus[0]));
	bool tried_dcgm = false;
	sigset_t all, before;

	if (!w)
		return hes_fail(err, -ENOMEM, "no memory to watch %zu GPUs", n);
	w->d = d;
	w->n = n;
	/* DCGM's threads must not take the program's signals. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	for (size_t k = 0; k < n; k++) {
		w->gpus[k].gpu = gpus[k];
		watch_begin(w, &w->gpus[k], &tried_dcgm);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	*out = w;
	return 0;
}

void hes_watch_stop(struct hes_watch *w)
{
	if (!w)
		return;
	hes_dcgm_close(w->dcgm);
	for (size_t k = 0; k < w->n; k++)
		if (w->gpus[k].sums.from == HES_ACTIVITY_GPM)
			hes_gpm_end(w->d, &w->gpus[k].gpm);
	free(w);
}

/* The rates are means of the driver's last period; assume that they hold since the last sample. */
static void look_at_rates(const struct hes_watch *w, struct watched *b, double seconds)
{
	struct hes_reading r;

	if (hes_device_read(w->d, b->gpu, HES_HAS_UTILISATION, &r, NULL) || !r.has)
		return;
	hes_activity_add(&b->sums, HES_ACT_COPYING, r.memory_pct * 0.01, seconds);
	b->sums.rate_s += r.busy_pct * 0.01 * seconds;
	b->sums.rate_seconds += seconds;
}

/* @return whether DCGM is to be looked at */
static bool watched_look(struct hes_watch *w, struct watched *b, bool counters)
{
	double now = hes_monotonic_s();

	if (counters && b->sums.from == HES_ACTIVITY_GPM &&
	    now - b->gpm.last_s >= HES_WATCH_FASTEST_S)
		hes_gpm_look(w->d, b->gpu, &b->gpm, now, &b->sums);
	if (b->sums.from != HES_ACTIVITY_UNKNOWN && now - b->looked_s >= HES_WATCH_FASTEST_S) {
		look_at_rates(w, b, now - b->looked_s);
		b->looked_s = now;
	}
	return counters && b->sums.from == HES_ACTIVITY_DCGM;
}

void hes_watch_look(struct hes_watch *w, bool counters)
{
	bool dcgm = false;

	for (size_t k = 0; k < w->n; k++)
		dcgm |= watched_look(w, &w->gpus[k], counters);
	if (dcgm)
		hes_dcgm_look(w->dcgm);
}

void hes_watch_look_at(struct hes_watch *w, size_t k)
{
	if (watched_look(w, &w->gpus[k], true))
		hes_dcgm_look(w->dcgm);
}

void hes_watch_sums(const struct hes_watch *w, size_t k, struct hes_activity_sums *out)
{
	*out = w->gpus[k].sums;
}

static struct hes_mean mean_between(const struct hes_activity_sums *from,
				    const struct hes_activity_sums *to, enum hes_act a)
{
	double seconds = to->seconds[a] - from->seconds[a],
	       value_s = to->value_s[a] - from->value_s[a];

	/* Use the rates only for a window without any value of the source: the two are never mixed.
	 */
	if (!(seconds > 0) && a == HES_ACT_BUSY) {
		seconds = to->rate_seconds - from->rate_seconds;
		value_s = to->rate_s - from->rate_s;
	}
	return seconds > 0 ? (struct hes_mean){ value_s / seconds, seconds }
			   : (struct hes_mean){ 0 };
}

void hes_activity_between(const struct hes_activity_sums *from, const struct hes_activity_sums *to,
			  struct hes_activity *out)
{
	struct hes_activity o = { .from = HES_ACTIVITY_UNKNOWN };

	for (int a = 0; a < HES_ACTS; a++) {
		o.of[a] = mean_between(from, to, (enum hes_act)a);
		if (!(o.of[a].seconds > 0))
			continue;
		/* Name the source only if it gave more than the rates do. */
		if (o.from < HES_ACTIVITY_DCGM)
			o.from = a == HES_ACT_BUSY || a == HES_ACT_COPYING
					 ? HES_ACTIVITY_UTILISATION
					 : to->from;
	}
	*out = o;
}

enum hes_activity_from hes_activity_source(const struct hes_devices *d, size_t i)
{
	struct hes_gpm g = { .last = -1 };
	struct hes_reading r;

	if (hes_gpm_begin(d, i, &g, 0)) {
		hes_gpm_end(d, &g);
		return HES_ACTIVITY_GPM;
	}
	if (hes_dcgm_installed())
		return HES_ACTIVITY_DCGM;
	return !hes_device_read(d, i, HES_HAS_UTILISATION, &r, NULL) && r.has
		       ? HES_ACTIVITY_UTILISATION
		       : HES_ACTIVITY_UNKNOWN;
}

const char *hes_activity_from_name(enum hes_activity_from f)
{
	static const char *const names[] = {
		[HES_ACTIVITY_UNKNOWN] = "unknown",
		[HES_ACTIVITY_UTILISATION] = "utilisation",
		[HES_ACTIVITY_DCGM] = "DCGM",
		[HES_ACTIVITY_GPM] = "GPM",
	};

	return names[f];
}

const char *hes_act_name(enum hes_act a)
{
	static const char *const names[HES_ACTS] = {
		[HES_ACT_BUSY] = "busy",
		[HES_ACT_COPYING] = "copying",
		[HES_ACT_SM] = "sm",
		[HES_ACT_OCCUPANCY] = "occupancy",
		[HES_ACT_DRAM] = "dram",
		[HES_ACT_TENSOR] = "tensor",
		[HES_ACT_FP32] = "fp32",
		[HES_ACT_PCIE_OUT] = "pcie_out_mib_s",
		[HES_ACT_PCIE_IN] = "pcie_in_mib_s",
	};

	return names[a];
}
