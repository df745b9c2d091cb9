/*
 * link.h - the library's own thread for a GPU: it talks to the arbiter and works the gate.
 *
 * It connects, says HELLO, hands messages to the gate and sends what the gate has to say. While
 * there is no arbiter, or it does not answer, the gate is open and the thread tries again every
 * second. While the arbiter refuses the program, launches wait, or pass, or the process ends, as
 * the settings say.
 */
#ifndef HES_INTERPOSE_LINK_H
#define HES_INTERPOSE_LINK_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "gate.h"
#include "gate_settings.h"

enum link_progress {
	LINK_OFF,      /* no thread */
	LINK_STARTING, /* the first attempt to connect is under way */
	LINK_ON,
	LINK_ENDED,
};

/** What the library said last. */
enum link_said { LINK_SAID_NOTHING, LINK_SAID_NO_ARBITER, LINK_SAID_SILENT, LINK_SAID_REFUSED };

struct link {
	struct gate gate;
	const struct settings *settings;
	uint8_t uuid[16];
	void *context; /* for the gate's events */
	int device;
	_Atomic bool stop;
	pthread_t thread;
	pthread_mutex_t lock; /* guards progress */
	pthread_cond_t changed;
	enum link_progress progress;
	int wake_in; /* the thread reads; the gate's other threads send to wake_out */
	_Atomic int wake_out;
	_Atomic ino_t wake_inode; /* a program may close descriptors that are not its own */
	ino_t wake_in_inode;
	/* of the thread: */
	int fd; /* -1: not connected */
	ino_t inode;
	bool welcome, broken, refused; /* refused: launches wait until the arbiter accepts */
	enum link_said said;
	uint64_t retry_ns;
	uint64_t heard_ns;  /* when the last message came */
	uint64_t query_ns;  /* since when an answer is awaited; 0: none is */
	uint64_t answer_ns; /* an arbiter that does not answer for so long hangs */
	const char *path;   /* of the socket that was tried last */
	/** @return a connected socket, or -errno */
	int (*connect)(struct link *l);
	bool (*captures)(void *self);
};

/** @connect NULL: to a socket in @settings. */
void link_init(struct link *l, const struct fair_driver *driver, const struct settings *settings,
	       bool (*captures)(void *self), int (*connect)(struct link *l));
/**
 * Start the thread and wait shortly until it is welcomed or knows that it is not. @context is the
 * calling thread's.
 * @return 0; -errno: there is no thread, and the gate stays open
 */
int link_start(struct link *l, void *context);
/** End the thread and wait shortly for it. The gate is open after that. */
void link_stop(struct link *l);
/** In the child of a fork: there is no thread, and the connection is the parent's. */
void link_after_fork(struct link *l);

#endif
