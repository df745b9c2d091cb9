/*
 * serve.c - `heshare fair serve`: run the arbiter of GPUs; see fair.h.
 */
#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arbiter/server.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/num.h"
#include "base/texts.h"
#include "app/fair_client.h"
#include "cli/cli.h"
#include "cli/fair/fair.h"
#include "cli/inputs/inputs.h"

#define KEPT        16 /* connections for root and the arbiter's user, besides those of all */
#define CONNECTIONS (512 + KEPT)
#define PER_USER    64
#define WINDOW_NS   UINT64_C(2000000)
#define IDLE_NS     UINT64_C(500000)
#define MAX_ALLOWED 64
#define LINES       20 /* of the log at once, and in a second */
#define REPEATS     16 /* faults of users that are counted, not printed again */
#define REPEAT_S    60

struct serve_opts {
	const char *interval, *quantum; /* times */
	double phi, patience, profile_for, max_weight;
	const char *policy, *gpus, *allow, *user_weight, *socket, *store, *catalogue;
	bool no_clocks, json;
};

#define AT(member) .offset = offsetof(struct serve_opts, member)

/* clang-format off */
static const struct opt serve_opts[] = {
	{ .heading = "time and parts",
	  .name = "interval", .kind = OPT_TEXT, AT(interval), .arg = "TIME", .def = "200ms",
	  .help = "length of an interval" },
	{ .name = "quantum", .kind = OPT_TEXT, AT(quantum), .arg = "TIME", .def = "1ms",
	  .help = "slices are multiples of this" },
	{ .name = "phi", .kind = OPT_DOUBLE, AT(phi), .arg = "PHI", .def = "0.7", .max = 1,
	  .help = "guaranteed part of the fair share of time (policy etf) or energy (etf-energy)" },
	FAIR_POLICY_OPT(offsetof(struct serve_opts, policy)),
	{ .heading = "GPUs and tenants",
	  .name = "gpus", .letter = 'g', .kind = OPT_TEXT, AT(gpus), .arg = "LIST",
	  .help = "GPUs to share: all, or indices, UUIDs, PCI addresses with commas; without it, "
		  "all" },
	{ .name = "allow", .kind = OPT_TEXT, AT(allow), .arg = "LIST",
	  .help = "who may connect besides root and this user: USER or @GROUP, with commas" },
	{ .name = "user-weight", .kind = OPT_TEXT, AT(user_weight), .arg = "LIST",
	  .help = "weights of users: USER=W, with commas; 1 without" },
	{ .name = "max-weight", .kind = OPT_DOUBLE, AT(max_weight), .arg = "W", .def = "1",
	  .min = HES_FAIR_MIN_NUMBER, .max = HES_FAIR_MAX_NUMBER,
	  .help = "highest weight that users may request for a tenant; root, this user and set may "
		  "exceed it" },
	{ .name = "patience", .kind = OPT_DOUBLE, AT(patience), .arg = "S", .def = "2",
	  .min = 0.001, .max = 3600,
	  .help = "take the GPU from a tenant that does not release it, after this time, seconds" },
	{ .name = "profile-for", .kind = OPT_DOUBLE, AT(profile_for), .arg = "S", .def = "5",
	  .max = 3600,
	  .help = "measure the power of a new tenant in its turns for this time at most, seconds; "
		  "0: do not" },
	{ .name = "no-clocks", .kind = OPT_FLAG, AT(no_clocks),
	  .help = "do not set the clocks that tenants request" },
	{ .heading = "files and output",
	  .name = "socket", .kind = OPT_FILE, AT(socket), .arg = "PATH",
	  .help = "where to listen; without it $HESHARE_FAIR_SOCKET, /run/heshare/fair.sock for "
		  "root, $XDG_RUNTIME_DIR/heshare/fair.sock for others" },
	FAIR_STORE_OPT(offsetof(struct serve_opts, store)),
	CLI_CATALOGUE_OPT(offsetof(struct serve_opts, catalogue)),
	{ .name = "json", .kind = OPT_FLAG, AT(json),
	  .help = "print a JSON document for each event" },
	{ 0 }
};
/* clang-format on */

/* --- what happens --- */

/* What processes of a user did wrong: it is printed once a minute, with how often. */
struct serve_repeat {
	enum arbiter_note_kind kind;
	uint32_t uid;
	uint64_t text;    /* hash */
	double printed_s; /* 0: no entry */
	unsigned more;
};

