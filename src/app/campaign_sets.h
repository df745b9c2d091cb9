/*
 * campaign_sets.h - several sets of jobs: files, or draws of a trace. Every policy plans every set,
 * so that differences between policies are paired.
 *
 * The steps are called in this order. campaign_sets_free() takes sets that are zeroed or that
 * failed anywhere.
 */
#ifndef HES_APP_CAMPAIGN_SETS_H
#define HES_APP_CAMPAIGN_SETS_H

#include "app/campaign_set.h"

struct campaign_sets {
	struct campaign_set *v; /* owned */
	size_t n;
	const char *source;                   /* of the draws; NULL: files. Borrowed */
	uint64_t *seeds;                      /* of the draws; owned */
	struct hes_store_profiling profiling; /* of the workloads of all jobs */
};

/**
 * Load the sets.
 * @param draws  seeds, "10" for 1..10 or "3..7", that draw sets from the one trace in @names; NULL:
 * the names are jobs files
 */
int campaign_sets_load(struct campaign_sets *s, const struct campaign_request *q, const char *draws,
		       size_t n, char *const *names, struct hes_err *err);
/** Choose their policies; a draw is planned with its own seed. @return as campaign_set_choose() */
int campaign_sets_choose(struct campaign_sets *s, const struct campaign_request *q,
			 struct hes_err *err);
/** Learn, plan and replay, set by set. */
int campaign_sets_run(struct campaign_sets *s, const struct campaign_request *q,
		      struct hes_err *err);
void campaign_sets_free(struct campaign_sets *s);

#endif
