/*
 * head.c - the head of a run on several nodes: start runners, watch them, plan again what they
 * leave; see head.h.
 *
 * What cannot be done is tried again, by the rules of a run on one machine (run/run_log.h). The
 * head asks Slurm for nothing meanwhile but which nodes drain.
 */
#include "cluster/head.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/plural.h"
#include "cluster/node.h"
#include "cluster/part.h"
#include "cluster/round.h"
#include "run/live.h"

#define SYNC_S    2
#define DRAIN_S   10 /* between two looks for nodes that drain */
#define END_TRIES 60

/* --- made --- */

static int head_make(struct head *h, struct hes_err *err)
{
	const size_t n = h->q->jobs->n, n_nodes = h->q->launcher->n;
	int rc = hes_text_map_make(&h->names, h->q->jobs->v, sizeof(*h->q->jobs->v), n);

	h->nodes = calloc(n_nodes + 1, sizeof(*h->nodes));
	h->state = calloc(n + 1, sizeof(*h->state));
	h->tries = calloc(n + 1, sizeof(*h->tries));
	h->part_of = calloc(n + 1, sizeof(*h->part_of));
	if (rc || !h->nodes || !h->state || !h->tries || !h->part_of)
		return hes_fail(err, -ENOMEM, "out of memory for %zu jobs on %zu nodes", n,
				n_nodes);
	for (size_t i = 0; i < n; i++) {
		h->part_of[i] = PART_NONE;
		h->state[i] = HES_RUN_JOB_WAITING;
	}
	for (size_t i = 0; i < n_nodes; i++)
		h->nodes[i].part = PART_NONE;
	return hes_job_folder_open(&h->folder, h->run->folder, err);
}

static void head_unmake(struct head *h)
{
	part_free_all(h);
	offers_free(h->offers, h->q->launcher->n);
	free(h->nodes);
	free(h->state);
	free(h->tries);
	free(h->part_of);
	hes_hash_map_finish(&h->names.map);
	hes_job_folder_close(&h->folder);
	if (h->lock >= 0)
		close(h->lock);
}

/* @param wait  for so long at most */
static void take_signal(struct head *h, const struct timespec *wait)
{
	const int signal = sigtimedwait(&h->signals.set, NULL, wait);

	if (signal > 0 && signal != SIGCHLD)
		node_stop_all(h, "");
}

/* --- the loop --- */

static bool head_any_runner(const struct head *h)
{
	for (size_t i = 0; i < h->q->launcher->n; i++)
		if (h->nodes[i].pid > 0)
			return true;
	return false;
}

static bool head_is_over(const struct head *h)
{
	for (size_t i = 0; i < h->n_parts; i++)
		if (h->parts[i].state != PART_OVER)
			return false;
	return h->taken_over && (h->stopping || !round_pool(h) || !head_count_up(h));
}

/* What a part left is planned again, once it is known which nodes are up. */
static int plan_again(struct head *h, struct hes_err *err)
{
	if (h->stopping || !h->taken_over || part_any(h, PART_QUERIED) || !round_pool(h))
		return 0;
	if (head_count_up(h))
		return round_plan(h, err);
	if (!h->no_node_reported)
		run_tell(&h->log, "no node is left; %zu job%s wait for --resume", round_pool(h),
			 hes_s(round_pool(h)));
	h->no_node_reported = true;
	return 0;
}

/* Parts that are left, then plans, then runners: each needs the one before. */
static int start_work(struct head *h, struct hes_err *err)
{
	int rc = h->taken_over ? 0 : part_take_left(h, err);

	if (!rc)
		rc = plan_again(h, err);
	for (size_t i = 0; i < h->q->launcher->n && !rc; i++)
		rc = node_start_next(h, i, err);
	return rc;
}

static void sync_all(struct head *h)
{
	struct hes_err err;

	for (size_t i = 0; i < h->n_parts; i++)
		if (h->parts[i].state == PART_RUNNING)
			head_retry(h, part_sync(h, &h->parts[i], false, &err), &err);
	for (size_t i = 0; i < h->q->launcher->n; i++)
		node_pass_messages(h, i);
	head_live_write(h);
}

/* @param sync  also look at what runs */
static void look_at_nodes(struct head *h, bool sync)
{
	struct hes_err err;

	for (size_t i = 0; i < h->q->launcher->n; i++)
		head_retry(h, node_reap(h, i, &err), &err);
	if (sync)
		sync_all(h);
}

