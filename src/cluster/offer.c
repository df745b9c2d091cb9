/*
 * offer.c - print, ask for and read offers; see offer.h.
 *
 * A line is short enough that srun passes it on as a whole.
 */
#include "cluster/offer.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "heshare/version.h"
#include "launch/guard.h"

#define WAIT_OLD_S       120 /* for an earlier run on the node to end */
#define WAIT_ANSWER_S    180
#define ANSWER_MAX_BYTES (1 << 24)
#define INDEX_MAX        99999 /* GPUs are called NODE/NUMBER */
#define LIMIT_MAX_W      10000
#define LINE_MAX_BYTES   1000 /* srun passes on messages of 1024 bytes */

static const struct timespec nap = { 0, 20000000 };

/* --- on the node --- */

static const char *own_name(const struct app *app, char out[HES_NAME_MAX])
{
	const char *name = app_variable(app, "SLURMD_NODENAME");

	if (name && *name)
		snprintf(out, HES_NAME_MAX, "%s", name);
	else if (gethostname(out, HES_NAME_MAX - 1) || !*out)
		strcpy(out, "localhost");
	return out;
}

static void put_line(FILE *f, json_t *members)
{
	json_t *line = hes_json_document("heshare-offer", members);
	char text[LINE_MAX_BYTES];
	size_t n = json_dumpb(line, text, sizeof(text) - 1, JSON_COMPACT);

	if (n && n < sizeof(text))
		fprintf(f, "%.*s\n", (int)n, text);
	json_decref(line);
}

/* What an earlier run left here is undone, once it has ended. */
static int restore_folder(const char *folder, const char *node, struct hes_err *err)
{
	const size_t length = strlen(folder);
	const bool named = folder[length - 1] == '%';
	const double from_s = hes_monotonic_s();
	struct hes_undone undone;
	char path[4096];
	int rc;

	if (named && !slurm_name_is_good(node))
		return hes_fail(err, -EINVAL, "\"%.60s\" is no name of a node", node);
	snprintf(path, sizeof(path), "%.*s%s", (int)(length - named), folder, named ? node : "");
	if (access(path, F_OK))
		return 0;
	while ((rc = hes_guard_restore(path, &undone, err)) == -EBUSY &&
	       hes_monotonic_s() - from_s < WAIT_OLD_S)
		nanosleep(&nap, NULL);
	return rc == -ENOENT ? 0 : rc;
}

/* All that can be planned for. */
static int put_gpus(const struct app *app, FILE *f, const char *node, const struct hes_catalogue *c,
		    struct hes_err *err)
{
	struct gpus_fleet b = { 0 };
	int rc = gpus_fleet_load(app, NULL, c, false, &b, err);

	for (size_t i = 0; i < b.fleet.n && !rc; i++) {
		const struct hes_gpu *g = &b.fleet.gpus[i];

		put_line(f, json_pack("{s:s, s:s, s:I, s:s, s:s, s:f, s:b, s:b}", "heshare",
				      HES_VERSION, "node", node, "gpu",
				      (json_int_t)strtoull(strrchr(g->name, '/') + 1, NULL, 10),
				      "gpu_type", g->type->name, "uuid", g->uuid, "power_limit_w",
				      g->type->power_limit_mw * 1e-3, "clocks",
				      g->type->n_clocks > 1, "mps", !g->type->alone));
	}
	gpus_fleet_free(&b);
	return rc;
}

int offer_put(const struct app *app, FILE *f, const struct hes_catalogue *c, const char *folder)
{
	char node[HES_NAME_MAX] = "";
	struct hes_err err;
	int rc;

	own_name(app, node);
	rc = folder && *folder ? restore_folder(folder, node, &err) : 0;
	if (!rc)
		rc = put_gpus(app, f, node, c, &err);
	if (rc)
		put_line(f,
			 json_pack("{s:s, s:s, s:b, s:o}", "heshare", HES_VERSION, "node", node,
				   "busy", rc == -EBUSY, "error", json_sprintf("%.300s", err.msg)));
	return fflush(f) ? -errno : rc;
}

/* --- queried --- */

