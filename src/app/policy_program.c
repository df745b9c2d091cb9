/*
 * policy_program.c - run a program that decides a plan; see policy_program.h.
 *
 * The request is a file in memory, so that a program that does not read it blocks nobody; the
 * answer is a pipe.
 */
#include "app/policy_program.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/signals.h"
#include "core/plan_json.h"
#include "launch/launch.h"
#include "launch/members.h"

#define FIRST_BYTES 65536
#define END_MS      10000 /* for killed processes to be gone */

/* --- a request as JSON (docs/formats/policy.md) --- */

static json_t *job_json(const struct hes_job *j)
{
	const uint32_t memory_mib = hes_job_memory_mib(j);
	json_t *o = json_pack("{s:s, s:s, s:I, s:I, s:o, s:I}", "id", j->id, "workload",
			      j->workload, "batch_size", (json_int_t)j->batch_size, "iterations",
			      (json_int_t)j->iterations, "memory_mib",
			      memory_mib ? json_integer((json_int_t)memory_mib) : json_null(),
			      "arrival_us", (json_int_t)j->arrival_us);

	if (j->has_deadline)
		json_object_set_new(o, "deadline_us", json_integer(j->deadline_us));
	if (j->user[0])
		json_object_set_new(o, "user", json_string(j->user));
	return o;
}

static json_t *running_json(const struct hes_request *r, size_t gpu)
{
	json_t *list = json_array();

	for (size_t i = 0; i < r->n_running; i++) {
		const struct hes_running *run = &r->running[i];

		if (run->gpu == gpu)
			json_array_append_new(list, json_pack("{s:s, s:I, s:I, s:I, s:I}", "job",
							      r->jobs->v[run->job].id, "sm_pct",
							      (json_int_t)run->sm_pct, "clock_mhz",
							      (json_int_t)run->clock_mhz,
							      "start_us", (json_int_t)run->start_us,
							      "end_us", (json_int_t)run->end_us));
	}
	return list;
}

static json_t *type_json(const struct hes_gpu_type *g)
{
	json_t *clocks = json_array();

	for (size_t i = 0; i < g->n_clocks; i++)
		json_array_append_new(clocks, json_integer(g->clocks_mhz[i]));
	return json_pack("{s:s, s:b, s:I, s:I, s:I, s:f, s:f, s:I, s:o}", "gpu_type", g->name,
			 "mps", !g->alone, "sm_count", (json_int_t)g->sm_count, "memory_mib",
			 (json_int_t)g->memory_mib, "memory_bandwidth_gbs",
			 (json_int_t)g->memory_bandwidth_gbs, "power_limit_w",
			 g->power_limit_mw * 1e-3, "idle_power_w", g->idle_power_mw * 1e-3,
			 "clock_default_mhz", (json_int_t)g->clock_default_mhz, "clocks_mhz",
			 clocks);
}

static json_t *profile_json(const struct hes_profile *p)
{
	return json_pack("{s:s, s:s, s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "workload",
			 p->workload, "gpu_type", p->gpu_type, "batch_size",
			 (json_int_t)p->batch_size, "memory_mib", (json_int_t)p->memory_mib,
			 "clock_mhz", (json_int_t)p->clock_mhz, "iteration_us", p->iteration_us,
			 "power_w", p->power_mw * 1e-3, "busy", p->busy, "sm_util", p->sm_util,
			 "dram_util", p->dram_util, "l2_util", p->l2_util, "start_s", p->start_s);
}

static int by_kind(const void *a, const void *b)
{
	const struct hes_job *x = *(const struct hes_job *const *)a,
			     *y = *(const struct hes_job *const *)b;
	const int order = strcmp(x->workload, y->workload);

	return order ? order : (x->batch_size > y->batch_size) - (x->batch_size < y->batch_size);
}

/* A profile for each kind of the waiting jobs on each type on which it can be known, batch sizes
 * interpolated. */
static json_t *profiles_json(const struct hes_request *r, const struct hes_gpu_type *const *types,
			     size_t n_types)
{
	const struct hes_job **kinds = calloc(r->n_waiting + 1, sizeof(*kinds));
	json_t *list = kinds ? json_array() : NULL;

	for (size_t i = 0; kinds && i < r->n_waiting; i++)
		kinds[i] = &r->jobs->v[r->waiting[i]];
	if (kinds)
		qsort(kinds, r->n_waiting, sizeof(*kinds), by_kind);
	for (size_t i = 0; kinds && i < r->n_waiting; i++)
		for (size_t t = 0; t < n_types && (!i || by_kind(&kinds[i - 1], &kinds[i])); t++) {
			struct hes_profile p;

			if (!hes_profile_find(r->profiles, kinds[i]->workload, kinds[i]->batch_size,
					      types[t]->name, &p, NULL))
				json_array_append_new(list, profile_json(&p));
		}
	free(kinds);
	return list;
}

