/*
 * arbiter.h - the arbiter of shared GPUs without its I/O: who is connected, who has a lease, what
 * each has used.
 *
 * The caller passes the time as monotonic nanoseconds. The arbiter acts through the functions of
 * struct arbiter_out, which do not call the arbiter. A connection is a number below
 * config.connections; the caller chooses a free one. Bytes of clients are not trusted: a wrong
 * packet ends only its connection.
 *
 * Memory is allocated by arbiter_create() and, for tenants up to a fixed number, by their run
 * queues. One thread at a time.
 */
#ifndef HES_ARBITER_ARBITER_H
#define HES_ARBITER_ARBITER_H

#include "arbiter/arbiter_config.h"

struct arbiter;

/** @return 0; -EINVAL a number out of range; -ENOMEM */
int arbiter_create(const struct arbiter_config *c, const struct arbiter_out *out, uint64_t now,
		   struct arbiter **a, struct hes_err *err);
void arbiter_destroy(struct arbiter *a);

/** @param of  the process that connected; started 0: not known
 * @return 0; -EUSERS the user, or all users, have too many connections: the client has the error,
 * close it; -EINVAL @id is out of range or in use */
int arbiter_connect(struct arbiter *a, uint32_t id, uint32_t uid, const struct hes_process *of,
		    uint64_t now);
/** A packet came. */
void arbiter_message(struct arbiter *a, uint32_t id, const void *packet, size_t length,
		     uint64_t now);
/** The client has closed the connection, or died. Harmless on one that is over. */
void arbiter_disconnect(struct arbiter *a, uint32_t id, uint64_t now);
/** The socket has room again, after send() returned -EAGAIN. */
void arbiter_writable(struct arbiter *a, uint32_t id, uint64_t now);
/** @return whether the connection waits for room in its socket */
bool arbiter_waits_to_write(const struct arbiter *a, uint32_t id);
/** Run all actions whose time has come. @return when to call again; ARBITER_NEVER */
uint64_t arbiter_tick(struct arbiter *a, uint64_t now);

/** The GPU's sensors are there. @param refresh_ns  how often the energy counter moves; 0: it has
 * none */
void arbiter_gpu_ready(struct arbiter *a, size_t gpu, uint64_t refresh_ns, uint64_t now);
/** The GPU or its driver does not answer any more: no clocks and no energy from here on. */
void arbiter_gpu_gone(struct arbiter *a, size_t gpu, const char *why, uint64_t now);
/** The energy was read. */
void arbiter_energy(struct arbiter *a, size_t gpu, uint64_t tag, const struct arbiter_energy *e,
		    uint64_t now);
/** @param rc  negative errno: @why says so. -EPERM, -ENOTSUP of the first clock: no more are set on
 * this GPU; others are tried again */
void arbiter_clock_set(struct arbiter *a, size_t gpu, uint64_t tag, int rc, const char *why,
		       uint64_t now);
/** @param p  power_w 0: the store has none */
void arbiter_profile_found(struct arbiter *a, size_t gpu, const struct arbiter_profile *p,
			   uint64_t now);
/** All processes that have a context on the GPU; call it about once a second. */
void arbiter_processes(struct arbiter *a, size_t gpu, const struct arbiter_process *v, size_t n,
		       uint64_t now);
/** Give the store all measurements and all that was used since the last call. */
void arbiter_keep(struct arbiter *a, uint64_t now);

#endif
