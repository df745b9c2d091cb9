/*
 * head.c - the head of a run on several nodes: start runners, watch them, plan again what they
 * leave; see head.h.
 *
 * Runners are stopped by a file in their folder, which works through any launcher and after the
 * head has died. The head waits for the ends of its own srun or ssh processes, and reads files; it
 * asks Slurm for nothing meanwhile.
 */
#include "cluster/head.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/plural.h"
#include "cluster/head_state.h"
#include "launch/job_files.h"
#include "run/live.h"

#define MOST_FAILURES   3 /* of parts that end too early, on a node */
#define SYNC_S          2
#define ASK_AGAIN_S     10
#define SAME_SIGNAL_S   2   /* another signal within this time is the same request */
#define BEAR_S          600 /* a journal that cannot be read or written for so long ends the run */
#define DRAIN_S         10  /* between two looks for nodes that drain */
#define END_TRIES       60
#define RUNNER_ARGS_MAX 48
#define STOP_FILE       "stop"
#define LOG_MAX_BYTES   (64 << 20) /* of the messages of a node's runners */

void nodes_path(const struct nodes *s, const char *node, unsigned round, const char *end,
		char out[HES_JOURNAL_PATH_MAX])
{
	char number[16] = "";

	if (round)
		snprintf(number, sizeof(number), "-%u", round);
	snprintf(out, HES_JOURNAL_PATH_MAX, "%.*s%s%s/%lld%s%s",
		 HES_JOURNAL_PATH_MAX - 2 * HES_NAME_MAX - 64, s->run->folder, node ? "/" : "",
		 node ? node : "", (long long)s->run->started_us, number, end);
}

void nodes_tell(const struct nodes *s, const char *fmt, ...)
{
	char text[2 * HES_ERR_MAX];
	va_list ap;

	if (!s->q->listener.message)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	s->q->listener.message(s->q->listener.ctx, text);
}

long nodes_find_job(const struct nodes *s, const char *id)
{
	const uint32_t at = hes_text_map_find(&s->names, id);

	return at == HES_HASH_NONE ? -1 : (long)at;
}

/* --- made --- */

static int nodes_make(struct nodes *s, struct hes_err *err)
{
	const size_t n = s->q->jobs->n, n_nodes = s->q->launcher->n;
	int rc = hes_text_map_make(&s->names, s->q->jobs->v, sizeof(*s->q->jobs->v), n);

	s->nodes = calloc(n_nodes + 1, sizeof(*s->nodes));
	s->state = calloc(n + 1, sizeof(*s->state));
	s->tries = calloc(n + 1, sizeof(*s->tries));
	s->part_of = calloc(n + 1, sizeof(*s->part_of));
	if (!s->nodes || !s->state || !s->tries || !s->part_of)
		rc = -ENOMEM;
	for (size_t i = 0; i < n && !rc; i++) {
		s->part_of[i] = NO_PART;
		s->state[i] = HES_RUN_JOB_WAITING;
	}
	for (size_t i = 0; i < n_nodes && !rc; i++)
		s->nodes[i] = (struct node){ .part = NO_PART };
	return rc ? hes_fail(err, rc, "out of memory for %zu jobs on %zu nodes", n, n_nodes) : 0;
}

static void nodes_unmake(struct nodes *s)
{
	parts_free(s);
	offers_free(s->offers, s->q->launcher->n);
	free(s->nodes);
	free(s->state);
	free(s->tries);
	free(s->part_of);
	hes_hash_map_finish(&s->names.map);
	hes_job_folder_close(&s->folder);
	if (s->lock >= 0)
		close(s->lock);
}

static void stop_path(const struct nodes *s, const char *node, char out[HES_JOURNAL_PATH_MAX + 64])
{
	snprintf(out, HES_JOURNAL_PATH_MAX + 64, "%s/%s/" STOP_FILE, s->run->folder, node);
}

