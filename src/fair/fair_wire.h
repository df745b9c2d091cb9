/*
 * fair_wire.h - messages between the arbiter of a GPU and its tenants, over a Unix SOCK_SEQPACKET
 * socket.
 *
 * One connection a process and GPU. A message is one of the structs below, whole, in one
 * packet; its length is that of its type. Both ends are on one machine, so numbers have its byte
 * order. Fields have fixed widths and no holes, so that a 32-bit program understands a 64-bit
 * arbiter. The preload library compiles this file too: libc only, no allocation.
 *
 *	process                  arbiter
 *	HELLO              ->
 *	                   <-    WELCOME, or REFUSED and the end of the connection
 *	WANT               ->    it has work and no lease
 *	                   <-    PREPARE: it is next, the last tenant still drains
 *	                   <-    GRANT: the GPU is its own for a slice
 *	                   <-    STOP: end the lease now, also before its slice is over
 *	RELEASE            ->    all its work on the GPU is done; with MORE it wants another lease
 *
 *	PING               ->    is the arbiter alive?
 *	                   <-    PONG
 *
 *	STATUS, SET        ->    without HELLO: heshare fair top, heshare fair set
 *	                   <-    GPU, TENANT ..., NOT_HELD ..., END;  ANSWER
 *
 * A WANT while the process wants or holds a lease already is harmless. A RELEASE of a lease that is
 * not its current one is ignored.
 */
#ifndef HES_FAIR_WIRE_H
#define HES_FAIR_WIRE_H

#include <stddef.h>
#include <stdint.h>

#define FAIR_WIRE_MAGIC   UINT32_C(0x46534548) /* "HESF" */
#define FAIR_WIRE_VERSION 2  /* of all messages: a changed struct is a new version */
#define FAIR_NAME_MAX     64 /* of a tenant, with its NUL */
#define FAIR_TEXT_MAX     160
#define FAIR_ANY_USER     UINT32_MAX
/* Of root's arbiter; others: $XDG_RUNTIME_DIR/heshare/fair.sock. */
#define FAIR_SOCKET "/run/heshare/fair.sock"

enum fair_message_type {
	FAIR_HELLO = 1,
	FAIR_WANT,
	FAIR_RELEASE,
	FAIR_STATUS,
	FAIR_SET,
	FAIR_PING, /* to the arbiter */
	FAIR_WELCOME = 100,
	FAIR_REFUSED,
	FAIR_PREPARE,
	FAIR_GRANT,
	FAIR_STOP,
	FAIR_GPU,
	FAIR_TENANT,
	FAIR_END,
	FAIR_ANSWER,
	FAIR_PONG,
	FAIR_NOT_HELD,
};

/** What each message begins with; WANT, PREPARE, PING, PONG, STATUS and END have no more. */
struct fair_head {
	uint32_t magic;
	uint16_t version;
	uint16_t type; /* enum fair_message_type */
};

struct fair_hello {
	struct fair_head head;
	uint8_t gpu[16];    /* UUID of the GPU, as cuDeviceGetUuid() has it */
	double weight;      /* HES_FAIR_MIN_NUMBER..HES_FAIR_MAX_NUMBER */
	uint32_t clock_mhz; /* SM clock in its slices; 0: as the driver chooses */
	uint32_t zero;
	char tenant[FAIR_NAME_MAX]; /* processes of one user with the same name are one tenant */
};

struct fair_release {
	struct fair_head head;
	uint64_t lease;
	uint64_t gpu_ns; /* GPU time from the first launch of the lease to the end of the last one,
			    by events; 0: not known */
	uint64_t launches; /* in the lease */
	uint32_t more;     /* 1: a thread waits to launch */
	uint32_t zero;
};

struct fair_welcome {
	struct fair_head head;
	uint64_t window_ns; /* work that may be queued on the GPU in a lease that ends by itself */
	uint64_t idle_ns;   /* release a lease after this long without work */
};

struct fair_grant {
	struct fair_head head;
	uint64_t lease;    /* its number, never 0, never given twice */
	uint64_t slice_ns; /* work should be drained after this time; 0: no other tenant has work,
			      run until STOP */
};

struct fair_stop {
	struct fair_head head;
	uint64_t lease;
};