/* A file without a name, in which an answer stays until all of it is there. */
static int answer_file(void)
{
	FILE *f = tmpfile();
	const int fd = f ? fcntl(fileno(f), F_DUPFD_CLOEXEC, 0) : -1;

	if (f)
		fclose(f);
	return fd;
}

static void close_answers(const struct offer_query *q)
{
	if (q->out >= 0)
		close(q->out);
	if (q->errors >= 0)
		close(q->errors);
}

int offer_start_query(const struct launcher *l, long node, const char *folder,
		      struct offer_query *q, struct hes_err *err)
{
	const char *args[8] = { "gpus", "--offer" };
	char path[4096];
	struct offer_query query = { .node = node,
				     .out = answer_file(),
				     .errors = answer_file(),
				     .since_s = hes_monotonic_s() };
	size_t n = 2;

	if (l->catalogue) {
		args[n++] = "--catalogue";
		args[n++] = l->catalogue;
	}
	if (folder) {
		snprintf(path, sizeof(path), "%s/%s", folder, node < 0 ? "%" : l->nodes[node]);
		args[n++] = "--restore";
		args[n++] = path;
	}
	query.pid = query.out < 0 || query.errors < 0
			    ? hes_fail(err, -EIO, "no file for the answers of nodes: %s",
				       strerror(errno))
			    : launcher_start(l, node, args, query.out, query.errors,
					     ANSWER_MAX_BYTES, err);
	if (query.pid > 0)
		*q = query;
	else
		close_answers(&query);
	return query.pid > 0 ? 0 : (int)query.pid;
}

/* All of an answer as text; free() it. NULL: it cannot be read */
static char *query_read_answer(int fd, bool *endless)
{
	char path[32], *text = NULL;
	size_t n;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	*endless |= hes_file_slurp(path, ANSWER_MAX_BYTES - 1, &text, &n, NULL) == -EFBIG;
	return text;
}

/* The last line that says something. */
static const char *last_line(char *text)
{
	char *last = NULL, *rest = NULL;

	for (char *line = strtok_r(text, "\r\n", &rest); line; line = strtok_r(NULL, "\r\n", &rest))
		if (*line && !strstr(line, "srun: error: Timed out") &&
		    !strstr(line, "Exited with exit code"))
			last = line;
	return last;
}

static void add_gpu(struct offer *o, const json_t *doc)
{
	const char *type = json_string_value(json_object_get(doc, "gpu_type")),
		   *uuid = json_string_value(json_object_get(doc, "uuid"));
	const double limit_w = json_number_value(json_object_get(doc, "power_limit_w"));
	const json_t *index = json_object_get(doc, "gpu");
	struct offer_gpu *v;

	if (!type || !uuid || !json_is_integer(index) || json_integer_value(index) < 0 ||
	    json_integer_value(index) > INDEX_MAX)
		return;
	v = realloc(o->gpus, (o->n + 1) * sizeof(*v));
	if (!v)
		return;
	o->gpus = v;
	v += o->n++;
	*v = (struct offer_gpu){ .index = (size_t)json_integer_value(index),
				 .limit_mw = limit_w > 0 && limit_w <= LIMIT_MAX_W
						     ? (uint32_t)lround(limit_w * 1e3)
						     : 0,
				 .clocks = json_is_true(json_object_get(doc, "clocks")),
				 .mps = json_is_true(json_object_get(doc, "mps")) };
	snprintf(v->type, sizeof(v->type), "%s", type);
	snprintf(v->uuid, sizeof(v->uuid), "%s", uuid);
	o->good = true;
}

static void take_line(const struct launcher *l, const struct offer_query *q, const char *line,
		      struct offer *v)
{
	json_t *doc = NULL;
	const char *version, *node, *error;
	long at;

