/*
 * fair_replay.h - tenants share a GPU on a virtual clock: the run queue deals out turns, and each
 * tenant's work is a row of numbers.
 *
 * The run queue (heshare/fair_queue.h) makes every decision. The replay lets time pass, as a GPU
 * and a clock would: it submits requests, runs the tenant that has the turn, and charges its use. A
 * tenant that is alone runs on; when another one gets work, its turn ends once it has used its
 * slice of two tenants. Pure: the same input gives the same result.
 */
#ifndef PAPERS_FAIR_REPLAY_H
#define PAPERS_FAIR_REPLAY_H

#include "heshare/fair_queue.h"

#define FAIR_REPLAY_MAX_TENANTS 10000
#define FAIR_REPLAY_NEVER       UINT64_MAX

/** A tenant and its work. Times are ns of the virtual clock, HES_FAIR_MAX_NS at most where nothing
 * else is said. */
struct fair_replay_tenant {
	double power_w, weight; /* as in struct hes_fair_tenant */
	uint64_t arrival_ns;
	uint64_t departure_ns; /* after the arrival; FAIR_REPLAY_NEVER: it stays */
	uint64_t request_ns;   /* GPU time of a request; 0: one without end */
	uint64_t period_ns; /* from a request to the next; 0: the next one comes when the one before
			       has ended */
	bool random; /* the times between requests are exponential with the mean period_ns (Poisson
			arrivals) */
	uint64_t piece_ns; /* GPU time that a turn cannot interrupt, such as a kernel's; 0: it can
			      end at any moment */
};

struct fair_replay_config {
	struct hes_fair_queue_config queue;
	uint64_t duration_ns; /* at least 1 */
	uint64_t every_ns;    /* between two samples; 0: only the one at the end */
	uint64_t switch_ns;   /* GPU time lost when the turn of another tenant begins; no tenant is
				 charged */
	uint64_t seed;        /* of random arrivals */
};

/** What a tenant has used and got so far. */
struct fair_replay_usage {
	uint64_t present_ns; /* since it arrived, until it departed */
	uint64_t time_ns;    /* GPU time */
	double energy_j;
	uint64_t turns;    /* that began */
	uint64_t requests; /* done */
	uint64_t waiting;  /* not done; at the departure those that are dropped */
	/* From the submission of a request to its end, over requests that are done; 0 where there
	 * is none. Only at the end. */
	double mean_latency_ns;
	uint64_t median_latency_ns, p99_latency_ns;
};

/** Usage of each tenant at @at_ns; valid during the call. */
typedef void fair_replay_sample_fn(uint64_t at_ns, const struct fair_replay_usage *usage, size_t n,
				   void *ctx);

/**
 * @param tenants [n], n in 1..FAIR_REPLAY_MAX_TENANTS
 * @param sample  may be NULL
 * @param out     [n]; written only on success
 * @return 0; -EINVAL a number out of range, with the tenant's index; -E2BIG more steps than anyone
 * waits for; -ENOMEM
 */
int fair_replay(const struct fair_replay_config *c, const struct fair_replay_tenant *tenants,
		size_t n, fair_replay_sample_fn *sample, void *ctx, struct fair_replay_usage *out,
		struct hes_err *err);

/**
 * F_T, F_E and F_S of usage: time and energy for each second of presence, by weights. Of tenants
 * that are there all the time it is the fairness of the paper. Tenants that never were there do not
 * count.
 */
void fair_replay_measure(const struct fair_replay_tenant *tenants,
			 const struct fair_replay_usage *usage, size_t n, struct hes_fairness *out);

#endif