void nodes_stop(const struct nodes *s, const char *node)
{
	char path[HES_JOURNAL_PATH_MAX + 64];
	int fd;

	stop_path(s, node, path);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	if (fd >= 0)
		close(fd);
}

static void stop_node(struct nodes *s, size_t node)
{
	s->nodes[node].requested = true;
	nodes_stop(s, s->q->launcher->nodes[node]);
}

/* A runner that was stopped by a signal leaves the file, too. */
static bool was_stopped(const struct nodes *s, size_t node)
{
	char path[HES_JOURNAL_PATH_MAX + 64];

	stop_path(s, s->q->launcher->nodes[node], path);
	return !s->nodes[node].requested && !access(path, F_OK);
}

/* --- runners --- */

static off_t log_size(const struct nodes *s, size_t node)
{
	char path[HES_JOURNAL_PATH_MAX];
	struct stat st;

	nodes_path(s, s->q->launcher->nodes[node], 0, ".log", path);
	return lstat(path, &st) ? 0 : st.st_size;
}

/* The messages of runners on a node; a log that is half full begins again. */
static int open_log(struct nodes *s, size_t node, const char *path, struct hes_err *err)
{
	int fd = hes_job_file_append(NULL, path, NULL, err);

	/* A job has put a pipe or a link there. */
	if (fd == -EINVAL && !unlink(path))
		fd = hes_job_file_append(NULL, path, NULL, err);
	if (fd >= 0 && log_size(s, node) > LOG_MAX_BYTES / 2 && !ftruncate(fd, 0))
		s->nodes[node].log_read = 0;
	return fd;
}

static const char *const first_args[] = { "run", "--stop-file", "--node" };

static int start_runner(struct nodes *s, size_t node, struct part *p, struct hes_err *err)
{
	char plan[HES_JOURNAL_PATH_MAX], folder[HES_JOURNAL_PATH_MAX + 64],
		store[HES_JOURNAL_PATH_MAX], log[HES_JOURNAL_PATH_MAX];
	const char *args[RUNNER_ARGS_MAX + 1];
	size_t n = 0;
	int rc, null = open("/dev/null", O_WRONLY | O_CLOEXEC), fd;

	snprintf(folder, sizeof(folder), "%s/%s", s->run->folder, p->node);
	nodes_path(s, NULL, p->round, ".json", plan);
	nodes_path(s, p->node, 0, ".db", store);
	nodes_path(s, p->node, 0, ".log", log);
	for (size_t i = 0; i < sizeof(first_args) / sizeof(first_args[0]); i++)
		args[n++] = first_args[i];
	args[n++] = p->node;
	args[n++] = "--jobs";
	args[n++] = folder;
	args[n++] = "--store";
	args[n++] = store;
	for (size_t i = 0; s->q->runner_args[i] && n < RUNNER_ARGS_MAX - 1; i++)
		args[n++] = s->q->runner_args[i];
	args[n++] = plan;
	args[n] = NULL;
	rc = hes_folder_create(folder, err);
	fd = rc ? -1 : open_log(s, node, log, err);
	if (!rc && fd < 0)
		rc = fd;
	else if (!rc && null < 0)
		rc = hes_fail(err, -EIO, "/dev/null cannot be opened");
	if (!rc && !s->stopping) {
		stop_path(s, p->node, folder);
		unlink(folder);
		s->nodes[node].requested = false;
		snprintf(folder, sizeof(folder), "%s/%s", s->run->folder, p->node);
	}
	if (!rc)
		s->nodes[node].pid = launcher_start(s->q->launcher, (long)node, args, null, fd,
						    s->q->launcher->ssh ? LOG_MAX_BYTES : 0, err);
	if (!rc && s->nodes[node].pid < 0) {
		rc = (int)s->nodes[node].pid;
		s->nodes[node].pid = 0;
	}
	if (fd >= 0)
		close(fd);
	if (null >= 0)
		close(null);
	return rc;
}

