/*
 * top.c - `heshare fair top`: print what each tenant of an arbiter uses now and has used so far;
 * see fair.h.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/visible.h"
#include "cli/cli.h"
#include "cli/fair/fair.h"
#include "app/fair_client.h"
#include "cli/terminal.h"

struct top_opts {
	const char *socket;
	bool once, json;
};

#define AT(member) .offset = offsetof(struct top_opts, member)

/* clang-format off */
static const struct opt top_opts[] = {
	FAIR_SOCKET_OPT(offsetof(struct top_opts, socket)),
	{ .name = "once", .kind = OPT_FLAG, AT(once), .help = "print once, also on a terminal" },
	{ .name = "json", .kind = OPT_FLAG, AT(json), .help = "print one JSON document" },
	{ 0 }
};
/* clang-format on */

static const char *const states[] = { "idle", "waiting", "running", "draining", "lost" };
static const char *const sources[] = { "assumed", "known", "measured" };

#define N(array) (sizeof(array) / sizeof((array)[0]))

/* What the arbiter answers: each GPU's message, its tenants, and its processes that no lease
 * covers.
 */
struct view {
	union fair_message *m; /* [n] */
	size_t n;
};

/* A GPU of the view. */
struct gpu_view {
	const struct fair_gpu *g;
	const union fair_message *rows; /* [n]: of tenants and processes */
	size_t n;
};

static const char *word(const char *const *words, size_t n, uint32_t i)
{
	return i < n ? words[i] : "?";
}

static int view_read(int fd, struct view *v, struct hes_err *err)
{
	union fair_message m, *grown;
	int rc = fair_client_send(fd, &m, fair_wire_begin(&m, FAIR_STATUS), err);

	v->n = 0;
	while (!rc) {
		rc = fair_client_receive(fd, &m, err);
		if (rc || m.head.type == FAIR_END)
			break;
		grown = hes_grow(v->m, v->n, sizeof(*grown));
		if (!grown)
			return hes_fail(err, -ENOMEM, "out of memory for %zu tenants", v->n);
		v->m = grown;
		v->m[v->n++] = m;
	}
	return rc;
}

/* @param at  0 at first. @return whether there is another GPU */
static bool view_next(const struct view *v, size_t *at, struct gpu_view *out)
{
	while (*at < v->n && v->m[*at].head.type != FAIR_GPU)
		++*at;
	if (*at == v->n)
		return false;
	*out = (struct gpu_view){ &v->m[*at].gpu, &v->m[*at + 1], 0 };
	for (++*at; *at < v->n && v->m[*at].head.type != FAIR_GPU; ++*at)
		out->n++;
	return true;
}

