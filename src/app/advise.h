/*
 * advise.h - what each workload of the store needs: the SM share and the clock at which it keeps a
 * part of its speed. Of the settings that do, it is the one with the least product of SM share and
 * joules: what is left of both is for co-runners.
 *
 * Points of the workload alone count first; the predictor fills in the settings between them. What
 * was measured only on other GPU types or at other batch sizes is derived, as for plans (known.h).
 * Neither the store nor a GPU is changed.
 */
#ifndef HES_APP_ADVISE_H
#define HES_APP_ADVISE_H

#include "app/app.h"
#include "heshare/predict.h"

struct advise_request {
	const struct app *app;
	const char *workload; /* as a user names it; NULL: all of the store */
	const char *gpu;      /* type; NULL: all on which a workload was measured */
	double keep;          /* part of its speed, 0..1 */
	const char *store, *predictor, *catalogue; /* files; NULL: the usual */
};

/** Where the figures of a setting come from. */
enum advice_source {
	ADVICE_MEASURED,  /* the workload ran at this setting */
	ADVICE_PREDICTED, /* it ran at others on this GPU type */
	ADVICE_DERIVED,   /* it ran on other GPU types or at other batch sizes only */
	ADVICE_SOURCES
};

extern const char *const advice_sources[ADVICE_SOURCES];

/** Of a value and what nine in ten measurements lie between; NaN: not known. */
struct advice_value {
	double value, low, high;
};

struct advice {
	char workload[HES_NAME_MAX];
	char gpu_type[HES_NAME_MAX];
	uint32_t batch_size;
	enum advice_source source;
	struct hes_setting setting;
	bool unlocked;               /* its clock is the type's default */
	struct advice_value speed;   /* as a part of its speed alone on the whole GPU, not locked */
	struct advice_value power_w; /* of the GPU, at this setting */
	double energy; /* GPU joules of an iteration / those on the whole GPU, not locked */
};

struct advice_list {
	struct advice *v;
	size_t n;
	size_t no_gpu; /* rows that are left out: the job ran and used no GPU */
};

/**
 * @param out  written on success only; free() its rows. Sorted by workload, type and batch size
 * @return 0; -ENOENT there is no store, no measured workload, or none of this name or type;
 * errors of loading
 */
int advise(const struct advise_request *q, struct advice_list *out, struct hes_err *err);

#endif