static struct part *next_part(struct nodes *s, size_t node)
{
	for (size_t i = 0; i < s->n_parts; i++)
		if (s->parts[i].state == PART_WAITING &&
		    strcmp(s->parts[i].node, s->q->launcher->nodes[node]) == 0)
			return &s->parts[i];
	return NULL;
}

static int start_parts(struct nodes *s, struct hes_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < s->q->launcher->n && !rc; i++) {
		struct part *p = s->nodes[i].part == NO_PART ? next_part(s, i) : NULL;

		if (!p)
			continue;
		if (s->nodes[i].lost || s->nodes[i].drained || s->stopping) {
			parts_over(s, p);
			continue;
		}
		rc = start_runner(s, i, p, err);
		if (rc)
			break;
		p->state = PART_RUNNING;
		s->nodes[i].part = (size_t)(p - s->parts);
	}
	return rc;
}

/* @param why  empty, or ends with "; " */
static void stop_all(struct nodes *s, const char *why)
{
	/* Slurm may send it to us and to the script, which passes it on. */
	if (s->stopping && hes_monotonic_s() - s->stopped_s < SAME_SIGNAL_S)
		return;
	if (s->stopping++ == 0) {
		s->stopped_s = hes_monotonic_s();
		nodes_tell(s,
			   "%sstopping: no job starts any more; a second signal ends the runners "
			   "at once",
			   why);
	}
	for (size_t i = 0; i < s->q->launcher->n; i++) {
		stop_node(s, i);
		/* srun then kills the step; the guard on the node restores the GPUs. */
		if (s->stopping > 1 && s->nodes[i].pid > 0)
			kill(-s->nodes[i].pid, SIGTERM);
		if (s->stopping > 1 && s->nodes[i].query.pid > 0)
			kill(-s->nodes[i].query.pid, SIGKILL);
	}
}

/* --- their ends --- */

static size_t free_node(struct nodes *s, size_t node)
{
	struct node *n = &s->nodes[node];
	const size_t before = rounds_pool(s);

	parts_over(s, &s->parts[n->part]);
	n->part = NO_PART;
	n->pid = 0;
	return rounds_pool(s) - before;
}

static const char *how_ended(int status, char out[64])
{
	if (WIFSIGNALED(status))
		snprintf(out, 64, "ended by signal %d", WTERMSIG(status));
	else
		snprintf(out, 64, "ended with status %d", WEXITSTATUS(status));
	return out;
}

/* Its runner has ended, as it should or not. A runner that did not get to its end is looked after
 * on its node. */
static int runner_ended(struct nodes *s, size_t node, struct hes_err *err)
{
	struct part *p = &s->parts[s->nodes[node].part];
	int rc;

	nodes_pass_messages(s, node);
	if (log_size(s, node) >= LOG_MAX_BYTES)
		nodes_tell(s, "node %s: its runner was ended, because its messages took %d MiB",
			   p->node, LOG_MAX_BYTES >> 20);
	rc = parts_sync(s, p, false, err);
	if (rc)
		return rc;
	if (p->known && p->run.state == HES_RUN_STOPPED && !s->stopping &&
	    !s->nodes[node].drained && was_stopped(s, node))
		stop_all(s, "the runners were requested to end; ");
	if (p->known &&
	    (p->run.state == HES_RUN_DONE || p->run.state == HES_RUN_FAILED ||
	     (p->run.state == HES_RUN_STOPPED && (s->stopping || s->nodes[node].drained)))) {
		rc = parts_sync(s, p, true, err);
		if (rc)
			return rc;
		free_node(s, node);
		s->nodes[node].lost |= s->nodes[node].drained;
		return 0;
	}
	p->state = PART_QUERIED;
	/* If it lives without us, it is to end. */
	stop_node(s, node);
	s->nodes[node].life = (struct part_life){ .at_us = 0 };
	part_lives(p, &s->nodes[node].life);
	return offer_ask(s->q->launcher, (long)node, s->run->folder, &s->nodes[node].query, err);
}

