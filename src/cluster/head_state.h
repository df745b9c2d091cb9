/*
 * head_state.h - a run on several nodes as its head sees it: what the files of the head share.
 *
 * head.c owns it and has the loop, head_begin.c the start, head_live.c what others see of it.
 * part.c has what a node did, node.c its runner, round.c the plans.
 */
#ifndef HES_CLUSTER_HEAD_STATE_H
#define HES_CLUSTER_HEAD_STATE_H

#include "base/hash_map.h"
#include "base/signals.h"
#include "cluster/head.h"
#include "cluster/node.h"
#include "cluster/offer.h"
#include "cluster/part.h"
#include "launch/job_files.h"
#include "run/run_log.h"

struct head {
	const struct head_request *q;
	struct hes_run *run;
	struct run_clock clock; /* of the log */
	struct run_log log;
	struct hes_job_folder folder; /* of the run */
	struct offer *offers;         /* one a node */
	struct node *nodes;
	struct part *parts; /* by round, then by node */
	size_t n_parts;
	unsigned rounds; /* files that there are */
	/* One a job of the request. */
	enum hes_run_job_state *state;
	unsigned *tries; /* attempts in parts that are over */
	size_t *part_of; /* that has the job; PART_NONE: none that is not over; PART_NOWHERE */
	struct hes_text_map names;
	size_t planned_again; /* jobs */
	unsigned stopping;    /* requests to stop */
	double stopped_s;     /* hes_monotonic_s() of the first */
	bool cleared;         /* what earlier heads copied, to be copied again */
	bool taken_over;      /* all of it is copied again; or the run is new */
	bool failed;          /* something could not be done since all was looked at */
	bool no_node_reported;
	int lock;
	struct hes_signals signals;
};

/** Name of a file in the run's folder that belongs to this run alone:
 * FOLDER[/NODE]/START[-ROUND].END */
void head_path(const struct head *h, const char *node, unsigned round, const char *end,
	       char out[HES_JOURNAL_PATH_MAX]);
/** @return index of a job; -1 */
long head_find_job(const struct head *h, const char *id);
/** Request all runners to stop. @param why  empty, or ends with "; " */
void head_stop(struct head *h, const char *why);
/** Something could not be done. It is tried again, and reported once. */
void head_retry(struct head *h, int rc, const struct hes_err *err);
/** Nodes that get work. */
size_t head_count_up(const struct head *h);

/** head_begin.c: lock the folder, query the nodes, and find what earlier heads began. @return 0;
 * -EBUSY another head, or a runner that goes on; -EINTR a signal */
int head_begin(struct head *h, struct hes_err *err);

/** head_live.c: write live.json of the run from those of the nodes, and report progress. */
void head_live_write(const struct head *h);
/** head_live.c: what became of each node. */
json_t *head_nodes_json(const struct head *h);

#endif