static int head_loop(struct head *h, struct hes_err *err)
{
	const struct timespec second = { .tv_sec = 1 }, now = { 0 };
	double sync_s = hes_monotonic_s() + SYNC_S, drain_s = 0;

	for (int rc = 0;;) {
		const double now_s = hes_monotonic_s();
		bool sync;

		if (now_s >= drain_s) {
			node_find_drained(h);
			drain_s = now_s + DRAIN_S;
		}
		take_signal(h, &now);
		if (!h->stopping && h->q->stop_s > 0 && now_s >= h->q->stop_s)
			node_stop_all(h, "the time limit is near; ");
		rc = start_work(h, err);
		/* Nothing runs yet: who gave the command sees the error. */
		if (rc && h->taken_over && !h->rounds)
			return rc;
		if (!rc && head_is_over(h))
			return 0;
		head_retry(h, rc, err);
		take_signal(h, &second);
		/* Planning may have taken long: it is no time in which nothing could go on. */
		sync = hes_monotonic_s() >= sync_s;
		look_at_nodes(h, sync);
		sync_s = sync ? hes_monotonic_s() + SYNC_S : sync_s;
		if (sync && !h->failed)
			h->log.blocked_us = RUN_NEVER_US;
		h->failed &= !sync;
		rc = run_blocked(&h->log, head_any_runner(h), h->stopping, err);
		if (rc)
			return rc;
	}
}

/* --- the end --- */

/* The head cannot go on: its runners stop, and --resume finds what they did. */
static void give_up(struct head *h)
{
	const struct timespec tenth = { 0, 100000000 };

	h->stopping = 0;
	h->stopped_s = 0;
	for (size_t i = 0; h->nodes && i < h->q->launcher->n; i++) {
		if (h->nodes[i].pid > 0 || h->nodes[i].query.pid > 0)
			node_stop(h, i);
		if (h->nodes[i].query.pid > 0)
			kill(-h->nodes[i].query.pid, SIGKILL);
	}
	for (size_t i = 0; h->nodes && i < h->q->launcher->n; i++) {
		/* A signal ends what the file did not. */
		while (h->nodes[i].pid > 0 && waitpid(h->nodes[i].pid, NULL, WNOHANG) == 0) {
			take_signal(h, &tenth);
			if (h->stopping)
				kill(-h->nodes[i].pid, SIGTERM);
		}
		if (h->nodes[i].query.pid > 0)
			waitpid(h->nodes[i].query.pid, NULL, 0);
	}
}

static int head_end(struct head *h, struct hes_run_report *out, json_t **nodes, struct hes_err *err)
{
	size_t good = 0, over = 0;
	enum hes_run_state state;
	int rc = 0;

	for (size_t i = 0; i < h->q->jobs->n; i++) {
		good += h->state[i] == HES_RUN_JOB_DONE ||
			(h->state[i] == HES_RUN_JOB_EARLY && h->q->early_ok);
		over += h->state[i] != HES_RUN_JOB_WAITING;
	}
	state = good == h->q->jobs->n   ? HES_RUN_DONE
		: over == h->q->jobs->n ? HES_RUN_FAILED
					: HES_RUN_STOPPED;
	h->run->ended_us = hes_wall_us();
	run_live_remove(&h->folder);
	/* Another program may hold the store for a while. */
	for (int i = 0; i < END_TRIES && (!i || rc == -EBUSY); i++) {
		rc = part_note_idle(h, err);
		if (!rc)
			rc = hes_journal_run_ended(h->q->journal, h->run->id, &state,
						   h->run->ended_us, err);
	}
	h->run->state = state;
	if (!rc)
		rc = hes_run_report_load(h->q->journal, h->run, h->q->catalogue, h->q->plan,
					 h->q->jobs, out, err);
	if (rc)
		return rc;
	out->by_node = true;
	part_add_observed(h, out);
	*nodes = json_pack("{s:I, s:I, s:o}", "rounds", (json_int_t)h->rounds, "planned_again",
			   (json_int_t)h->planned_again, "nodes", head_nodes_json(h));
	return 0;
}

int head_run(const struct head_request *q, struct hes_run *run, struct hes_run_report *out,
	     json_t **nodes, struct hes_err *err)
{
	static const int signals[] = { SIGCHLD, SIGINT, SIGTERM, SIGHUP, 0 };
	struct head h = { .q = q, .run = run, .folder.fd = -1, .lock = -1 };
	int rc;

	h.clock.mono_s = hes_monotonic_s();
	h.log = (struct run_log){ .listener = &q->listener,
				  .journal = q->journal,
				  .run = run,
				  .clock = &h.clock,
				  .blocked_us = RUN_NEVER_US };
	hes_signals_take(&h.signals, signals);
	rc = head_make(&h, err);
	if (!rc)
		rc = head_begin(&h, err);
	if (!rc)
		rc = head_loop(&h, err);
	if (rc)
		give_up(&h);
	else
		rc = head_end(&h, out, nodes, err);
	head_unmake(&h);
	hes_signals_leave(&h.signals);
	return rc;
}