/* The node has answered, or not: nothing of the part runs any more. */
static int node_answered(struct nodes *s, size_t node, struct hes_err *err)
{
	struct node *n = &s->nodes[node];
	struct part *p = &s->parts[n->part];
	char how[64];
	size_t left;
	int rc;

	if (s->offers[node].busy || (!s->offers[node].good && part_lives(p, &n->life))) {
		n->ask_s = hes_monotonic_s() + ASK_AGAIN_S;
		return 0;
	}
	rc = parts_sync(s, p, true, err);
	if (rc)
		return rc;
	n->failures++;
	n->lost = !s->offers[node].good || n->failures >= MOST_FAILURES;
	left = free_node(s, node);
	nodes_tell(s, "node %s: its runner %s; %zu job%s left%s%s", s->q->launcher->nodes[node],
		   how_ended(n->status, how), left, left == 1 ? " is" : "s are",
		   n->lost ? "; the node gets no more: " : "",
		   !n->lost               ? ""
		   : s->offers[node].good ? "it failed too often"
					  : s->offers[node].why);
	for (struct part *next; n->lost && (next = next_part(s, node));)
		parts_over(s, next);
	return 0;
}

/* Ends of processes here: of runners' srun or ssh, and of queries. */
static void reap_node(struct nodes *s, size_t node)
{
	struct node *n = &s->nodes[node];
	int status;

	if (n->pid > 0 && waitpid(n->pid, &status, WNOHANG) == n->pid) {
		n->status = status;
		n->pid = 0;
		n->news = NODE_ENDED;
	} else if (n->query.pid > 0 && waitpid(n->query.pid, &status, WNOHANG) == n->query.pid) {
		offer_take(s->q->launcher, &n->query, status, s->offers);
		n->news = NODE_ANSWERED;
	} else {
		offer_limit(&n->query);
		if (n->pid > 0 && log_size(s, node) >= LOG_MAX_BYTES)
			kill(-n->pid, SIGTERM);
	}
}

/*
 * A journal that cannot be read or written for a while, by another program or by a node that died
 * while it wrote, is tried again.
 */
static int bear(struct nodes *s, int rc, struct hes_err *err)
{
	if (s->failing_s <= 0) {
		nodes_tell(s, "%s; it is tried again for %d minutes", err->msg, BEAR_S / 60);
		s->failing_s = hes_monotonic_s();
	}
	return hes_monotonic_s() - s->failing_s > BEAR_S ? rc : 0;
}

static int reap_all(struct nodes *s, struct hes_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < s->q->launcher->n && !rc; i++) {
		struct node *n = &s->nodes[i];

		reap_node(s, i);
		rc = n->news == NODE_ENDED      ? runner_ended(s, i, err)
		     : n->news == NODE_ANSWERED ? node_answered(s, i, err)
						: 0;
		if (rc) {
			rc = bear(s, rc, err);
			continue;
		}
		n->news = NODE_FINE;
		if (n->ask_s > 0 && hes_monotonic_s() >= n->ask_s) {
			rc = offer_ask(s->q->launcher, (long)i, s->run->folder, &n->query, err);
			n->ask_s = rc ? hes_monotonic_s() + ASK_AGAIN_S : 0;
			rc = rc ? bear(s, rc, err) : 0;
		}
	}
	return rc;
}

/* --- the loop --- */

static size_t count_up(const struct nodes *s)
{
	size_t up = 0;

	for (size_t i = 0; i < s->q->launcher->n; i++)
		up += s->offers[i].good && !s->nodes[i].lost && !s->nodes[i].drained;
	return up;
}

