/*
 * arbiter_bench.h - an arbiter with modelled programs on a virtual clock: what tests of the arbiter
 * share.
 */
#ifndef TEST_ARBITER_BENCH_H
#define TEST_ARBITER_BENCH_H

#include "arbiter/arbiter.h"
#include "base/rng.h"

#define BENCH_CLIENTS 96
#define BENCH_MS      UINT64_C(1000000)
#define BENCH_SECOND  UINT64_C(1000000000)
#define BENCH_FOREVER UINT64_MAX

/** A program with its connection. */
struct bench_client {
	/* As the test wants it. */
	uint32_t uid;
	char tenant[FAIR_NAME_MAX];
	double weight, power_w; /* power_w 0: the store does not know it */
	double draws_w;         /* what it makes the GPU draw */
	uint32_t clock_mhz;
	uint64_t burst_ns,
		pause_ns;   /* GPU time between two pauses; burst BENCH_FOREVER: always busy */
	uint64_t kernel_ns; /* a slice is overrun by up to this */
	uint64_t comes_ns, goes_ns; /* goes 0: stays */
	bool hangs;                 /* never releases */
	bool lies;                  /* reports a GPU time of @reports_ns */
	uint64_t reports_ns;
	uint64_t holds_ns; /* releases after so long, and wants the GPU again at once; 0: at the end
			      of its slice */

	/* What became of it. */
	bool connected, closed;
	int state; /* 0 idle, 1 waiting, 2 running */
	uint64_t lease, granted_ns, begins_ns, next_ns, left_ns;
	uint64_t slice_ns; /* of the last GRANT */
	uint64_t used_ns;  /* GPU time */
	uint64_t leases, stops, prepares, pongs;
	uint64_t longest_wait_ns, wants_ns;
	bool goes_idle; /* at the end of this lease */
	int refused;
	uint16_t version;      /* of the last message that came */
	double kept_s, kept_j; /* in the store */
};

struct bench {
	struct arbiter *a;
	struct hes_rng rng;
	uint64_t now, tick;
	struct bench_client c[BENCH_CLIENTS];
	uint32_t n;
	uint64_t switch_ns;    /* from GRANT to work on the GPU */
	uint64_t clock_ns;     /* to set a clock; BENCH_FOREVER: never answers */
	double joules, idle_w; /* the GPU's counter, and its power without work */
	uint64_t refresh_ns, counter_ns;
	double shown_j; /* as of the last refresh */
	double step_j;  /* as was read last, and when it came */
	uint64_t step_ns, looked_ns;
	uint32_t clock_mhz, clocks_set;
	uint64_t clock_tag, clock_at_ns;
	uint32_t clock_wanted;
	int clock_fails, clock_rc; /* the next so many orders fail so */
	uint64_t reads[64];
	size_t n_reads;
	struct hes_tenant_power requested[BENCH_CLIENTS];
	size_t n_requested;
	struct hes_tenant_power kept[BENCH_CLIENTS];
	size_t n_kept;
	bool store_is_full;  /* nothing that was used is kept */
	uint32_t store_room; /* orders for it that are taken yet; 0: all */
	uint32_t holder;     /* client; UINT32_MAX: none */
	uint32_t overlaps;   /* leases granted while another was held, and not lost */
	uint32_t notes[16];  /* by kind */
	struct fair_gpu gpu; /* of the last answer to STATUS */
	struct fair_tenant_row rows[BENCH_CLIENTS + 64];
	size_t n_rows;
	struct fair_not_held not_held[16];
	size_t n_not_held;
	bool ended;
	struct fair_answer answer;
	uint32_t set_uid; /* of the tenant that is set */
};

/** What tests start from: policy etf, phi 0.7, 200 quanta of 1 ms, patience 2 s, nothing is
 * measured. */
struct arbiter_config bench_config(void);
/** @param c  NULL: bench_config() */
void bench_open(struct bench *b, const struct arbiter_config *c, uint64_t seed);
void bench_close(struct bench *b);
/** Add a client that is always busy, of user 1000. @return its index */
uint32_t bench_add(struct bench *b, const char *tenant, double weight, double power_w);
/** Let time go by. */
void bench_run(struct bench *b, uint64_t ns);
/** GPU time since the last call. */
uint64_t bench_take_used(struct bench *b, uint32_t client);
/** Shares of the GPU time since the last call are those of the slices to within @off. @return their
 * sum */
uint64_t bench_shares_are(struct bench *b, const double *slices, uint32_t n, double off);
/** Ask for STATUS on a connection of its own. */
void bench_status(struct bench *b);
const struct fair_tenant_row *bench_row(const struct bench *b, const char *tenant);
/** Set phi (NaN: not) or the weight of a tenant, as a user. @return the answer's code */
int bench_set(struct bench *b, uint32_t uid, double phi, const char *tenant, double weight);
/** The GPU's thread reports. */
void bench_report(struct bench *b, struct arbiter_report r);
void bench_ready(struct bench *b, uint64_t refresh_ns);
void bench_processes(struct bench *b, struct arbiter_process *v, size_t n);

#endif