/** REFUSED and ANSWER. */
struct fair_answer {
	struct fair_head head;
	int32_t code; /* 0, or a negative errno of the arbiter's machine */
	uint32_t zero;
	char text[FAIR_TEXT_MAX]; /* a sentence: why, or what was set */
};

/** Change phi of a GPU, or the weight of a tenant or a user. NaN: leave it. */
struct fair_set {
	struct fair_head head;
	uint8_t gpu[16]; /* all 0: every GPU */
	double phi;
	double weight; /* of @tenant; without one, of the user @uid on all GPUs */
	uint32_t uid;  /* its user; FAIR_ANY_USER: the only one that has a tenant of that name */
	uint32_t zero;
	char tenant[FAIR_NAME_MAX]; /* "": none */
};

enum fair_power_source {
	FAIR_POWER_ASSUMED,  /* nothing is known of the tenant yet */
	FAIR_POWER_KNOWN,    /* measured earlier: the sensor is too slow for a slice */
	FAIR_POWER_MEASURED, /* the GPU's counter or sensor, over each lease */
};

/** A GPU of the arbiter. Sums are since its start. */
struct fair_gpu {
	struct fair_head head;
	uint8_t gpu[16];
	char name[FAIR_NAME_MAX];
	char policy[16];
	double phi;
	double phi_fair; /* of the tenants with work */
	uint64_t interval_ns;
	uint64_t age_ns;
	uint64_t wanted_ns; /* time in which any tenant had work */
	uint64_t used_ns;   /* GPU time charged */
	uint64_t leases;
	uint64_t clock_changes;
	double energy_j; /* of the GPU, by its counter; NaN: not readable */
	/* Over the tenants that had work, in the last intervals. NaN: work ran outside of leases.
	 */
	double fairness_time, fairness_energy, fairness_system;
	double total_time, total_energy, total_system; /* since they came; NaN likewise */
};

enum fair_tenant_state { FAIR_IDLE, FAIR_WAITING, FAIR_RUNNING, FAIR_DRAINING, FAIR_LOST };

struct fair_tenant_row {
	struct fair_head head;
	uint8_t gpu[16];
	char tenant[FAIR_NAME_MAX];
	uint32_t uid;
	uint32_t processes;
	uint32_t pid;          /* of one of them, as the arbiter's machine sees it */
	uint32_t state;        /* enum fair_tenant_state */
	uint32_t clock_mhz;    /* requested; 0: none */
	uint32_t power_source; /* enum fair_power_source */
	double weight;
	double user_weight;
	double power_w;
	uint64_t slice_ns; /* 0: without work */
	uint64_t time_ns;  /* since it came */
	double energy_j;
	uint64_t recent_ns; /* in the last intervals; the same span for all tenants */
	double recent_j;
	uint64_t leases;
	uint64_t lost; /* leases that it did not release in time */
};

/** A process with a context on the GPU that no lease covers. */
struct fair_not_held {
	struct fair_head head;
	uint8_t gpu[16];
	uint32_t pid, uid;
	char name[16]; /* of its program */
};

union fair_message {
	struct fair_head head;
	struct fair_hello hello;
	struct fair_release release;
	struct fair_welcome welcome;
	struct fair_grant grant;
	struct fair_stop stop;
	struct fair_answer answer;
	struct fair_set set;
	struct fair_gpu gpu;
	struct fair_tenant_row tenant;
	struct fair_not_held not_held;
};

/** @return length of a message of a type, bytes; 0: no such type */
size_t fair_wire_size(unsigned type);

/** Zero @m and fill its head. @return its length */
size_t fair_wire_begin(union fair_message *m, enum fair_message_type type);

/** What to say where fair_wire_parse() returned -EPROTONOSUPPORT. @param other  who sent the
 * packet,
 * @self: who read it: "the arbiter" */
void fair_wire_say_version(const void *packet, const char *other, const char *self,
			   char out[FAIR_TEXT_MAX]);

/**
 * Take a packet apart. Texts end with a NUL and have no control characters; reserved fields are 0;
 * numbers are as sent.
 * @param out  written only on success
 * @return 0; -EBADMSG no message of this protocol; -EPROTONOSUPPORT another version (heads and
 * REFUSED stay as they are in all versions)
 */
int fair_wire_parse(const void *packet, size_t length, union fair_message *out);

#endif