static void drain_node(struct nodes *s, size_t i)
{
	/* Slurm lets jobs on such nodes end: without another node the run does the same. */
	if (s->nodes[i].drained || (s->offers[i].good && !s->nodes[i].lost && count_up(s) == 1))
		return;
	s->nodes[i].drained = true;
	s->nodes[i].lost |= s->nodes[i].part == NO_PART;
	nodes_tell(s,
		   "node %s drains: its jobs end, and what is left is planned again on the other "
		   "nodes",
		   s->q->launcher->nodes[i]);
	stop_node(s, i);
}

/* A node that drains is to be given back: its jobs end and are planned again on the others. */
static void find_drained(struct nodes *s)
{
	char text[65536] = "", *rest = NULL;

	if (s->q->launcher->ssh)
		return;
	slurm_drained(text, sizeof(text));
	for (char *name = strtok_r(text, "\n", &rest); name; name = strtok_r(NULL, "\n", &rest)) {
		const long i = launcher_find(s->q->launcher, name);

		if (i >= 0)
			drain_node(s, (size_t)i);
	}
}

static int sync_all(struct nodes *s, struct hes_err *err)
{
	bool late = s->late;
	int rc = 0;

	for (size_t i = 0; i < s->n_parts && !rc; i++)
		if (s->parts[i].state == PART_RUNNING)
			rc = parts_sync(s, &s->parts[i], false, err);
	for (size_t i = 0; i < s->q->launcher->n; i++)
		late |= s->nodes[i].news != NODE_FINE;
	s->failing_s = rc || late ? s->failing_s : 0;
	rc = rc ? bear(s, rc, err) : 0;
	for (size_t i = 0; i < s->q->launcher->n; i++)
		nodes_pass_messages(s, i);
	nodes_live_write(s);
	return rc;
}

static bool all_idle(const struct nodes *s)
{
	for (size_t i = 0; i < s->n_parts; i++)
		if (s->parts[i].state != PART_OVER)
			return false;
	return true;
}

static bool any_queried(const struct nodes *s)
{
	for (size_t i = 0; i < s->n_parts; i++)
		if (s->parts[i].state == PART_QUERIED)
			return true;
	return false;
}

/* What a part left is planned again, once it is known which nodes are up. */
/* Starting parts may have freed jobs of nodes that drain. */
static bool is_over(const struct nodes *s)
{
	return all_idle(s) && (s->stopping || !rounds_pool(s) || !count_up(s));
}

static int plan_again(struct nodes *s, struct hes_err *err)
{
	if (s->stopping || any_queried(s) || !rounds_pool(s))
		return 0;
	if (count_up(s))
		return rounds_again(s, err);
	if (!s->no_node_reported)
		nodes_tell(s, "no node is left; %zu job%s wait for --resume", rounds_pool(s),
			   hes_s(rounds_pool(s)));
	s->no_node_reported = true;
	return 0;
}

/* @param wait  for so long at most */
static void take_signal(struct nodes *s, const struct timespec *wait)
{
	const int signal = sigtimedwait(&s->signals.set, NULL, wait);

	if (signal > 0 && signal != SIGCHLD)
		stop_all(s, "");
}

static int nodes_loop(struct nodes *s, struct hes_err *err)
{
	const struct timespec second = { .tv_sec = 1 }, now = { 0 };
	double sync_s = hes_monotonic_s() + SYNC_S, drain_s = hes_monotonic_s() + DRAIN_S;
	int rc;

	find_drained(s);
	take_signal(s, &now);
	rc = s->stopping ? 0 : s->rounds ? rounds_again(s, err) : rounds_begin(s, err);
	for (;;) {
		if (rc)
			return rc;
		take_signal(s, &now);
		if (!s->stopping && s->q->stop_s > 0 && hes_monotonic_s() >= s->q->stop_s)
			stop_all(s, "the time limit is near; ");
		rc = plan_again(s, err);
		if (!rc)
			rc = start_parts(s, err);
		if (!rc && is_over(s))
			return 0;
		s->late = rc != 0;
		rc = rc ? bear(s, rc, err) : 0;
		take_signal(s, &second);
		if (!rc)
			rc = reap_all(s, err);
		if (!rc && hes_monotonic_s() >= sync_s) {
			sync_s = hes_monotonic_s() + SYNC_S;
			rc = sync_all(s, err);
		}
		if (!rc && hes_monotonic_s() >= drain_s) {
			find_drained(s);
			drain_s = hes_monotonic_s() + DRAIN_S;
		}
	}
}

