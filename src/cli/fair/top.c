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

#define MAX_GPUS 64

static const char *const states[] = { "idle", "waiting", "running", "draining", "lost" };
static const char *const sources[] = { "assumed", "profiled", "measured" };

#define N(array) (sizeof(array) / sizeof((array)[0]))

/* What the arbiter answers. */
struct view {
	struct fair_gpu gpus[MAX_GPUS];
	size_t n_gpus;
	struct fair_tenant_row *rows;
	size_t n_rows;
};

static const char *word(const char *const *words, size_t n, uint32_t i)
{
	return i < n ? words[i] : "?";
}

static int row_add(struct view *v, const struct fair_tenant_row *r, struct hes_err *err)
{
	struct fair_tenant_row *rows = hes_grow(v->rows, v->n_rows, sizeof(*rows));

	if (!rows)
		return hes_fail(err, -ENOMEM, "out of memory for %zu tenants", v->n_rows);
	v->rows = rows;
	v->rows[v->n_rows++] = *r;
	return 0;
}

static int view_read(int fd, struct view *v, struct hes_err *err)
{
	union fair_message m;
	int rc = fair_client_send(fd, &m, fair_wire_begin(&m, FAIR_STATUS), err);

	v->n_gpus = v->n_rows = 0;
	while (!rc) {
		rc = fair_client_receive(fd, &m, err);
		if (rc || m.head.type == FAIR_END)
			break;
		if (m.head.type == FAIR_GPU && v->n_gpus < MAX_GPUS)
			v->gpus[v->n_gpus++] = m.gpu;
		else if (m.head.type == FAIR_TENANT)
			rc = row_add(v, &m.tenant, err);
	}
	return rc;
}