static json_t *request_json(const struct hes_request *r)
{
	const struct hes_gpu_type **types = calloc(r->fleet->n + 1, sizeof(*types));
	const size_t n_types = types ? hes_fleet_types(r->fleet, types, r->fleet->n) : 0;
	json_t *jobs = json_array(), *gpus = json_array(), *about = json_array();
	json_t *profiles = types ? profiles_json(r, types, n_types) : NULL;

	for (size_t i = 0; i < r->n_waiting; i++)
		json_array_append_new(jobs, job_json(&r->jobs->v[r->waiting[i]]));
	for (size_t g = 0; g < r->fleet->n; g++)
		json_array_append_new(gpus, json_pack("{s:s, s:s, s:I, s:o}", "gpu",
						      r->fleet->gpus[g].name, "gpu_type",
						      r->fleet->gpus[g].type->name, "free_at_us",
						      (json_int_t)r->free_at_us[g], "running",
						      running_json(r, g)));
	for (size_t t = 0; t < n_types; t++)
		json_array_append_new(about, type_json(types[t]));
	free(types);
	return json_pack("{s:s, s:i, s:I, s:I, s:o, s:o, s:o, s:o}", "format", "heshare-request",
			 "version", 2, "seed", (json_int_t)r->seed, "now_us", (json_int_t)r->now_us,
			 "jobs", jobs, "gpus", gpus, "gpu_types", about, "profiles", profiles);
}

/* --- the program --- */

/* What is known of a program while it runs. */
struct running {
	const char *path;
	char mark[64];       /* in its environment and in that of its children */
	int64_t deadline_ms; /* on the monotonic clock */
	pid_t pid;
	int out; /* its output */
};

/* @return a descriptor of the request as a text, at its start; negative errno */
static int write_request(const struct hes_request *r)
{
	json_t *doc = request_json(r);
	int fd = doc ? memfd_create("request", MFD_CLOEXEC) : -1, rc = fd < 0 ? -ENOMEM : 0;

	if (!rc &&
	    (json_dumpfd(doc, fd, JSON_COMPACT | JSON_REAL_PRECISION(9)) || lseek(fd, 0, SEEK_SET)))
		rc = -EIO;
	json_decref(doc);
	if (rc && fd >= 0)
		close(fd);
	return rc ? rc : fd;
}

/* The environment with a mark of its own, by which its processes are found; free() it. */
static char **marked_environment(char *mark)
{
	const size_t name = strlen(HES_MARK_VARIABLE "=");
	char **v;
	size_t n = 0, kept = 0;

	while (environ[n])
		n++;
	v = calloc(n + 2, sizeof(*v));
	for (size_t i = 0; v && i < n; i++)
		if (strncmp(environ[i], HES_MARK_VARIABLE "=", name) != 0)
			v[kept++] = environ[i];
	if (v)
		v[kept] = mark;
	return v;
}

/* Signals as a program expects them; its input and output are ours. */
static int program_spawn(struct running *r, int in, int out)
{
	static atomic_uint count;
	char *argv[] = { (char *)(uintptr_t)r->path, NULL }, variable[128], **environment;
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	int rc;

	snprintf(r->mark, sizeof(r->mark), "policy-%d-%" PRId64 "-%u", (int)getpid(), hes_wall_us(),
		 atomic_fetch_add(&count, 1));
	snprintf(variable, sizeof(variable), HES_MARK_VARIABLE "=%s", r->mark);
	environment = marked_environment(variable);
	if (!environment)
		return -ENOMEM;
	posix_spawn_file_actions_init(&files);
	posix_spawnattr_init(&attributes);
	rc = posix_spawn_file_actions_adddup2(&files, in, STDIN_FILENO);
	if (!rc)
		rc = posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
	hes_signals_spawn(&attributes, 0);
	if (!rc)
		rc = posix_spawnp(&r->pid, r->path, &files, &attributes, argv, environment);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&files);
	free(environment);
	return -rc;
}

/* Wait until @fd is readable. @return 0; -ETIMEDOUT; -errno */
static int await(const struct running *r, int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	for (;;) {
		const int64_t left = r->deadline_ms - hes_monotonic_ms();
		const int n = left > 0 ? poll(&p, 1, left < INT_MAX ? (int)left : INT_MAX) : 0;

		if (n > 0)
			return 0;
		if (n == 0 && left <= INT_MAX)
			return -ETIMEDOUT;
		if (n < 0 && errno != EINTR)
			return -errno;
	}
}

/* All that the program writes. @return 0, with *text to be freed; -EFBIG more than a plan has;
 * -ETIMEDOUT; -ENOMEM; -errno */
