/*
 * node.c - start the runner on a node, watch it, and look after what it leaves; see node.h.
 *
 * The head waits for the ends of its own srun or ssh processes, and reads files.
 */
#include "cluster/node.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "cluster/part.h"
#include "cluster/round.h"

#define SAME_SIGNAL_S      2 /* another signal within this time is the same request */
#define MOST_FAILURES      3 /* of parts that end too early, on a node */
#define QUERY_AGAIN_S      10
#define RUNNER_ARGS_MAX    48
#define STOP_FILE          "stop"
#define LOG_MAX_BYTES      (64 << 20) /* of the messages of a node's runners */
#define MESSAGES_MAX_BYTES 65536

/* --- stopped --- */

static void stop_path(const struct head *h, const char *name, char out[HES_JOURNAL_PATH_MAX + 64])
{
	snprintf(out, HES_JOURNAL_PATH_MAX + 64, "%s/%s/" STOP_FILE, h->run->folder, name);
}

void node_request_stop(const struct head *h, const char *name)
{
	char path[HES_JOURNAL_PATH_MAX + 64];
	int fd;

	stop_path(h, name, path);
	fd = hes_job_file_append(NULL, path, NULL, NULL);
	if (fd >= 0)
		close(fd);
}

void node_stop(struct head *h, size_t node)
{
	h->nodes[node].requested = true;
	node_request_stop(h, h->q->launcher->nodes[node]);
}

void node_stop_all(struct head *h, const char *why)
{
	/* Slurm may send it to us and to the script, which passes it on. */
	if (h->stopping && hes_monotonic_s() - h->stopped_s < SAME_SIGNAL_S)
		return;
	if (h->stopping++ == 0) {
		h->stopped_s = hes_monotonic_s();
		run_tell(&h->log,
			 "%sstopping: no job starts any more; a second signal ends the runners "
			 "at once",
			 why);
	}
	for (size_t i = 0; i < h->q->launcher->n; i++) {
		node_stop(h, i);
		/* srun then kills the step; the guard on the node restores the GPUs. */
		if (h->stopping > 1 && h->nodes[i].pid > 0)
			kill(-h->nodes[i].pid, SIGTERM);
		if (h->stopping > 1 && h->nodes[i].query.pid > 0)
			kill(-h->nodes[i].query.pid, SIGKILL);
	}
}

/* A runner that was stopped by a signal leaves the file, too. */
static bool was_stopped(const struct head *h, size_t node)
{
	char path[HES_JOURNAL_PATH_MAX + 64];

	stop_path(h, h->q->launcher->nodes[node], path);
	return !h->nodes[node].requested && !access(path, F_OK);
}

/* --- messages --- */

static void log_path(const struct head *h, size_t node, char out[HES_JOURNAL_PATH_MAX])
{
	head_path(h, h->q->launcher->nodes[node], 0, ".log", out);
}

static off_t log_size(const struct head *h, size_t node)
{
	char path[HES_JOURNAL_PATH_MAX];
	struct stat st;

	log_path(h, node, path);
	return lstat(path, &st) ? 0 : st.st_size;
}

/* The messages of runners on a node; a log that is half full begins again. */
static int log_open(struct head *h, size_t node, struct hes_err *err)
{
	char path[HES_JOURNAL_PATH_MAX];
	int fd;

	log_path(h, node, path);
	fd = hes_job_file_append(NULL, path, NULL, err);
	/* A job has put a pipe or a link there. */
	if (fd == -EINVAL && !remove(path))
		fd = hes_job_file_append(NULL, path, NULL, err);
	if (fd >= 0 && log_size(h, node) > LOG_MAX_BYTES / 2 && !ftruncate(fd, 0))
		h->nodes[node].log_read = 0;
	return fd;
}

/* Messages of heshare itself, with the name of the node; the rest stays in the file. */
static void pass_lines(const struct head *h, const char *node, char *text)
{
	static const char mark[] = "heshare run: ";
	char *rest = NULL;

	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		if (strncmp(line, mark, strlen(mark)) == 0)
			run_tell(&h->log, "node %s: %s", node, line + strlen(mark));
}