static void uuid_format(const uint8_t u[16], char out[48])
{
	int n = snprintf(out, 48, "GPU-");

	for (int i = 0; i < 16; i++)
		n += snprintf(out + n, (size_t)(48 - n), "%s%02x",
			      i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", u[i]);
}

/* Sums of a user's tenants, or of FAIR_ANY_USER. @param first  its first row */
static struct fair_tenant_row rows_sum(const struct gpu_view *v, uint32_t uid, size_t *first)
{
	struct fair_tenant_row sum = { .uid = uid };

	*first = v->n;
	for (size_t i = 0; i < v->n; i++) {
		const struct fair_tenant_row *r = &v->rows[i].tenant;

		if (r->head.type != FAIR_TENANT || (uid != FAIR_ANY_USER && r->uid != uid))
			continue;
		*first = *first == v->n ? i : *first;
		sum.user_weight = r->user_weight;
		sum.processes += r->processes;
		sum.slice_ns += r->slice_ns;
		sum.recent_ns += r->recent_ns;
		sum.recent_j += r->recent_j;
		sum.time_ns += r->time_ns;
		sum.energy_j += r->energy_j;
	}
	return sum;
}

static double percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

/* A cell that rows of users lack. */
static struct cell of_tenant(bool user, struct cell c)
{
	if (user)
		c.name = c.heading = NULL;
	return c;
}

/* Of a tenant or, with @user, of the sums of one. */
static void view_row(struct table *t, const struct fair_tenant_row *r,
		     const struct fair_tenant_row *all, bool user)
{
	char slice[32];

	snprintf(slice, sizeof(slice), "%.1f", (double)r->slice_ns * 1e-6);
	const struct cell row[] = {
		of_tenant(user, cell_text("tenant", "tenant", r->tenant)),
		cell_key(cell_count("uid", "uid", r->uid)),
		cell_count("processes", "procs", r->processes),
		of_tenant(user, cell_count("pid", NULL, r->pid)),
		of_tenant(user, cell_text("state", "state", word(states, N(states), r->state))),
		cell_real("weight", "weight", -4, user ? r->user_weight : r->weight),
		cell_shown(cell_real("slice_s", "slice ms", 0, (double)r->slice_ns * 1e-9), slice),
		of_tenant(user, cell_shown(cell_count("clock_mhz", "MHz", r->clock_mhz),
					   r->clock_mhz ? NULL : "-")),
		of_tenant(user, cell_real("power_w", "W", 1, r->power_w)),
		of_tenant(user, cell_text("power_source", "power",
					  word(sources, N(sources), r->power_source))),
		cell_real("recent_s", NULL, 0, (double)r->recent_ns * 1e-9),
		cell_real("recent_j", NULL, 0, r->recent_j),
		cell_real("recent_time_pct", "time %", 1,
			  percent((double)r->recent_ns, (double)all->recent_ns)),
		cell_real("recent_energy_pct", "energy %", 1, percent(r->recent_j, all->recent_j)),
		cell_real("time_s", "total s", 1, (double)r->time_ns * 1e-9),
		cell_real("energy_j", "total J", 0, r->energy_j),
		cell_real("time_pct", user ? NULL : "total time %", 1,
			  percent((double)r->time_ns, (double)all->time_ns)),
		cell_real("energy_pct", user ? NULL : "total energy %", 1,
			  percent(r->energy_j, all->energy_j)),
		of_tenant(user, cell_count("leases", NULL, (int64_t)r->leases)),
		of_tenant(user, cell_count("lost", "lost", (int64_t)r->lost)),
	};

	TABLE_ROW(t, row);
}

/* @param differ  there are several users, or one has a weight of its own */
static void view_tables(const struct gpu_view *v, struct table *tenants, struct table *users,
			bool *differ)
{
	size_t first, n = 0;
	const struct fair_tenant_row all = rows_sum(v, FAIR_ANY_USER, &first);

	*tenants = *users = (struct table){ 0 };
	*differ = false;
	for (size_t i = 0; i < v->n; i++) {
		const struct fair_tenant_row *r = &v->rows[i].tenant;
		struct fair_tenant_row sum;

		if (r->head.type != FAIR_TENANT)
			continue;
		view_row(tenants, r, &all, false);
		sum = rows_sum(v, r->uid, &first);
		if (first != i)
			continue;
		view_row(users, &sum, &all, true);
		*differ |= n++ || sum.user_weight != 1;
	}
}

static json_t *fairness_json(double time, double energy, double system)
{
	return json_pack("{s:o, s:o, s:o}", "time", cli_json_maybe(isfinite(time), time), "energy",
			 cli_json_maybe(isfinite(energy), energy), "system",
			 cli_json_maybe(isfinite(system), system));
}

static json_t *not_held_json(const struct gpu_view *v)
{
	json_t *list = json_array();

	for (size_t i = 0; i < v->n; i++) {
		const struct fair_not_held *o = &v->rows[i].not_held;

		if (o->head.type == FAIR_NOT_HELD)
			json_array_append_new(list, json_pack("{s:I, s:I, s:s}", "pid",
							      (json_int_t)o->pid, "uid",
							      (json_int_t)o->uid, "name", o->name));
	}
	return list;
}

static void not_held_print(const struct gpu_view *v)
{
	for (size_t i = 0; i < v->n; i++) {
		const struct fair_not_held *o = &v->rows[i].not_held;

		if (o->head.type == FAIR_NOT_HELD)
			printf("not held: process %" PRIu32 " (%s) of user %" PRIu32
			       " has a context, and no lease covers it\n",
			       o->pid, o->name, o->uid);
	}
}

static void fairness_print(const struct fair_gpu *g)
{
	const bool now = isfinite(g->fairness_system), total = isfinite(g->total_system);

	if (now)
		printf("fairness now: time %.3f, energy %.3f, system %.3f", g->fairness_time,
		       g->fairness_energy, g->fairness_system);
	else
		printf("fairness now: unknown");
	if (total)
		printf("; since tenants came: %.3f, %.3f, %.3f (1 is even)\n", g->total_time,
		       g->total_energy, g->total_system);
	else
		printf("; since tenants came: unknown, work ran without a lease\n");
}

static json_t *gpu_json(const struct gpu_view *v)
{
	const struct fair_gpu *g = v->g;
	struct table tenants, users;
	char uuid[48];
	bool differ;

	view_tables(v, &tenants, &users, &differ);
	uuid_format(g->gpu, uuid);
	return json_pack(
		"{s:s, s:s, s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:I, s:I, s:o, s:o, s:o, s:o, s:o, "
		"s:o}",
		"uuid", uuid, "name", g->name, "policy", g->policy, "phi", g->phi, "phi_fair",
		g->phi_fair, "interval_s", (double)g->interval_ns * 1e-9, "age_s",
		(double)g->age_ns * 1e-9, "wanted_s", (double)g->wanted_ns * 1e-9, "used_s",
		(double)g->used_ns * 1e-9, "leases", (json_int_t)g->leases, "clock_changes",
		(json_int_t)g->clock_changes, "energy_j",
		cli_json_maybe(isfinite(g->energy_j), g->energy_j), "fairness_recent",
		fairness_json(g->fairness_time, g->fairness_energy, g->fairness_system), "fairness",
		fairness_json(g->total_time, g->total_energy, g->total_system), "users",
		table_json(&users), "tenants", table_json(&tenants), "not_held", not_held_json(v));
}

static int view_print_json(const struct view *v)
{
	json_t *doc = json_array();
	struct gpu_view gpu;

	for (size_t at = 0; view_next(v, &at, &gpu);)
		json_array_append_new(doc, gpu_json(&gpu));
	return cli_print_json("heshare-fair-top", json_pack("{s:o}", "gpus", doc));
}

static void gpu_print(const struct gpu_view *v)
{
	const struct fair_gpu *g = v->g;
	struct table tenants, users;
	char uuid[48];
	bool differ;

	view_tables(v, &tenants, &users, &differ);
	uuid_format(g->gpu, uuid);
	printf("%s  %s  policy %s, phi %g", uuid, g->name, g->policy, g->phi);
	if (strcmp(g->policy, "etf") == 0)
		printf(" (energy can be equal up to phi %.3f)", g->phi_fair);
	printf(", interval %g ms\n", (double)g->interval_ns * 1e-6);
	printf("busy %.1f %% of %.1f s with work, %" PRIu64 " leases, %" PRIu64
	       " changes of clock\n",
	       percent((double)g->used_ns, (double)g->wanted_ns), (double)g->wanted_ns * 1e-9,
	       g->leases, g->clock_changes);
	fairness_print(g);
	not_held_print(v);
	cli_print_table(&tenants, stdout, 2);
	if (differ)
		cli_print_table(&users, stdout, 2);
	else
		table_free(&users);
}

static int view_print(const struct view *v, bool json)
{
	struct gpu_view gpu;

	if (json)
		return view_print_json(v);
	for (size_t at = 0; view_next(v, &at, &gpu);) {
		if (gpu.g != &v->m[0].gpu)
			putchar('\n');
		gpu_print(&gpu);
	}
	fflush(stdout);
	return 0;
}

/* A terminal is refreshed until Ctrl-C; anything else gets one look. */
static int top_show(int fd, struct view *v, const struct top_opts *o, struct hes_err *err)
{
	bool again = !o->once && !o->json && terminal_is_live(STDOUT_FILENO);
	const struct timespec second = { .tv_sec = 1 };
	int rc;

	do {
		rc = view_read(fd, v, err);
		if (rc)
			return rc;
		if (again)
			fputs("\033[H\033[2J", stdout);
		rc = view_print(v, o->json);
	} while (again && !rc && !nanosleep(&second, NULL));
	return rc;
}

static int top_run(const struct call *call, struct hes_err *err)
{
	const struct top_opts *o = call->opts;
	struct view v = { .n = 0 };
	char path[FAIR_SOCKET_MAX];
	int fd = -1, rc = fair_socket_find(cli_app(), o->socket, path, err);

	if (!rc) {
		fd = fair_client_open(path, err);
		rc = fd < 0 ? fd : top_show(fd, &v, o, err);
	}
	if (fd >= 0)
		close(fd);
	free(v.m);
	return rc;
}

const struct command cmd_fair_top = {
	.name = "fair top",
	.args = "",
	.summary = "show what tenants use now and have used",
	.text = "Shows what each tenant uses now and has used since it came; on a terminal once a "
		"second.",
	.example = "  heshare fair top --json",
	.opts = top_opts,
	.opts_size = sizeof(struct top_opts),
	.run = top_run,
};
