/*
 * observation.h - samples as a predictor learns from them: queries and what
 * came of them, with their neighbours' profiles where those are known by name.
 *
 * The board's power before a task came was read once, with a meter's noise.
 * Neighbours with names tell it as well: each joins those before it, as in a
 * plan, by the same baseline.
 */
#ifndef HES_PREDICT_OBSERVATION_H
#define HES_PREDICT_OBSERVATION_H

#include "predict/baseline/constants.h"

/** One with a name, by its solo profile. */
struct neighbour {
	struct hes_profile solo;
	uint32_t           sm_pct;
};

/** A query and what came of it. */
struct observation {
	struct query            query;   /* of the setting and the load below: observation_settle() */
	struct hes_setting      setting;
	struct hes_load         co_runners;
	double                  iteration_us;
	double                  power_w;
	const struct neighbour *named;   /* all of its neighbours, in the sample's order; or none */
	size_t                  n_named;
};

struct observations {
	struct observation *v;
	size_t              n;
	struct neighbour   *named; /* of all */
};

/** @return 0; -EINVAL, -ENOENT a sample that nothing can be learnt from; -ENOMEM */
int  observations_init(struct observations *o, const struct hes_samples *s, const struct hes_catalogue *c,
		       struct hes_err *err);
void observations_finish(struct observations *o);

/** Have a copy's query be of the copy's own setting and load. */
void observation_settle(struct observation *o);

/** Let an observation's load be what its named neighbours do and draw by constants; that of nameless ones stays. Keeps power_mw. */
void observation_tell(const struct constants_table *t, struct observation *o);

/** The neighbour whose coming was read before the task's. NULL: none, or none with a name. */
const struct neighbour *observation_before(const struct observation *o);

/**
 * A table for the types and workloads of observations, the most frequent ones; values as believed. Whoever came before
 * a task has constants of its own, too, though never sampled as a task. Those left out of a fit (calibration_without())
 * keep what is read of them beside others: were it otherwise here, folds would know more.
 * @return 0 or -ENOMEM
 */
int observations_constants(const struct observation *v, size_t n, struct constants_table *out);

#endif