void node_pass_messages(struct head *h, size_t node)
{
	char path[HES_JOURNAL_PATH_MAX], *text = calloc(1, MESSAGES_MAX_BYTES + 1), *end;
	int fd;
	ssize_t n;

	log_path(h, node, path);
	fd = text ? hes_job_file_read(NULL, path, NULL) : -1;
	n = fd < 0 ? 0 : pread(fd, text, MESSAGES_MAX_BYTES, h->nodes[node].log_read);
	end = n > 0 ? strrchr(text, '\n') : NULL;
	if (end) {
		*end = '\0';
		h->nodes[node].log_read += end + 1 - text;
		pass_lines(h, h->q->launcher->nodes[node], text);
	} else if (n == MESSAGES_MAX_BYTES) {
		/* No line of heshare is so long. */
		h->nodes[node].log_read += n;
	}
	if (fd >= 0)
		close(fd);
	free(text);
}

void node_skip_messages(struct head *h, size_t node)
{
	h->nodes[node].log_read = log_size(h, node);
}

/* --- started --- */

static int start_runner(struct head *h, size_t node, const struct part *p, struct hes_err *err)
{
	char plan[HES_JOURNAL_PATH_MAX], folder[HES_JOURNAL_PATH_MAX + 64],
		stop[HES_JOURNAL_PATH_MAX + 64], store[HES_JOURNAL_PATH_MAX];
	const char *args[RUNNER_ARGS_MAX + 1] = { "run",    "--stop-file", "--node",  p->node,
						  "--jobs", folder,        "--store", store };
	size_t n = 8;
	pid_t pid;
	int rc, log;

	snprintf(folder, sizeof(folder), "%s/%s", h->run->folder, p->node);
	head_path(h, NULL, p->round, ".json", plan);
	head_path(h, p->node, 0, ".db", store);
	for (size_t i = 0; h->q->runner_args[i] && n < RUNNER_ARGS_MAX - 1; i++)
		args[n++] = h->q->runner_args[i];
	args[n] = plan;
	rc = hes_folder_create(folder, err);
	log = rc ? rc : log_open(h, node, err);
	if (log < 0)
		return log;
	if (!h->stopping) {
		stop_path(h, p->node, stop);
		remove(stop);
		h->nodes[node].requested = false;
	}
	pid = launcher_start(h->q->launcher, (long)node, args, -1, log,
			     h->q->launcher->ssh ? LOG_MAX_BYTES : 0, err);
	close(log);
	if (pid > 0)
		h->nodes[node].pid = pid;
	return pid > 0 ? 0 : (int)pid;
}

static struct part *next_part(const struct head *h, size_t node)
{
	for (size_t i = 0; i < h->n_parts; i++)
		if (h->parts[i].state == PART_WAITING &&
		    strcmp(h->parts[i].node, h->q->launcher->nodes[node]) == 0)
			return &h->parts[i];
	return NULL;
}

int node_start_next(struct head *h, size_t node, struct hes_err *err)
{
	struct node *n = &h->nodes[node];
	struct part *p = n->part == PART_NONE ? next_part(h, node) : NULL;
	int rc;

	if (!p)
		return 0;
	if (n->lost || n->drained || h->stopping) {
		part_over(h, p);
		return 0;
	}
	rc = start_runner(h, node, p, err);
	if (rc)
		return rc;
	p->state = PART_RUNNING;
	n->part = (size_t)(p - h->parts);
	return 0;
}

/* --- ended --- */

/* @return jobs that its part leaves */
static size_t free_node(struct head *h, size_t node)
{
	struct node *n = &h->nodes[node];
	const size_t before = round_pool(h);

	part_over(h, &h->parts[n->part]);
	n->part = PART_NONE;
	n->pid = 0;
	return round_pool(h) - before;
}

/* Its runner has ended, as it should or not. A runner that did not get to its end is looked after
 * on its node. */
static int runner_ended(struct head *h, size_t node, struct hes_err *err)
{
	struct node *n = &h->nodes[node];
	struct part *p = &h->parts[n->part];
	int rc;

	node_pass_messages(h, node);
	if (log_size(h, node) >= LOG_MAX_BYTES)
		run_tell(&h->log, "node %s: its runner was ended, because its messages took %d MiB",
			 p->node, LOG_MAX_BYTES >> 20);
	rc = part_sync(h, p, false, err);
	if (rc)
		return rc;
	if (p->known && p->run.state == HES_RUN_STOPPED && !h->stopping && !n->drained &&
	    was_stopped(h, node))
		node_stop_all(h, "the runners were requested to end; ");
	if (p->known && (p->run.state == HES_RUN_DONE || p->run.state == HES_RUN_FAILED ||
			 (p->run.state == HES_RUN_STOPPED && (h->stopping || n->drained)))) {
		rc = part_sync(h, p, true, err);
		if (rc)
			return rc;
		free_node(h, node);
		n->lost |= n->drained;
		return 0;
	}
	p->state = PART_QUERIED;
	/* If it lives without us, it is to end. */
	node_stop(h, node);
	p->life = (struct part_life){ .at_us = 0 };
	part_lives(p);
	return offer_start_query(h->q->launcher, (long)node, h->run->folder, &n->query, err);
}

