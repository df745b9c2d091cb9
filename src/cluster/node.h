/*
 * node.h - a node of this allocation and the runner on it: started, watched, stopped.
 *
 * A runner is stopped by a file in its folder, which works through any launcher and after the head
 * has died.
 */
#ifndef HES_CLUSTER_NODE_H
#define HES_CLUSTER_NODE_H

#include "cluster/head_state.h"

/** Request all runners to stop. @param why  empty, or ends with "; " */
void node_stop_all(struct head *h, const char *why);
/** Request the runner in a node's folder to stop; the node need not be one of ours. */
void node_request_stop(const struct head *h, const char *name);
/** The same for one of ours; it is remembered. */
void node_stop(struct head *h, size_t node);
/** Start the part of this node whose turn it is, if it has none. A node that is lost or drains gets
 * none: its parts are over. @return 0; errors of files and of the launcher */
int node_start_next(struct head *h, size_t node, struct hes_err *err);
/** Take in that its runner has ended or its query has an answer. @return 0; errors of the journals
 * and of the launcher: call it again */
int node_reap(struct head *h, size_t node, struct hes_err *err);
/** Nodes that Slurm takes out of service: their jobs end and are planned again on the others. */
void node_find_drained(struct head *h);
/** Report new messages of the runner on a node. */
void node_pass_messages(struct head *h, size_t node);
/** Those of an earlier head were reported. */
void node_skip_messages(struct head *h, size_t node);

#endif
