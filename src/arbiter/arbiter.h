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

/** @param c  its numbers are in range; copied. @return 0; -ENOMEM */
int arbiter_create(const struct arbiter_config *c, const struct arbiter_out *out, uint64_t now,
		   struct arbiter **a, struct hes_err *err);
void arbiter_destroy(struct arbiter *a);

/** A client connects; one that there is no room for gets REFUSED and is closed at once.
 * @param id  a free connection. @param of  its process; started 0: not known */
void arbiter_connect(struct arbiter *a, uint32_t id, uint32_t uid, const struct hes_process *of,
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

/** A GPU's thread reports; list all processes about once a second. */
void arbiter_report(struct arbiter *a, size_t gpu, const struct arbiter_report *r, uint64_t now);
/** Give the store all measurements and all that was used since the last call. */
void arbiter_keep(struct arbiter *a, uint64_t now);

#endif