static void tell_left(const struct head *h, size_t node, size_t left)
{
	const struct node *n = &h->nodes[node];
	const bool killed = WIFSIGNALED(n->status);

	run_tell(&h->log, "node %s: its runner ended %s %d; %zu job%s left%s%s",
		 h->q->launcher->nodes[node], killed ? "by signal" : "with status",
		 killed ? WTERMSIG(n->status) : WEXITSTATUS(n->status), left,
		 left == 1 ? " is" : "s are", n->lost ? "; the node gets no more: " : "",
		 !n->lost               ? ""
		 : h->offers[node].good ? "it failed too often"
					: h->offers[node].why);
}

/* The node has answered, or not: nothing of the part runs any more. */
static int node_answered(struct head *h, size_t node, struct hes_err *err)
{
	struct node *n = &h->nodes[node];
	struct part *p = &h->parts[n->part];
	int rc;

	if (h->offers[node].busy || (!h->offers[node].good && part_lives(p))) {
		n->query_again_s = hes_monotonic_s() + QUERY_AGAIN_S;
		return 0;
	}
	rc = part_sync(h, p, true, err);
	if (rc)
		return rc;
	n->failures++;
	n->lost = !h->offers[node].good || n->failures >= MOST_FAILURES;
	tell_left(h, node, free_node(h, node));
	for (struct part *next; n->lost && (next = next_part(h, node));)
		part_over(h, next);
	return 0;
}

/* Ends of processes here: of runners' srun or ssh, and of queries. */
static void reap_processes(struct head *h, size_t node)
{
	struct node *n = &h->nodes[node];
	int status;

	if (n->pid > 0 && waitpid(n->pid, &status, WNOHANG) == n->pid) {
		n->status = status;
		n->pid = 0;
		n->news = NODE_ENDED;
	} else if (n->query.pid > 0 && waitpid(n->query.pid, &status, WNOHANG) == n->query.pid) {
		offer_take(h->q->launcher, &n->query, status, h->offers);
		n->news = NODE_ANSWERED;
	} else {
		offer_limit(&n->query);
		if (n->pid > 0 && log_size(h, node) >= LOG_MAX_BYTES)
			kill(-n->pid, SIGTERM);
	}
}

int node_reap(struct head *h, size_t node, struct hes_err *err)
{
	struct node *n = &h->nodes[node];
	int rc;

	reap_processes(h, node);
	rc = n->news == NODE_ENDED      ? runner_ended(h, node, err)
	     : n->news == NODE_ANSWERED ? node_answered(h, node, err)
					: 0;
	if (rc)
		return rc;
	n->news = NODE_FINE;
	if (n->query_again_s <= 0 || hes_monotonic_s() < n->query_again_s)
		return 0;
	rc = offer_start_query(h->q->launcher, (long)node, h->run->folder, &n->query, err);
	n->query_again_s = rc ? hes_monotonic_s() + QUERY_AGAIN_S : 0;
	return rc;
}

/* --- taken out of service --- */

static void drain_node(struct head *h, size_t node)
{
	struct node *n = &h->nodes[node];

	/* Slurm lets jobs on such nodes end: without another node the run does the same. */
	if (n->drained || (h->offers[node].good && !n->lost && head_count_up(h) == 1))
		return;
	n->drained = true;
	n->lost |= n->part == PART_NONE;
	run_tell(&h->log,
		 "node %s drains: its jobs end, and what is left is planned again on the other "
		 "nodes",
		 h->q->launcher->nodes[node]);
	node_stop(h, node);
}

void node_find_drained(struct head *h)
{
	char text[65536] = "", *rest = NULL;

	if (h->q->launcher->ssh)
		return;
	slurm_drained(h->q->launcher->app, text, sizeof(text));
	for (char *name = strtok_r(text, "\n", &rest); name; name = strtok_r(NULL, "\n", &rest)) {
		const long node = launcher_find(h->q->launcher, name);

		if (node >= 0)
			drain_node(h, (size_t)node);
	}
}
