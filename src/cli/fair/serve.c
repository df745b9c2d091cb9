/*
 * serve.c - `heshare fair serve`: run the arbiter of GPUs; see fair.h.
 */
#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arbiter/server.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/num.h"
#include "app/catalogue.h"
#include "app/gpus_chosen.h"
#include "cli/cli.h"
#include "cli/fair/fair.h"
#include "app/fair_client.h"
#include "cli/fair/time_option.h"
#include "app/known_store.h"
#include "app/gpus_visible.h"

#define CONNECTIONS 512
#define PER_USER    64
#define WINDOW_NS   UINT64_C(2000000)
#define IDLE_NS     UINT64_C(500000)
#define MAX_ALLOWED 64
#define LINES       20 /* of the log at once, and in a second */

/* --- what happens --- */

struct serve_log {
	bool json;
	const size_t *gpus;
	double second_s; /* start of the second in which lines are counted */
	unsigned lines, left_out;
};

static const char *const event_names[] = {
	[ARBITER_CONNECTED] = "connected",       [ARBITER_DISCONNECTED] = "disconnected",
	[ARBITER_LOST_LEASE] = "lost_lease",     [ARBITER_FLOOD] = "flood",
	[ARBITER_BAD_PACKET] = "bad_packet",     [ARBITER_REFUSED] = "refused",
	[ARBITER_PROFILED] = "profiled",         [ARBITER_NO_CLOCKS] = "no_clocks",
	[ARBITER_CLOCK_FAILED] = "clock_failed", [ARBITER_GPU_GONE] = "gpu_gone",
	[ARBITER_CHANGED] = "changed",
};

/* @return whether a line can be written without waiting for its reader, because the arbiter must
 * never wait */
static bool output_is_ready(int descriptor)
{
	struct pollfd fd = { .fd = descriptor, .events = POLLOUT };

	return poll(&fd, 1, 0) > 0 && fd.revents & POLLOUT;
}

/* @return whether there is room for a line; clients must not fill the log */
static bool log_has_room(struct serve_log *l)
{
	bool ready = output_is_ready(STDERR_FILENO) && (!l->json || output_is_ready(STDOUT_FILENO));
	double now = hes_monotonic_s();
	char line[80];

	if (now - l->second_s >= 1) {
		snprintf(line, sizeof(line), "%u more events were not shown", l->left_out);
		if (l->left_out && ready)
			cli_say("fair serve", line);
		l->second_s = now;
		l->lines = 0;
		l->left_out = ready ? 0 : l->left_out;
	}
	if (ready && l->lines++ < LINES)
		return true;
	l->left_out++;
	return false;
}

static void note_sentence(const struct serve_log *l, const struct arbiter_note *n, char *out,
			  size_t size)
{
	char who[160], where[40] = "";

	if (*n->tenant)
		snprintf(who, sizeof(who), "tenant %s of user %" PRIu32 ", process %" PRIu32,
			 n->tenant, n->uid, n->pid);
	else
		snprintf(who, sizeof(who), "process %" PRIu32 " of user %" PRIu32, n->pid, n->uid);
	if (n->gpu != SIZE_MAX)
		snprintf(where, sizeof(where), "GPU %zu: ", l->gpus[n->gpu]);
	switch (n->kind) {
	case ARBITER_CONNECTED:
		snprintf(out, size, "%s%s connected", where, who);
		break;
	case ARBITER_DISCONNECTED:
		snprintf(out, size, "%s%s disconnected", where, who);
		break;
	case ARBITER_LOST_LEASE:
		snprintf(out, size, "%s%s did not release the GPU in time, and others have it now",
			 where, who);
		break;
	case ARBITER_FLOOD:
		snprintf(out, size, "%s%s sent too many messages and was disconnected", where, who);
		break;
	case ARBITER_BAD_PACKET:
		snprintf(out, size, "%s%s was disconnected: %s", where, who, n->text);
		break;
	case ARBITER_REFUSED:
		snprintf(out, size, "%s%s was refused: %s", where, who, n->text);
		break;
	case ARBITER_PROFILED:
		snprintf(out, size, "%s%s draws %.1f W", where, who, n->number);
		break;
	case ARBITER_NO_CLOCKS:
		snprintf(out, size, "%sclocks are not set: %s", where, n->text);
		break;
	case ARBITER_CLOCK_FAILED:
		snprintf(out, size, "%sa clock could not be set, and will be tried again: %s",
			 where, n->text);
		break;
	case ARBITER_GPU_GONE:
		snprintf(out, size, "%sno more clocks and no measured energy: %s", where, n->text);
		break;
	case ARBITER_CHANGED:
		snprintf(out, size, "%s changed the settings", who);
		break;
	}
}