static int program_read_answer(const struct running *r, char **text, size_t *len)
{
	size_t room = FIRST_BYTES;
	char *v = malloc(room), *more;
	int rc = v ? 0 : -ENOMEM;
	ssize_t got;

	*len = 0;
	while (!rc && !(rc = await(r, r->out)) && (got = read(r->out, v + *len, room - *len))) {
		if (got < 0)
			rc = errno == EINTR ? 0 : -errno;
		else
			*len += (size_t)got;
		if (!rc && *len > HES_PLAN_MAX_BYTES)
			rc = -EFBIG;
		if (rc || *len < room)
			continue;
		room *= 2;
		more = realloc(v, room);
		if (more)
			v = more;
		else
			rc = -ENOMEM;
	}
	if (rc)
		free(v);
	else
		*text = v;
	return rc;
}

/* The program may go on after the end of its output. */
static int await_end(const struct running *r)
{
	const int fd = (int)syscall(SYS_pidfd_open, r->pid, 0);
	const int rc = fd < 0 ? -errno : await(r, fd);

	if (fd >= 0)
		close(fd);
	return rc == -ENOSYS ? 0 : rc; /* an old kernel: wait for it without a limit */
}

static int program_failed(int rc, double limit_s, struct hes_err *err)
{
	if (rc == -ETIMEDOUT)
		return hes_fail(err, rc,
				"it had no plan after %g s; it and its processes were ended "
				"(--exec-limit)",
				limit_s);
	if (rc == -EFBIG)
		return hes_fail(err, rc, "its answer is larger than 1024 MiB");
	return hes_fail(err, rc, "its answer cannot be read: %s", strerror(-rc));
}

/* @return 0, with *text to be freed, when the program has ended well */
static int program_run(const struct policy_program *p, int in, char **text, size_t *len,
		       struct hes_err *err)
{
	struct running r = { .path = p->path,
			     .deadline_ms = hes_monotonic_ms() + (int64_t)(p->limit_s * 1e3) };
	const struct hes_member_rule rule = { .mark = r.mark, .cgroup = "", .mps_pipe = "" };
	int ends[2], status = 0, rc;

	if (pipe2(ends, O_CLOEXEC))
		return hes_fail(err, -errno, "a pipe: %s", strerror(errno));
	r.out = ends[0];
	rc = program_spawn(&r, in, ends[1]);
	close(ends[1]);
	if (rc) {
		close(r.out);
		return hes_fail(err, rc, "cannot run %s: %s", p->path, strerror(-rc));
	}
	*text = NULL;
	rc = program_read_answer(&r, text, len);
	close(r.out);
	if (!rc)
		rc = await_end(&r);
	if (rc) {
		kill(r.pid, SIGKILL);
		hes_members_end(&rule, 1, SIGKILL, END_MS, NULL);
	}
	while (waitpid(r.pid, &status, 0) < 0 && errno == EINTR)
		;
	if (rc)
		program_failed(rc, p->limit_s, err);
	else if (WIFSIGNALED(status))
		rc = hes_fail(err, -EPROTO, "it was ended by signal %d", WTERMSIG(status));
	else if (status)
		rc = hes_fail(err, -EPROTO,
			      "it ended with exit status %d; a program that has a plan ends with 0",
			      WEXITSTATUS(status));
	if (rc) {
		free(*text);
		*text = NULL;
	}
	return rc;
}

static int decide(void *ctx, const struct hes_request *r, const struct hes_jobs *waiting,
		  struct hes_plan *out, struct hes_err *err)
{
	const struct policy_program *p = ctx;
	int in = write_request(r), rc;
	json_t *doc;
	char *text = NULL;
	size_t len = 0;

	if (in < 0)
		return hes_fail(err, in, "no memory for the request: %s", strerror(-in));
	rc = program_run(p, in, &text, &len, err);
	close(in);
	if (rc)
		return rc;
	rc = hes_json_parse("its answer", text, len, &doc, err);
	free(text);
	if (rc)
		return rc;
	rc = hes_plan_read(doc, "its answer", r->fleet, waiting, out, err);
	json_decref(doc);
	return rc;
}

bool policy_program_is(const char *name)
{
	return strncmp(name, POLICY_PROGRAM, strlen(POLICY_PROGRAM)) == 0;
}

struct policy_program *policy_program_new(const char *name, double limit_s, struct hes_err *err)
{
	const char *path = name + strlen(POLICY_PROGRAM), *slash = strrchr(path, '/'),
		   *file = slash ? slash + 1 : path;
	struct policy_program *p;

	if (!*file) {
		hes_fail(err, -EINVAL, "policy \"%.80s\" names no program; exec:./PROGRAM is right",
			 name);
		return NULL;
	}
	p = calloc(1, sizeof(*p));
	if (!p || !(p->path = strdup(path))) {
		free(p);
		hes_fail(err, -ENOMEM, "out of memory");
		return NULL;
	}
	p->limit_s = limit_s;
	snprintf(p->name, sizeof(p->name), POLICY_PROGRAM "%.40s", file);
	p->policy = (struct hes_policy){
		.name = p->name,
		.summary = p->path,
		.external = decide,
		.external_ctx = p,
		.max_work = UINT64_MAX,
	};
	return p;
}

void policy_program_free(struct policy_program *p)
{
	if (p)
		free(p->path);
	free(p);
}
