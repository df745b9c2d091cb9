/*
 * arbiter_state.h - inside of the arbiter: connections, tenants, leases and GPUs.
 *
 * Every public call changes state. Then arbiter_settle() closes the marked connections and gives
 * free GPUs to the next tenants, so that no connection is closed and no lease granted while a list
 * is read.
 *
 * A connection's item is in its tenant's stream of the run queue from its WANT to the RELEASE
 * without MORE.
 */
#ifndef HES_ARBITER_STATE_H
#define HES_ARBITER_STATE_H

#include "arbiter/arbiter.h"

#define MS         UINT64_C(1000000)
#define SECOND     UINT64_C(1000000000)
#define NONE       UINT32_MAX
#define RECENT     10            /* intervals of "recent" sums */
#define ENDS       8             /* readings at the end of leases that may be on their way */
#define LINGER_NS  (60 * SECOND) /* sums and debts of a tenant stay so long after it went */
#define SPARE      64            /* tenants that left, in addition to those of all connections */
#define SLACK_NS   MS            /* of a lease that a tenant's own measure may leave out at most */
#define SLACK_PART 20 /* and at most this part of it, so that many short leases gain nothing */
#define PREPARE_NS MS /* before the end of a slice */
#define MEASURABLE 5  /* refreshes of the sensor: a shorter lease is not measured */

struct connection {
	bool used, doomed, greeted, wants;
	bool listing; /* rows of an answer to STATUS wait for room */
	uint32_t list_gpu, list_row;
	uint32_t uid, pid;
	uint32_t gpu, tenant, stream; /* where greeted */
	enum fair_tenant_state state;
	uint64_t lease;     /* its current one, or the one that it lost */
	uint64_t second_ns; /* start of the second in which messages are counted */
	uint32_t messages;
};

/** Sums of an interval; of another one than @epoch they are 0. */
struct recent {
	uint64_t epoch, time_ns;
	double energy_j;
	bool wanted;
};

/** What is known of a tenant's power at its clock. */
struct profile {
	enum { PROFILE_REQUESTED, PROFILE_NONE, PROFILE_KNOWN } state;
	bool begun, over; /* over: no more profiling leases */
	unsigned rounds;
	uint32_t parts;
	double sum_w, sum_w2;
	uint64_t measured_ns; /* of the parts */
	uint64_t held_ns;     /* in profiling leases of this round */
	double kept_w;        /* as the store has it */
};

struct tenant {
	bool used;
	char name[FAIR_NAME_MAX];
	uint32_t uid, pid, gpu;
	uint32_t queue;                           /* its index in the GPU's run queue */
	uint32_t n, waiting;                      /* connections, and those that wait */
	uint32_t by_stream[ARBITER_MAX_PER_USER]; /* connection; NONE */
	double weight;
	bool weight_set; /* by SET: HELLO does not change it */
	uint32_t clock_mhz;
	uint64_t clock_retry_ns; /* its clock could not be set: tried again from then on */
	double power_w;          /* that the queue has */
	double mean_w;           /* running average, where the power is known */
	bool power_known;
	enum fair_power_source source; /* of its last lease */
	struct profile profile;
	uint64_t came; /* serial number: tells it from another one in the same place */
	uint64_t came_ns, left_ns;
	uint64_t owes_ns; /* of tenants of its user that went: charged before its first lease */
	uint64_t time_ns, leases, lost;
	double energy_j;
	uint64_t kept_ns; /* of time_ns and energy_j, what the store has */
	double kept_j;
	struct recent recent[RECENT];
};

struct user {
	bool used;
	uint32_t uid, n;
	double profilings; /* that it may start; one more after a while */
	uint64_t counted_ns;
};

struct lease {
	uint64_t number; /* 0: none */
	uint32_t connection, tenant;
	uint64_t granted_ns;
	uint64_t slice_ns;     /* 0: no end */
	uint64_t stopped_ns;   /* 0: no STOP was sent */
	uint64_t accounted_ns; /* of it, charged and in the sums */
	bool profiling, prepared;
	unsigned rounds; /* of the tenant's profile when it began */
	bool metered;    /* counter_j is there */
	double counter_j;
	uint64_t counter_ns;
	double estimate_j;     /* added to the tenant's energy since counter_ns */
	uint64_t next_read_ns; /* ARBITER_NEVER */
	bool first_part;
};

/** The counter at the end of a lease is on its way. */
struct lease_tail {
	uint64_t number, came;
	uint32_t tenant;
	double counter_j, estimate_j;
	uint64_t counter_ns;
	bool whole; /* no part of the lease was measured before */
};

struct gpu {
	struct arbiter_gpu_config c;
	struct hes_fair_queue *queue;
	uint32_t *by_queue; /* tenant by its index in the queue */
	double phi;
	struct lease lease;
	uint32_t next;                         /* connection that PREPARE was sent to; NONE */
	uint32_t switching;                    /* connection that waits for the clock; NONE */
	struct hes_fair_turn turn;             /* of it */
	uint64_t clock_tag, clock_deadline_ns; /* 0: no answer is awaited */
	uint64_t late_tag; /* of a clock order that was not answered in time; 0: none */
	uint32_t clock_mhz, clock_wanted;
	bool clock_fails; /* the last one could not be set, and that was said */
	bool clocks;      /* may be set, as far as is known */
	bool ready, gone; /* ready: its thread is at work */
	uint64_t refresh_ns, part_ns;
	struct lease_tail tails[ENDS];
	size_t next_tail;
	bool counted;
	double first_j, last_j;
	uint32_t waiting, wanting;
	uint64_t wanted_since_ns, wanted_ns, used_ns, leases, clock_changes;
	uint64_t by_source[3];
};

