/*
 * head_state.h - a run on several nodes as its head sees it.
 *
 * head.c makes it and has the loop; head_begin.c starts, rounds.c plans, node_part.c copies
 * journals, head_live.c reports.
 */
#ifndef HES_CLUSTER_HEAD_STATE_H
#define HES_CLUSTER_HEAD_STATE_H

#include "base/hash_map.h"
#include "base/signals.h"
#include "cluster/head.h"
#include "cluster/offer.h"
#include "launch/job_files.h"

#define NO_PART SIZE_MAX

enum part_state {
	PART_WAITING, /* its node has another part, or the round is not begun */
	PART_RUNNING,
	PART_QUERIED, /* its runner has ended too early: the node is queried */
	PART_OVER,    /* it starts nothing any more, and its journal is in ours */
};

/* The work of a node in a round. */
struct part {
	char node[HES_NAME_MAX];
	unsigned round;
	enum part_state state;
	uint64_t key;       /* in the node's journal */
	bool known;         /* what follows is read */
	struct hes_run run; /* as the node's journal has it */
	struct hes_run_gpu *gpus;
	size_t n_gpus;
	int64_t *attempts; /* their ids in our journal, in the order of the node's journal */
	bool *closed;      /* one an attempt: our journal has how it ended */
	size_t n_attempts;
	enum hes_run_job_state *jobs; /* the last state of each row in the node's journal */
	size_t n_jobs;
};

/* When a runner last wrote its state. It does so every second. */
struct part_life {
	int64_t at_us;   /* by its clock; 0: not known */
	double looked_s; /* hes_monotonic_s() when this was first seen */
};

/* A node of this allocation, by its index in the launcher. */
struct node {
	size_t part; /* that its process carries out; NO_PART */
	pid_t pid;   /* of srun or ssh */
	int status;  /* how it ended */
	struct offer_query query;
	double ask_s;          /* hes_monotonic_s() at which to query it again; 0: not */
	struct part_life life; /* of the part that is queried */
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

struct nodes {
	const struct nodes_request *q;
	struct hes_run *run;
	struct hes_job_folder folder; /* of the run */
	struct offer *offers;         /* one a node */
	struct node *nodes;
	struct part *parts; /* by round, then by node */
	size_t n_parts;
	unsigned rounds; /* files that there are */
	/* One a job of the request. */
	enum hes_run_job_state *state;
	unsigned *tries; /* attempts in our journal */
	size_t *part_of; /* that has the job; NO_PART: none that is not over */
	struct hes_text_map names;
	size_t planned_again; /* jobs */
	unsigned stopping;    /* requests to stop */
	double stopped_s;     /* hes_monotonic_s() of the first */
	bool late;            /* a round or a runner could not be started */
	double failing_s; /* hes_monotonic_s() since when a journal cannot be read or written; 0: it
			     can */
	bool no_node_reported;
	int lock;
	struct hes_signals signals;
};

/** Name of a file in the run's folder that belongs to this run alone:
 * FOLDER[/NODE]/START[-ROUND].END */
void nodes_path(const struct nodes *s, const char *node, unsigned round, const char *end,
		char out[HES_JOURNAL_PATH_MAX]);
void nodes_tell(const struct nodes *s, const char *fmt, ...) HES_PRINTF(2, 3);
/** Request the runner on a node to stop, by a file in its folder. */
void nodes_stop(const struct nodes *s, const char *node);
/** @return index of a job; -1 */
long nodes_find_job(const struct nodes *s, const char *id);

/** head_begin.c: lock the folder, query the nodes, and take over what earlier heads began. @return
 * 0; -EBUSY another head, or a runner that goes on; -EINTR a signal */
int nodes_begin(struct nodes *s, struct hes_err *err);

/** rounds.c: the first round: the plan itself where its GPUs are there, else a new plan. */
int rounds_begin(struct nodes *s, struct hes_err *err);
/** rounds.c: plan the jobs that wait and belong to no part, on the nodes that are up. */
int rounds_again(struct nodes *s, struct hes_err *err);
/** Number of jobs that wait and belong to no part. */
size_t rounds_pool(const struct nodes *s);

/** node_part.c: one more part, without its jobs. @return NULL: no memory */
struct part *parts_add(struct nodes *s, const char *node, unsigned round);
/** node_part.c: find the parts of earlier heads, and read them all. */
int parts_find(struct nodes *s, struct hes_err *err);
/**
 * node_part.c: copy what is new in a part's journal.
 * @param settle  its runner and jobs have ended for good
 * @return 0, also if there is no journal yet; after an error nothing is copied, and the next call
 * copies it
 */
int parts_sync(struct nodes *s, struct part *p, bool settle, struct hes_err *err);
/** node_part.c: it gets no more work done; its jobs that wait are free. */
void parts_over(struct nodes *s, struct part *p);
/** node_part.c: whether the runner of a node that does not answer writes its state; to be called
 * again and again. */
bool part_lives(const struct part *p, struct part_life *life);
/** node_part.c: GPUs of nodes that never had a part took no joules that the run knows of. */
int parts_note_idle(struct nodes *s, struct hes_err *err);
void parts_free(struct nodes *s);

/** head_live.c: write live.json of the run from those of the nodes, and report progress. */
void nodes_live_write(const struct nodes *s);
/** head_live.c: report new messages of the runner on a node. */
void nodes_pass_messages(struct nodes *s, size_t node);
/** head_live.c: those of an earlier head were reported. */
void nodes_skip_messages(struct nodes *s, size_t node);
/** head_live.c: what became of each node. */
json_t *nodes_json(const struct nodes *s);

#endif