	if (hes_json_parse("offer", line, strlen(line), &doc, NULL))
		return;
	version = json_string_value(json_object_get(doc, "heshare"));
	node = json_string_value(json_object_get(doc, "node"));
	error = json_string_value(json_object_get(doc, "error"));
	/* By ssh a node has the name by which it was called. */
	at = l->ssh ? q->node : node ? launcher_find(l, node) : -1;
	if (version && at >= 0 && strcmp(version, HES_VERSION) != 0) {
		snprintf(v[at].why, sizeof(v[at].why),
			 "it has heshare %.40s and this is %s: install the same version on all "
			 "nodes",
			 version, HES_VERSION);
	} else if (version && at >= 0 && error) {
		snprintf(v[at].why, sizeof(v[at].why), "%s", error);
		v[at].busy = json_is_true(json_object_get(doc, "busy"));
	} else if (version && at >= 0) {
		add_gpu(&v[at], doc);
	}
	json_decref(doc);
}

/* Why a node gave no offer. @param said  the last line of its messages; NULL: none */
static void offer_tell(const struct launcher *l, struct offer *o, int status, bool endless,
		       const char *said)
{
	/* 255: ssh itself failed. */
	const bool unreachable = WIFEXITED(status) && WEXITSTATUS(status) == 255 && l->ssh;

	if (endless)
		snprintf(o->why, sizeof(o->why),
			 "its answer was cut off at %d MiB; does its shell print something without "
			 "end?",
			 ANSWER_MAX_BYTES >> 20);
	else if (!o->good && !o->why[0])
		snprintf(o->why, sizeof(o->why), "it did not answer, %s %d%s%.200s%s%.100s%s",
			 WIFSIGNALED(status) ? "signal" : "exit status",
			 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
			 said ? ": " : "", said ? said : "", unreachable ? "" : "; is ",
			 unreachable ? "" : l->program, unreachable ? "" : " there?");
	/* One GPU on which no job can run: the node is as good as none. */
	o->good &= !o->why[0];
}

void offer_take(const struct launcher *l, struct offer_query *q, int status, struct offer *v)
{
	const size_t first = q->node < 0 ? 0 : (size_t)q->node,
		     end = q->node < 0 ? l->n : (size_t)q->node + 1;
	bool endless = false;
	char *out = query_read_answer(q->out, &endless),
	     *errors = query_read_answer(q->errors, &endless), *rest = NULL;
	const char *said = errors ? last_line(errors) : NULL;

	for (size_t i = first; i < end; i++) {
		free(v[i].gpus);
		v[i] = (struct offer){ .gpus = NULL };
		memcpy(v[i].node, l->nodes[i], sizeof(v[i].node));
	}
	for (char *line = out ? strtok_r(out, "\n", &rest) : NULL; line;
	     line = strtok_r(NULL, "\n", &rest))
		take_line(l, q, line, v);
	for (size_t i = first; i < end; i++)
		offer_tell(l, &v[i], status, endless, said);
	free(out);
	free(errors);
	close_answers(q);
	q->pid = 0;
}

void offer_limit(const struct offer_query *q)
{
	if (q->pid > 0 && hes_monotonic_s() - q->since_s > WAIT_ANSWER_S)
		kill(-q->pid, SIGKILL);
}

/* Whether SIGINT, SIGTERM or SIGHUP is blocked and waits. */
static bool stop_is_pending(void)
{
	sigset_t pending;

	return !sigpending(&pending) &&
	       (sigismember(&pending, SIGINT) || sigismember(&pending, SIGTERM) ||
		sigismember(&pending, SIGHUP));
}

/* Wait for the ends of queries; those that take too long are ended. */
static int offers_await(const struct launcher *l, struct offer_query *q, size_t n, struct offer *v,
			struct hes_err *err)
{
	bool stopped = false;
	size_t left = 0;

	for (size_t i = 0; i < n; i++)
		left += q[i].pid > 0;
	while (left) {
		for (size_t i = 0; i < n; i++) {
			int status = 0;

			if (q[i].pid > 0 && waitpid(q[i].pid, &status, WNOHANG) == q[i].pid) {
				offer_take(l, &q[i], status, v);
				left--;
			} else if (q[i].pid > 0 && stopped) {
				kill(-q[i].pid, SIGKILL);
			} else {
				offer_limit(&q[i]);
			}
		}
		stopped |= stop_is_pending();
		if (left)
			nanosleep(&nap, NULL);
	}
	return stopped ? hes_fail(err, -EINTR, "stopped while nodes were queried") : 0;
}

