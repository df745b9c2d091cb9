/*
 * arbiter_config.h - what an arbiter is made of, and what it wants done: bounds, GPUs, orders to
 * its driver and store, notes for people.
 */
#ifndef HES_ARBITER_ARBITER_CONFIG_H
#define HES_ARBITER_ARBITER_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fair/fair_wire.h"
#include "heshare/fair_queue.h"
#include "heshare/tenant_usage.h"
#include "launch/process.h"

#define ARBITER_MAX_GPUS        64
#define ARBITER_MAX_CONNECTIONS 4096
#define ARBITER_NEVER           UINT64_MAX

#define MS     UINT64_C(1000000)
#define SECOND UINT64_C(1000000000)
#define NONE   UINT32_MAX

static inline uint64_t lesser_ns(uint64_t x, uint64_t y)
{
	return x < y ? x : y;
}

static inline uint64_t greater_ns(uint64_t x, uint64_t y)
{
	return x > y ? x : y;
}

/** @return x - y; 0 where y is greater */
static inline uint64_t beyond_ns(uint64_t x, uint64_t y)
{
	return x > y ? x - y : 0;
}

struct arbiter_gpu_config {
	uint8_t uuid[16];
	char name[FAIR_NAME_MAX];
	double limit_w;                        /* power limit; 0: not known */
	uint32_t clock_min_mhz, clock_max_mhz; /* that can be set; 0: not known */
};

/** What the administrator gives a user; 1 without. */
struct arbiter_user_weight {
	uint32_t uid;
	double weight;
};

struct arbiter_config {
	struct hes_fair_queue_config queue;
	const struct arbiter_gpu_config *gpus; /* [n_gpus], copied */
	size_t n_gpus;                         /* 1..ARBITER_MAX_GPUS */
	uint32_t connections;                  /* 1..ARBITER_MAX_CONNECTIONS */
	uint32_t kept;     /* of them for STATUS and SET of root and the owner: < connections */
	uint32_t per_user; /* connections of a user: at least 1 */
	uint32_t owner;    /* user who may change settings and have any weight, as root may */
	double max_weight; /* of tenants, that other users may ask for in HELLO; SET gives more */
	const struct arbiter_user_weight *user_weights; /* [n_user_weights], copied */
	size_t n_user_weights;                          /* no more than connections */
	uint64_t patience_ns;        /* until a lease that is over and not released is lost */
	uint64_t profile_ns;         /* of a new tenant, that is measured at most; 0: none */
	uint64_t window_ns, idle_ns; /* of WELCOME */
	bool clocks;                 /* set the clocks that tenants ask for */
};

#define ARBITER_FORKS 8

/** A process with a context on a GPU. */
struct arbiter_process {
	struct hes_process id;
	uint32_t uid;
	char name[16]; /* of its program */
	bool idle;     /* it has not used the GPU lately */
	/* What it was forked from, its parent first, as long as no other program was started
	 * between: such a process may use the connection of another. */
	struct hes_process forked_from[ARBITER_FORKS];
	uint32_t n_forked;
};

/** Joules of a GPU since any moment, and at the last step of its counter. */
struct arbiter_energy {
	double joules;  /* NaN: they could not be read */
	uint64_t at_ns; /* when they were read */
	double step_j;
	uint64_t step_ns; /* 0: the counter cannot be believed */
};

/** What a GPU's thread is to do. */
struct arbiter_order {
	enum {
		ORDER_ENERGY, /* read the counter; answered with @tag */
		ORDER_CLOCK,  /* set @mhz, 0: as the driver chooses; answered with @tag */
		ORDER_FIND,   /* look @power up; answered */
		ORDER_KEEP,   /* @power, in the store */
		ORDER_USAGE,  /* add @usage to the store */
		ORDER_PROCESSES
	} kind;
	uint64_t tag;
	uint32_t mhz;
	struct hes_tenant_power power;
	struct hes_tenant_usage usage; /* since it was kept the last time; joules below 0: too
					  much was estimated before */
};

/** What it tells. */
struct arbiter_report {
	enum {
		REPORT_READY, /* its sensors are there */
		REPORT_GONE,  /* its driver does not answer any more: no clocks, no energy */
		REPORT_ENERGY,
		REPORT_CLOCK,
		REPORT_PROFILE,  /* power_w 0: the store has none */
		REPORT_SENTENCE, /* for people */
		REPORT_PROCESSES
	} kind;
	uint64_t tag;
	uint64_t refresh_ns; /* how often the energy counter moves; 0: there is none */
	struct arbiter_energy energy;
	/* Negative errno: @text says why. -EPERM, -ENOTSUP of the first clock: no more are set on
	 * this GPU; others are tried again. */
	int rc;
	struct hes_tenant_power power;
	struct arbiter_process *processes; /* [n_processes], all with a context; free() it */
	size_t n_processes;
	char text[256];
};

enum arbiter_note_kind {
	ARBITER_CONNECTED,
	ARBITER_DISCONNECTED,
	ARBITER_LOST_LEASE,
	ARBITER_FLOOD,
	ARBITER_BAD_PACKET,
	ARBITER_REFUSED,
	ARBITER_PROFILED,
	ARBITER_NO_CLOCKS,
	ARBITER_CLOCK_FAILED,
	ARBITER_GPU_GONE,
	ARBITER_CHANGED,
};

/** What people may want to know. Texts live until the call returns. */
struct arbiter_note {
	enum arbiter_note_kind kind;
	size_t gpu; /* SIZE_MAX: none */
	uint32_t uid, pid;
	const char *tenant; /* "": none */
	const char *text;   /* a reason; "": none */
	double number;      /* ARBITER_PROFILED: W */
};

/** What the arbiter wants done. */
struct arbiter_out {
	void *ctx;
	/** Send a packet without waiting. @return 0; -EAGAIN the socket is full; another negative
	 * errno: the connection is of no use */
	int (*send)(void *ctx, uint32_t connection, const void *packet, size_t length);
	/** The arbiter has forgotten the connection: close it. */
	void (*close)(void *ctx, uint32_t connection);
	/** Have a GPU's thread do it; arbiter_report() brings what comes of it. @return false: it
	 * cannot, or there is no store */
	bool (*order)(void *ctx, size_t gpu, const struct arbiter_order *o);
	void (*note)(void *ctx, const struct arbiter_note *n);
};

/** Tell people about a GPU. */
static inline void gpu_note(const struct arbiter_out *out, enum arbiter_note_kind kind, size_t gpu,
			    const char *text)
{
	out->note(out->ctx, &(struct arbiter_note){ kind, gpu, 0, 0, "", text, 0 });
}

#endif