static void uuid_format(const uint8_t u[16], char out[48])
{
	int n = snprintf(out, 48, "GPU-");

	for (int i = 0; i < 16; i++)
		n += snprintf(out + n, (size_t)(48 - n), "%s%02x",
			      i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", u[i]);
}

static bool row_is_of(const struct fair_tenant_row *r, const struct fair_gpu *g)
{
	return memcmp(r->gpu, g->gpu, sizeof(r->gpu)) == 0;
}

struct shares {
	double recent_ns, recent_j, time_ns, energy_j;
};

static struct shares shares_of(const struct view *v, const struct fair_gpu *g)
{
	struct shares s = { 0, 0, 0, 0 };

	for (size_t i = 0; i < v->n_rows; i++)
		if (row_is_of(&v->rows[i], g)) {
			s.recent_ns += (double)v->rows[i].recent_ns;
			s.recent_j += v->rows[i].recent_j;
			s.time_ns += (double)v->rows[i].time_ns;
			s.energy_j += v->rows[i].energy_j;
		}
	return s;
}

static double percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

static json_t *row_json(const struct fair_tenant_row *r, const struct shares *all)
{
	return json_pack("{s:s, s:I, s:I, s:I, s:s, s:I, s:f, s:f, s:s, s:f, s:f, s:f, s:f, s:f, "
			 "s:f, s:f, s:f, s:f, s:I, s:I}",
			 "tenant", r->tenant, "uid", (json_int_t)r->uid, "processes",
			 (json_int_t)r->processes, "pid", (json_int_t)r->pid, "state",
			 word(states, N(states), r->state), "clock_mhz", (json_int_t)r->clock_mhz,
			 "weight", r->weight, "power_w", r->power_w, "power_source",
			 word(sources, N(sources), r->power_source), "slice_ms",
			 (double)r->slice_ns * 1e-6, "time_s", (double)r->time_ns * 1e-9,
			 "energy_j", r->energy_j, "time_pct",
			 percent((double)r->time_ns, all->time_ns), "energy_pct",
			 percent(r->energy_j, all->energy_j), "recent_s",
			 (double)r->recent_ns * 1e-9, "recent_j", r->recent_j, "recent_time_pct",
			 percent((double)r->recent_ns, all->recent_ns), "recent_energy_pct",
			 percent(r->recent_j, all->recent_j), "leases", (json_int_t)r->leases,
			 "lost", (json_int_t)r->lost);
}

static json_t *fairness_json(double time, double energy, double system)
{
	return json_pack("{s:f, s:f, s:f}", "time", time, "energy", energy, "system", system);
}

static json_t *gpu_json(const struct view *v, const struct fair_gpu *g)
{
	struct shares all = shares_of(v, g);
	json_t *rows = json_array();
	char uuid[48];

	uuid_format(g->gpu, uuid);
	for (size_t i = 0; i < v->n_rows; i++)
		if (row_is_of(&v->rows[i], g))
			json_array_append_new(rows, row_json(&v->rows[i], &all));
	return json_pack(
		"{s:s, s:s, s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:I, s:I, s:o, s:s, s:o, s:o, s:o}",
		"uuid", uuid, "name", g->name, "policy", g->policy, "phi", g->phi, "phi_fair",
		g->phi_fair, "interval_ms", (double)g->interval_ns * 1e-6, "age_s",
		(double)g->age_ns * 1e-9, "wanted_s", (double)g->wanted_ns * 1e-9, "used_s",
		(double)g->used_ns * 1e-9, "leases", (json_int_t)g->leases, "clock_changes",
		(json_int_t)g->clock_changes, "energy_j",
		cli_json_maybe(isfinite(g->energy_j), g->energy_j), "power_source",
		word(sources, N(sources), g->power_source), "fairness_recent",
		fairness_json(g->fairness_time, g->fairness_energy, g->fairness_system), "fairness",
		fairness_json(g->total_time, g->total_energy, g->total_system), "tenants", rows);
}

static int view_print_json(const struct view *v)
{
	json_t *doc = json_array();

	for (size_t i = 0; i < v->n_gpus; i++)
		json_array_append_new(doc, gpu_json(v, &v->gpus[i]));
	return cli_print_json("heshare-fair-top", json_pack("{s:o}", "gpus", doc));
}

static void row_print(const struct fair_tenant_row *r, const struct shares *all)
{
	char clock[16] = "-";

	if (r->clock_mhz)
		snprintf(clock, sizeof(clock), "%" PRIu32, r->clock_mhz);
	fputs("  ", stdout);
	hes_visible_put(stdout, 16, r->tenant);
	printf(" %6" PRIu32 " %5" PRIu32
	       " %-8s %6.4g %7.1f %6s %7.1f %-8s %6.1f %6.1f %9.1f %10.0f %6.1f %6.1f %5" PRIu64
	       "\n",
	       r->uid, r->processes, word(states, N(states), r->state), r->weight,
	       (double)r->slice_ns * 1e-6, clock, r->power_w,
	       word(sources, N(sources), r->power_source),
	       percent((double)r->recent_ns, all->recent_ns), percent(r->recent_j, all->recent_j),
	       (double)r->time_ns * 1e-9, r->energy_j, percent((double)r->time_ns, all->time_ns),
	       percent(r->energy_j, all->energy_j), r->lost);
}

static void gpu_print(const struct view *v, const struct fair_gpu *g)
{
	struct shares all = shares_of(v, g);
	char uuid[48];

	uuid_format(g->gpu, uuid);
	printf("%s  %s  policy %s, phi %g", uuid, g->name, g->policy, g->phi);
	if (strcmp(g->policy, "etf") == 0)
		printf(" (energy can be equal up to %.3f)", g->phi_fair);
	printf(", interval %g ms\n", (double)g->interval_ns * 1e-6);
	printf("busy %.1f %% of %.1f s with work, %" PRIu64 " leases, %" PRIu64
	       " changes of clock, power %s\n",
	       percent((double)g->used_ns, (double)g->wanted_ns), (double)g->wanted_ns * 1e-9,
	       g->leases, g->clock_changes, word(sources, N(sources), g->power_source));
	printf("fairness now: time %.3f, energy %.3f, system %.3f; since tenants came: %.3f, %.3f, "
	       "%.3f (1 is even)\n",
	       g->fairness_time, g->fairness_energy, g->fairness_system, g->total_time,
	       g->total_energy, g->total_system);
	printf("  %-16s %6s %5s %-8s %6s %7s %6s %7s %-8s %6s %6s %9s %10s %6s %6s %5s\n", "tenant",
	       "uid", "procs", "state", "weight", "slice", "MHz", "W", "power", "time%", "joule%",
	       "total s", "total J", "time%", "joule%", "lost");
	for (size_t i = 0; i < v->n_rows; i++)
		if (row_is_of(&v->rows[i], g))
			row_print(&v->rows[i], &all);
}

static int view_print(const struct view *v, bool json)
{
	if (json)
		return view_print_json(v);
	for (size_t i = 0; i < v->n_gpus; i++) {
		if (i)
			putchar('\n');
		gpu_print(v, &v->gpus[i]);
	}
	fflush(stdout);
	return 0;
}

/* A terminal is refreshed until Ctrl-C; anything else gets one look. */
static int top_run(int fd, struct view *v, const struct fair_opts *o, struct hes_err *err)
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

int fair_top(const struct fair_opts *o, int n_args, char **args)
{
	struct view v = { .n_gpus = 0 };
	char path[FAIR_SOCKET_MAX];
	struct hes_err err;
	int fd = -1, rc = fair_socket_find(o->socket, path, &err);

	(void)n_args;
	(void)args;
	if (!rc) {
		fd = fair_client_open(path, &err);
		rc = fd < 0 ? fd : top_run(fd, &v, o, &err);
	}
	if (fd >= 0)
		close(fd);
	free(v.rows);
	return rc < 0 ? cli_fail("fair top", &err) : rc;
}