/* --- the end --- */

/* The head cannot go on: its runners stop, and --resume finds what they did. */
static void give_up(struct nodes *s)
{
	const struct timespec tenth = { 0, 100000000 };

	s->stopping = 0;
	s->stopped_s = 0;
	for (size_t i = 0; s->nodes && i < s->q->launcher->n; i++) {
		if (s->nodes[i].pid > 0 || s->nodes[i].query.pid > 0)
			stop_node(s, i);
		if (s->nodes[i].query.pid > 0)
			kill(-s->nodes[i].query.pid, SIGKILL);
	}
	for (size_t i = 0; s->nodes && i < s->q->launcher->n; i++) {
		/* A signal ends what the file did not. */
		while (s->nodes[i].pid > 0 && waitpid(s->nodes[i].pid, NULL, WNOHANG) == 0) {
			take_signal(s, &tenth);
			if (s->stopping)
				kill(-s->nodes[i].pid, SIGTERM);
		}
		if (s->nodes[i].query.pid > 0)
			waitpid(s->nodes[i].query.pid, NULL, 0);
	}
}

static int nodes_end(struct nodes *s, struct hes_run_report *out, json_t **nodes,
		     struct hes_err *err)
{
	size_t good = 0, over = 0;
	enum hes_run_state state;
	int rc = 0;

	for (size_t i = 0; i < s->q->jobs->n; i++) {
		good += s->state[i] == HES_RUN_JOB_DONE ||
			(s->state[i] == HES_RUN_JOB_EARLY && s->q->early_ok);
		over += s->state[i] != HES_RUN_JOB_WAITING;
	}
	state = good == s->q->jobs->n   ? HES_RUN_DONE
		: over == s->q->jobs->n ? HES_RUN_FAILED
					: HES_RUN_STOPPED;
	s->run->ended_us = hes_wall_us();
	run_live_remove(&s->folder);
	/* Another program may hold the store for a while. */
	for (int i = 0; i < END_TRIES && (!i || rc == -EBUSY); i++) {
		rc = parts_note_idle(s, err);
		if (!rc)
			rc = hes_journal_run_ended(s->q->journal, s->run->id, &state,
						   s->run->ended_us, err);
	}
	s->run->state = state;
	if (!rc)
		rc = hes_run_report_load(s->q->journal, s->run, s->q->catalogue, s->q->plan,
					 s->q->jobs, out, err);
	out->by_node = true;
	if (!rc)
		*nodes = json_pack("{s:I, s:I, s:o}", "rounds", (json_int_t)s->rounds,
				   "planned_again", (json_int_t)s->planned_again, "nodes",
				   nodes_json(s));
	return rc;
}

int nodes_run(const struct nodes_request *q, struct hes_run *run, struct hes_run_report *out,
	      json_t **nodes, struct hes_err *err)
{
	struct nodes s = { .q = q, .run = run, .folder.fd = -1, .lock = -1 };
	static const int signals[] = { SIGCHLD, SIGINT, SIGTERM, SIGHUP, 0 };
	int rc;

	hes_signals_take(&s.signals, signals);
	rc = hes_job_folder_open(&s.folder, run->folder, err);
	if (!rc)
		rc = nodes_make(&s, err);
	if (!rc)
		rc = nodes_begin(&s, err);
	if (!rc)
		rc = nodes_loop(&s, err);
	if (rc)
		give_up(&s);
	else
		rc = nodes_end(&s, out, nodes, err);
	nodes_unmake(&s);
	hes_signals_leave(&s.signals);
	return rc;
}
