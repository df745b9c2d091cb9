/*
 * head.h - carry a plan out on several nodes: one runner on each, one journal, one report.
 *
 * This process is the head. It makes rounds: a round is a plan in a file of the run's folder, and
 * each node with work in it gets a part. A part is `heshare run` on the node, with a journal of its
 * own in FOLDER/NODE. These journals are the truth of what was done; the head copies them into the
 * run's journal. When a part ends and leaves jobs, they are planned again on the nodes that are up,
 * in a new round. A new head (--resume) reads the nodes' journals and does the same with all that
 * is left, also on other nodes. A part is never resumed, so no job is started by two rounds.
 */
#ifndef HES_CLUSTER_HEAD_H
#define HES_CLUSTER_HEAD_H

#include <jansson.h>

#include "cluster/head_request.h"

/**
 * Carry the plan out, or go on with it.
 * @param run   id 0: a new run, else one to resume, as the journal has it; folder and host are set
 * @param nodes what became of each node, as JSON; the caller's
 * @return 0 also if jobs failed or wait; -EBUSY another head carries it out; -ENODEV no node
 * answers; -ETIME nothing could go on for long; -errno
 */
int head_run(const struct head_request *q, struct hes_run *run, struct hes_run_report *out,
	     json_t **nodes, struct hes_err *err);

#endif