struct arbiter {
	struct arbiter_config c;
	struct arbiter_out out;
	uint64_t started_ns, serial, next_sweep_ns;
	struct gpu *gpus;
	struct connection *connections;
	struct tenant *tenants;
	struct user *users;
	uint32_t n_tenants;               /* room, of users too */
	struct hes_fair_tenant *measured; /* [n_tenants], scratch of sums */
	uint64_t *sums;
	uint32_t used, doomed; /* connections */
};

/* arbiter.c */
void arbiter_settle(struct arbiter *a, uint64_t now);
void connection_doom(struct arbiter *a, uint32_t id);
/** Send; a connection that cannot take it is doomed. */
void connection_send(struct arbiter *a, uint32_t id, const union fair_message *m, size_t length);
/** @return whether it is root or the arbiter's owner */
bool user_is_trusted(const struct arbiter *a, uint32_t uid);
void arbiter_say(struct arbiter *a, enum arbiter_note_kind kind, const struct connection *c,
		 const char *text);

/* tenants.c */
/** @return its index; NONE: no room or no memory */
uint32_t tenant_join(struct arbiter *a, uint32_t id, uint32_t gpu, const struct fair_hello *h,
		     uint64_t now);
void tenant_leave(struct arbiter *a, uint32_t id, uint64_t now);
/** Charge it the debt of its user's tenants that left. @return whether there was a debt */
bool tenant_pay(struct arbiter *a, struct tenant *t, uint64_t now);
void tenants_sweep(struct arbiter *a, uint64_t now);
/** Give the store what it has used since the last time. */
void usage_keep(struct arbiter *a, struct tenant *t);
/** Give the queue the tenant's power and weight. */
void tenant_change(struct arbiter *a, struct tenant *t);
/** Clock that its profile is of. */
uint32_t tenant_clock(const struct gpu *g, const struct tenant *t);
struct recent *tenant_recent(const struct arbiter *a, struct tenant *t, uint64_t now);
struct user *user_find(struct arbiter *a, uint32_t uid, uint64_t now);

/* powers.c */
void power_look_up(struct arbiter *a, struct tenant *t);
/** A part of a lease was measured. */
void power_measured(struct arbiter *a, struct gpu *g, struct tenant *t, double watts, uint64_t ns,
		    bool first_part);
void power_keep(struct arbiter *a, struct tenant *t, double cv, double seconds);
/** Powers that are only assumed follow those that are known. */
void powers_assume(struct arbiter *a, struct gpu *g);
bool profiling_may_begin(struct arbiter *a, const struct gpu *g, const struct tenant *t,
			 uint64_t now);
/** @return how long the lease of a tenant that is profiled may be */
uint64_t profiling_length(const struct arbiter *a, const struct gpu *g, const struct tenant *t);
void profiling_begin(struct arbiter *a, struct tenant *t, uint64_t now);
void profiling_end(struct arbiter *a, struct gpu *g, struct tenant *t, const struct lease *l,
		   uint64_t held_ns);
/** W, as well as is known. */
double tenant_watts(const struct tenant *t);

/* leases.c */
void gpu_schedule(struct arbiter *a, struct gpu *g, uint64_t now);
uint64_t gpu_deadline(const struct arbiter *a, const struct gpu *g);
/** A connection has work, or has none any more. */
void connection_want(struct arbiter *a, uint32_t id, uint64_t now);
void connection_rest(struct arbiter *a, uint32_t id, uint64_t now);
void connection_release(struct arbiter *a, uint32_t id, const struct fair_release *r, uint64_t now);
/** End the lease that a connection has, or give up the one that the clock is being set for. */
void connection_forfeit(struct arbiter *a, uint32_t id, uint64_t now);
/** End a lease without an end, so that the next one has what has become possible: a clock,
 * readings. */
void lease_renew(struct arbiter *a, struct gpu *g, uint64_t now);
/** Charge what the lease has used until now. */
void lease_account(struct arbiter *a, struct gpu *g, uint64_t now);

/* readings.c */
/** Read the counter at the start, during, and at the end of a lease. */
void lease_read_start(struct arbiter *a, struct gpu *g);
void lease_read_part(struct arbiter *a, struct gpu *g, uint64_t now);
void lease_read_end(struct arbiter *a, struct gpu *g, uint64_t held_ns);
void tenant_add_energy(const struct arbiter *a, struct tenant *t, double joules, uint64_t now);

/* clocks.c */
/** @return whether the clock is as the tenant asks; else it is being set, and the GPU waits */
bool clock_is_ready(struct arbiter *a, struct gpu *g, const struct tenant *t, uint64_t now);
/** Let the driver choose again where a clock is locked and no tenant has one. */
void clock_rest(struct arbiter *a, struct gpu *g, uint64_t now);
/** The driver has not answered in time. */
void clock_expire(struct arbiter *a, struct gpu *g);
/** Once a second: what could not be set or unlocked. */
void clock_try_again(struct arbiter *a, struct gpu *g, uint64_t now);

/* listing.c */
void status_begin(struct arbiter *a, uint32_t id, uint64_t now);
void status_go_on(struct arbiter *a, uint32_t id, uint64_t now);

#endif
