/*
 * part.h - the work of a node in a round, and what its journal says of it.
 *
 * Rows of a node's journal are only added, in an order that stays. They are copied as often as one
 * likes. Joules of a GPU are the sum over all parts that ran there. The times of a part count from
 * its own start, by the wall clock of its node.
 */
#ifndef HES_CLUSTER_PART_H
#define HES_CLUSTER_PART_H

#include "cluster/head_state.h"

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