static void log_json(const struct serve_log *l, const struct arbiter_note *n, const char *sentence)
{
	json_t *gpu = n->gpu == SIZE_MAX ? json_null() : json_integer((json_int_t)l->gpus[n->gpu]);
	json_t *doc = hes_json_document(
		"heshare-fair-event",
		json_pack("{s:I, s:s, s:o, s:I, s:I, s:s, s:s}", "at_us", (json_int_t)hes_wall_us(),
			  "event", event_names[n->kind], "gpu", gpu, "uid", (json_int_t)n->uid,
			  "pid", (json_int_t)n->pid, "tenant", n->tenant, "sentence", sentence));

	if (doc)
		json_dumpf(doc, stdout, JSON_COMPACT);
	putchar('\n');
	fflush(stdout);
	json_decref(doc);
}

static void serve_note(void *ctx, const struct arbiter_note *n)
{
	struct serve_log *l = ctx;
	char sentence[600];

	if (!log_has_room(l))
		return;
	note_sentence(l, n, sentence, sizeof(sentence));
	if (l->json)
		log_json(l, n, sentence);
	else
		cli_say("fair serve", sentence);
}

static void serve_say(void *ctx, size_t gpu, const char *sentence)
{
	struct serve_log *l = ctx;
	char line[400];

	snprintf(line, sizeof(line), "GPU %zu: %s", l->gpus[gpu], sentence);
	if (log_has_room(l))
		cli_say("fair serve", line);
}

static void serve_started(void *ctx, const struct arbiter_gpu_config *gpus, size_t n)
{
	const struct serve_log *l = ctx;
	char line[200];

	for (size_t i = 0; i < n; i++) {
		snprintf(line, sizeof(line), "GPU %zu, %s, is shared", l->gpus[i], gpus[i].name);
		cli_say("fair serve", line);
	}
}

/* --- options --- */

struct serve_allow {
	uid_t users[MAX_ALLOWED];
	gid_t groups[MAX_ALLOWED];
	struct listener_allow a;
};

static int allow_one(struct serve_allow *s, const char *name, struct hes_err *err)
{
	const struct passwd *user;
	const struct group *group;
	uint32_t number;

	if (s->a.n_users == MAX_ALLOWED || s->a.n_groups == MAX_ALLOWED)
		return hes_fail(err, -EINVAL, "--allow: more than %d names; make a group of them",
				MAX_ALLOWED);
	if (*name == '@') {
		group = getgrnam(name + 1);
		if (!group)
			return hes_fail(err, -EINVAL, "--allow: there is no group \"%.60s\"",
					name + 1);
		s->groups[s->a.n_groups++] = group->gr_gid;
		return 0;
	}
	user = getpwnam(name);
	if (!user && hes_parse_u32("--allow", name, 0, UINT32_MAX - 1, &number, NULL))
		return hes_fail(err, -EINVAL,
				"--allow: there is no user \"%.60s\"; a group is written @GROUP",
				name);
	s->users[s->a.n_users++] = user ? user->pw_uid : number;
	return 0;
}

static int allow_parse(const char *list, struct serve_allow *s, struct hes_err *err)
{
	char *text = list ? strdup(list) : NULL, *rest = text, *one;
	int rc = list && !text ? hes_fail(err, -ENOMEM, "out of memory") : 0;

	s->a.users = s->users;
	s->a.groups = s->groups;
	while (!rc && rest && (one = strsep(&rest, ",")))
		rc = allow_one(s, one, err);
	free(text);
	return rc;
}

