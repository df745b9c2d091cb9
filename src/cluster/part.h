/*
 * part.h - the work of a node in a round, and what its journal says of it.
 *
 * Rows of a node's journal are only added, in an order that stays. They are copied as often as one
 * likes. Joules of a GPU are the sum over all parts that ran there. The times of a part count from
 * its own start, by the wall clock of its node.
 */
#ifndef HES_CLUSTER_PART_H
#define HES_CLUSTER_PART_H

#include "heshare/run.h"

#define PART_NONE    SIZE_MAX
#define PART_NOWHERE (SIZE_MAX - 1) /* of a job that no node can run */

struct head;

enum part_state {
	PART_LEFT,    /* of an earlier head: what it did is not read yet */
	PART_WAITING, /* its node has another part, or the round is not begun */
	PART_RUNNING,
	PART_QUERIED, /* its runner has ended too early: the node is queried */
	PART_OVER,    /* it starts nothing any more, and its journal is in ours */
};

/* When a runner last wrote its state. It does so every second. */
struct part_life {
	int64_t at_us;   /* by its clock; 0: not known */
	double looked_s; /* hes_monotonic_s() when this was first seen */
};

struct part {
	char node[HES_NAME_MAX];
	unsigned round;
	enum part_state state;
	uint64_t key;       /* in the node's journal */
	bool known;         /* what follows is read */
	bool placed;        /* GPUs, shares and planned times of its jobs are in our journal */
	struct hes_run run; /* as the node's journal has it, in our folder */
	struct hes_run_gpu *gpus;
	size_t n_gpus;
	struct part_life life; /* where its node does not answer */
	size_t n_copied; /* attempts at the beginning of its journal that are copied for good */
};

/** One more part, without its jobs. @return NULL: no memory */
struct part *part_add(struct head *h, const char *node, unsigned round, uint64_t key);
/** Find the parts of earlier heads. @return 0; errors of reading the rounds' files */
int part_find_left(struct head *h, struct hes_err *err);
/** Copy what is left of earlier heads, once their runners have ended. @return 0; -EBUSY a runner
 * goes on; errors of the journals: call it again */
int part_take_left(struct head *h, struct hes_err *err);
/** Whether a part is in a state. */
bool part_any(const struct head *h, enum part_state state);
/**
 * Copy what is new in a part's journal.
 * @param settle  its runner and jobs have ended for good: the last call for this part
 * @return 0, also if there is no journal yet; after an error nothing is copied, and the next call
 * copies it
 */
int part_sync(struct head *h, struct part *p, bool settle, struct hes_err *err);
/** It gets no more work done; its jobs that wait are free. */
void part_over(struct head *h, struct part *p);
/** Whether the runner of a node that does not answer writes its state; to be called again and
 * again. */
bool part_lives(struct part *p);
/** What runners observed and no journal has: clocks and gaps, from their reports. */
void part_add_observed(const struct head *h, struct hes_run_report *out);
/** GPUs of nodes that never had a part took no joules that the run knows of. */
int part_note_idle(struct head *h, struct hes_err *err);
void part_free_all(struct head *h);

#endif
