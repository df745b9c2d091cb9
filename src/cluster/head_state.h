/*
 * head_state.h - a run on several nodes as its head sees it: what the files of the head share.
 *
 * head.c owns it and has the loop, head_begin.c the start, head_live.c what others see of it.
 * part.h has what a node did in a round, node.h its runner, round.h the plans.
 */
#ifndef HES_CLUSTER_HEAD_STATE_H
#define HES_CLUSTER_HEAD_STATE_H

#include <jansson.h>

#include "base/hash_map.h"
#include "base/signals.h"
#include "cluster/head_request.h"
#include "cluster/offer.h"
#include "launch/job_files.h"
#include "run/run_log.h"

#define PART_NONE    SIZE_MAX
#define PART_NOWHERE (SIZE_MAX - 1) /* of a job that no node can run */

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