static int config_parse(const struct fair_opts *o, struct arbiter_config *c, struct hes_err *err)
{
	uint64_t interval, quantum;
	int rc = fair_time_parse("--interval", o->interval ? o->interval : "200ms", &interval, err);

	if (!rc)
		rc = fair_time_parse("--quantum", o->quantum, &quantum, err);
	if (!rc && (quantum < 1000 || interval < quantum))
		rc = hes_fail(err, -EINVAL,
			      "--quantum: it is at least 1us, and no longer than --interval");
	if (rc)
		return rc;
	*c = (struct arbiter_config){
		.queue = { hes_fair_policy_find(o->policy, err), o->phi, interval / quantum,
			   quantum },
		.connections = CONNECTIONS,
		.per_user = PER_USER,
		.owner = geteuid(),
		.max_weight = o->max_weight,
		.patience_ns = (uint64_t)(o->patience * 1e9),
		.profile_ns = (uint64_t)(o->profile_for * 1e9),
		.window_ns = WINDOW_NS,
		.idle_ns = IDLE_NS,
		.clocks = !o->no_clocks,
	};
	return 0;
}

/* The store that profiles go to. A user without a home has none. */
static int store_choose(const struct fair_opts *o, char **out, struct hes_err *err)
{
	struct hes_store *s;
	int rc = app_store_open(cli_app(), o->store, HES_STORE_WRITE, HES_STORE_WAIT_MS, &s, err);

	*out = NULL;
	if (rc)
		return rc;
	*out = strdup(hes_store_path(s));
	hes_store_close(s);
	return *out ? 0 : hes_fail(err, -ENOMEM, "out of memory");
}

static int serve(const struct fair_opts *o, struct arbiter_server_config *c, struct serve_log *log,
		 struct hes_err *err)
{
	struct hes_catalogue types = { 0 };
	struct hes_devices *d = NULL;
	char path[FAIR_SOCKET_MAX], *store = NULL;
	size_t *gpus = NULL;
	int rc = gpus_check(o->gpus, err);

	if (!rc)
		rc = fair_socket_own(o->socket, path, err);
	if (!rc)
		rc = app_catalogue_load(cli_app(), o->catalogue, true, &types, err);
	if (!rc)
		rc = app_devices_open(cli_app(), &types, &d, err);
	hes_catalogue_free(&types);
	if (!rc)
		rc = gpus_choose(cli_app(), d, o->gpus, GPUS_SHARE, &gpus, &c->n_gpus, err);
	if (!rc && c->n_gpus > ARBITER_MAX_GPUS)
		rc = hes_fail(err, -EINVAL,
			      "%zu GPUs are more than the %d that an arbiter takes; choose some "
			      "with --gpus",
			      c->n_gpus, ARBITER_MAX_GPUS);
	if (!rc && store_choose(o, &store, err)) {
		cli_say("fair serve", err->msg);
		cli_say("fair serve", "profiles of tenants are not kept");
	}
	if (!rc) {
		log->gpus = c->gpus = gpus;
		c->devices = d;
		c->socket = path;
		c->store = store;
		c->ctx = log;
		rc = arbiter_serve(c, err);
	}
	/* A thread that hangs in the driver still uses these. */
	if (rc == -ETIMEDOUT)
		return rc;
	hes_devices_close(d);
	free(gpus);
	free(store);
	return rc;
}

int fair_serve(const struct fair_opts *o, int n_args, char **args)
{
	static const char *const guard[] = { "/proc/self/exe", "restore", "--guard", NULL };
	struct arbiter_server_config c = {
		.guard = guard, .started = serve_started, .note = serve_note, .say = serve_say
	};
	struct serve_allow allow = { .a = { .n_users = 0 } };
	struct serve_log log = { .json = o->json };
	struct hes_err err;
	int rc = config_parse(o, &c.arbiter, &err);

	(void)n_args;
	(void)args;
	if (!rc)
		rc = allow_parse(o->allow, &allow, &err);
	if (rc) {
		cli_fail("fair serve", &err);
		return 2;
	}
	c.allow = allow.a;
	/* Who reads the events may go away before the arbiter does. */
	signal(SIGPIPE, SIG_IGN);
	return serve(o, &c, &log, &err) ? cli_fail("fair serve", &err) : 0;
}