struct serve_log {
	bool json;
	struct serve_repeat repeats[REPEATS];
	const size_t *gpus;
	double second_s; /* start of the second in which lines are counted */
	unsigned lines, left_out;
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

/* @return the entry of a fault, in place of the oldest one if it is new */
static struct serve_repeat *log_repeat(struct serve_log *l, const struct arbiter_note *n)
{
	const uint64_t text = hes_hash_text(0, n->text);
	struct serve_repeat *oldest = l->repeats;

	for (size_t i = 0; i < REPEATS; i++) {
		struct serve_repeat *r = &l->repeats[i];

		if (r->printed_s > 0 && r->kind == n->kind && r->uid == n->uid && r->text == text)
			return r;
		if (r->printed_s < oldest->printed_s)
			oldest = r;
	}
	l->left_out += oldest->more;
	*oldest = (struct serve_repeat){ n->kind, n->uid, text, 0, 0 };
	return oldest;
}

/* @param more  how often it came since it was printed. @return whether it is printed now */
static bool log_is_due(struct serve_log *l, const struct arbiter_note *n, unsigned *more)
{
	struct serve_repeat *r;
	const double now = hes_monotonic_s();

	*more = 0;
	if (n->kind != ARBITER_REFUSED && n->kind != ARBITER_BAD_PACKET && n->kind != ARBITER_FLOOD)
		return true;
	r = log_repeat(l, n);
	if (r->printed_s > 0 && now - r->printed_s < REPEAT_S) {
		r->more++;
		return false;
	}
	*more = r->more;
	r->more = 0;
	r->printed_s = now;
	return true;
}

/* What was counted and not printed, at the end. */
static void log_end(struct serve_log *l)
{
	for (size_t i = 0; i < REPEATS; i++)
		l->left_out += l->repeats[i].more;
	l->second_s = 0;
	log_has_room(l);
}

/* A note: its event, and what it says after the GPU and, with @who, the process. At its colon
 * follows the text. */
static const struct {
	const char *event;
	bool who;
	const char *what;
} note_words[] = {
	[ARBITER_CONNECTED] = { "connected", true, "connected" },
	[ARBITER_DISCONNECTED] = { "disconnected", true, "disconnected" },
	[ARBITER_LOST_LEASE] = { "lost_lease", true,
				 "did not release the GPU in time, and others have it now" },
	[ARBITER_FLOOD] = { "flood", true, "sent too many messages and was disconnected" },
	[ARBITER_BAD_PACKET] = { "bad_packet", true, "was disconnected: " },
	[ARBITER_REFUSED] = { "refused", true, "was refused: " },
	[ARBITER_PROFILED] = { "profiled", true, "draws " },
	[ARBITER_NO_CLOCKS] = { "no_clocks", false, "clocks are not set: " },
	[ARBITER_CLOCK_FAILED] = { "clock_failed", false,
				   "a clock could not be set, and will be tried again: " },
	[ARBITER_GPU_GONE] = { "gpu_gone", false, "no more clocks and no measured energy: " },
	[ARBITER_CHANGED] = { "changed", true, "changed settings: " },
};

static void note_sentence(const struct serve_log *l, const struct arbiter_note *n, char *out,
			  size_t size)
{
	const char *what = note_words[n->kind].what;
	const bool who = note_words[n->kind].who;
	char process[160], where[40] = "", watts[40] = "";

	if (*n->tenant)
		snprintf(process, sizeof(process),
			 "tenant %s of user %" PRIu32 ", process %" PRIu32 " ", n->tenant, n->uid,
			 n->pid);
	else
		snprintf(process, sizeof(process), "process %" PRIu32 " of user %" PRIu32 " ",
			 n->pid, n->uid);
	if (n->gpu != SIZE_MAX && n->kind != ARBITER_CHANGED)
		snprintf(where, sizeof(where), "GPU %zu: ", l->gpus[n->gpu]);
	if (n->kind == ARBITER_PROFILED)
		snprintf(watts, sizeof(watts), "%.1f W", n->number);
	snprintf(out, size, "%s%s%s%s%s", where, who ? process : "", what, watts,
		 strchr(what, ':') ? n->text : "");
}

static void log_json(const struct serve_log *l, const struct arbiter_note *n, const char *sentence)
{
	json_t *gpu = n->gpu == SIZE_MAX ? json_null() : json_integer((json_int_t)l->gpus[n->gpu]);
	json_t *doc = hes_json_document(
		"heshare-fair-event",
		json_pack("{s:I, s:s, s:o, s:I, s:I, s:s, s:s}", "at_us", (json_int_t)hes_wall_us(),
			  "event", note_words[n->kind].event, "gpu", gpu, "uid", (json_int_t)n->uid,
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
	unsigned more;

	if (!log_is_due(l, n, &more) || !log_has_room(l))
		return;
	note_sentence(l, n, sentence, sizeof(sentence));
	if (more)
		hes_text_add(sentence, sizeof(sentence), "; ", "%u times more since it was printed",
			     more);
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
	const struct group *group;
	uint32_t uid;

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
	if (fair_user_parse("--allow", name, &uid, NULL))
		return hes_fail(err, -EINVAL,
				"--allow: there is no user \"%.60s\"; a group is written @GROUP",
				name);
	s->users[s->a.n_users++] = uid;
	return 0;
}

static int allow_parse(const char *list, struct serve_allow *s, struct hes_err *err)
{
	char one[256];
	int rc = 0;

	s->a.users = s->users;
	s->a.groups = s->groups;
	while (!rc && hes_text_next(&list, one, sizeof(one)))
		rc = allow_one(s, one, err);
	return rc;
}

static int config_parse(const struct serve_opts *o, struct arbiter_config *c, struct hes_err *err)
{
	uint64_t interval, quantum;
	int rc = hes_parse_time("--interval", o->interval, HES_FAIR_MAX_NS, &interval, err);

	if (!rc)
		rc = hes_parse_time("--quantum", o->quantum, HES_FAIR_MAX_NS, &quantum, err);
	if (!rc && (quantum < 1000 || interval < quantum))
		rc = hes_fail(err, -EINVAL,
			      "--quantum: it is at least 1us, and no longer than --interval");
	if (rc)
		return rc;
	*c = (struct arbiter_config){
		.queue = { hes_fair_policy_find(o->policy, err), o->phi, interval / quantum,
			   quantum },
		.connections = CONNECTIONS,
		.kept = KEPT,
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

static void serve_chosen(void *ctx, const size_t *gpus)
{
	struct serve_log *l = ctx;

	l->gpus = gpus;
}

static int serve_run(const struct call *call, struct hes_err *err)
{
	static const char *const guard[] = { "/proc/self/exe", "restore", "--guard", NULL };
	const struct serve_opts *o = call->opts;
	struct serve_allow allow = { .a = { .n_users = 0 } };
	struct arbiter_user_weight weights[FAIR_MAX_WEIGHTS];
	struct serve_log log = { .json = o->json };
	struct fair_arbiter_request q = {
		.app = cli_app(),
		.gpus = o->gpus,
		.socket = o->socket,
		.catalogue = o->catalogue,
		.store = o->store,
		.config = { .guard = guard,
			    .started = serve_started,
			    .note = serve_note,
			    .say = serve_say,
			    .ctx = &log },
		.chosen = serve_chosen,
	};
	int rc;

	if (config_parse(o, &q.config.arbiter, err) || allow_parse(o->allow, &allow, err) ||
	    fair_user_weights_parse("--user-weight", o->user_weight, weights,
				    &q.config.arbiter.n_user_weights, err))
		return OPT_USAGE;
	q.config.allow = allow.a;
	q.config.arbiter.user_weights = weights;
	/* Who reads the events may go away before the arbiter does. */
	signal(SIGPIPE, SIG_IGN);
	rc = fair_arbiter_run(&q, err);
	log_end(&log);
	return rc;
}

const struct command cmd_fair_serve = {
	.name = "fair serve",
	.args = "",
	.summary = "be the arbiter of GPUs",
	.text = "Starts the arbiter. It gives one tenant at a time a lease, the right to run, for "
		"its slice. It divides each interval by the powers that it measures. If it may set "
		"clocks, it sets a tenant's clock before its lease. At its end the clocks are "
		"restored, by the guard if it is killed. Stop it by Ctrl-C or SIGTERM; tenants "
		"then keep running unscheduled.",
	.example = "  heshare fair serve --gpus 0 --phi 0.7 --allow @gpu-users",
	.opts = serve_opts,
	.opts_size = sizeof(struct serve_opts),
	.run = serve_run,
};
