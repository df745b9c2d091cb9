/*
 * node.h - a node of this allocation and the runner on it: started, watched, stopped.
 *
 * A runner is stopped by a file in its folder, which works through any launcher and after the head
 * has died.
 */
#ifndef HES_CLUSTER_NODE_H
#define HES_CLUSTER_NODE_H

#include "cluster/offer.h"

struct head;

/* By its index in the launcher. */
struct node {
	size_t part; /* that its process carries out; PART_NONE */
	pid_t pid;   /* of srun or ssh */
	int status;  /* how it ended */
	struct offer_query query;
	double query_again_s; /* hes_monotonic_s() at which to query it again; 0: not */
	enum {
		NODE_FINE,
		NODE_ENDED,
		NODE_ANSWERED
	} news; /* that are not worked off yet: its runner has ended, its query has an answer */
	bool requested;    /* its runner was requested to stop, by us */
	bool drained;      /* the administrator wants it back */
	bool lost;         /* gets no part any more */
	unsigned failures; /* of parts that ended too early */
	off_t log_read;    /* bytes of its messages that were reported */
};

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