/* One query each for the nodes that have not answered. */
static int offers_ask_others(const struct launcher *l, const char *folder, struct offer *v,
			     struct hes_err *err)
{
	struct offer_query *q = calloc(l->n + 1, sizeof(*q));
	int rc = q ? 0 : hes_fail(err, -ENOMEM, "out of memory for %zu nodes", l->n);

	for (size_t i = 0; i < l->n && !rc; i++)
		if (!v[i].good)
			rc = offer_start_query(l, (long)i, folder, &q[i], err);
	if (q) {
		const int waited = offers_await(l, q, l->n, v, rc ? NULL : err);

		rc = rc ? rc : waited;
	}
	free(q);
	return rc;
}

int offers_load(const struct launcher *l, const char *folder, struct offer **out,
		struct hes_err *err)
{
	struct offer *v = calloc(l->n + 1, sizeof(*v));
	struct offer_query all = { 0 };
	size_t good = 0;
	int rc = v ? 0 : hes_fail(err, -ENOMEM, "out of memory for %zu nodes", l->n);

	if (!rc && !l->ssh) {
		rc = offer_start_query(l, -1, folder, &all, err);
		if (!rc)
			rc = offers_await(l, &all, 1, v, err);
	}
	for (size_t i = 0; i < l->n && !rc; i++)
		good += v[i].good;
	/* One node that is down keeps a step for all nodes from starting. */
	if (!rc && !good)
		rc = offers_ask_others(l, folder, v, err);
	for (size_t i = good = 0; i < l->n && !rc; i++)
		good += v[i].good;
	if (!rc && !good)
		rc = hes_fail(err, -ENODEV, "no node has a GPU to use; node %s: %.350s", v[0].node,
			      v[0].why);
	if (rc)
		offers_free(v, l->n);
	else
		*out = v;
	return rc;
}

void offers_free(struct offer *v, size_t n)
{
	for (size_t i = 0; v && i < n; i++)
		free(v[i].gpus);
	free(v);
}

/* --- as a fleet --- */

int offers_fleet(const struct app *app, const struct offer *v, size_t n,
		 const struct hes_catalogue *c, struct gpus_fleet *out, struct hes_err *err)
{
	struct gpus_fleet b = { 0 };
	size_t gpus = 0;
	int rc;

	for (size_t i = 0; i < n; i++) {
		gpus += v[i].good ? v[i].n : 0;
		if (!v[i].good)
			app_say(app, "node %s is left out: %s", v[i].node, v[i].why);
	}
	rc = gpus_fleet_make(&b, "nodes", gpus, err);
	for (size_t i = 0; i < n && !rc; i++)
		for (size_t k = 0; v[i].good && k < v[i].n && !rc; k++) {
			const struct offer_gpu *g = &v[i].gpus[k];
			const struct hes_gpu_type *type = hes_gpu_type_find(c, g->type, NULL);

			if (type)
				gpus_fleet_put(&b, v[i].node, g->index, g->uuid, type, g->limit_mw,
					       g->clocks, g->mps);
			else
				rc = hes_fail(
					err, -ENOENT,
					"node %s: GPU %zu is of type %s, which the catalogue here "
					"does not have: print its row there by "
					"heshare gpus --yaml, and name the file by --catalogue",
					v[i].node, g->index, g->type);
		}
	if (rc)
		gpus_fleet_free(&b);
	else
		*out = b;
	return rc;
}

bool offers_wanted(const char *gpus)
{
	return gpus && (strcmp(gpus, "slurm") == 0 || strncmp(gpus, "ssh:", 4) == 0);
}

int offers_fleet_load(const struct app *app, const char *how, const char *program, const char *rows,
		      const struct hes_catalogue *c, struct gpus_fleet *out, struct hes_err *err)
{
	struct launcher l = { 0 };
	struct offer *v = NULL;
	int rc = launcher_open(app, how, program, &l, err);

	l.catalogue = rows;
	if (!rc)
		rc = offers_load(&l, NULL, &v, err);
	if (!rc)
		rc = offers_fleet(app, v, l.n, c, out, err);
	offers_free(v, l.n);
	launcher_close(&l);
	return rc;
}
