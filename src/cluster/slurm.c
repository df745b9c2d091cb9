/*
 * slurm.c - the Slurm job that this process is in; see slurm.h.
 *
 * Slurm is queried by its commands, which are the same in all versions.
 */
#include "cluster/slurm.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/num.h"
#include "gpu/spawn.h"

#define WAIT_MS         30000
#define NODES_MAX_BYTES (1 << 20)
#define ERRORS_BYTES    4096
#define INTERACTIVE_STEP \
	"4294967290" /* the shell of salloc with LaunchParameters=use_interactive_step */

static const char *job_id(const struct app *app)
{
	const char *id = app_variable(app, "SLURM_JOB_ID");

	return id && *id ? id : NULL;
}

bool slurm_is_job(const struct app *app)
{
	const char *step = app_variable(app, "SLURM_STEP_ID");

	return job_id(app) && (!step || strcmp(step, INTERACTIVE_STEP) == 0);
}

size_t slurm_count_nodes(const struct app *app)
{
	const char *text = app_variable(app, "SLURM_JOB_NUM_NODES");
	uint64_t n = 0;

	if (!job_id(app) || !text ||
	    hes_parse_u64("SLURM_JOB_NUM_NODES", text, 1, 1000000, &n, NULL))
		return 0;
	return (size_t)n;
}

/* Its first line that is an error, else the first. */
static const char *error_line(char *text)
{
	char *at = strstr(text, "error:");

	at = at ? at : text;
	while (at > text && at[-1] != '\n')
		at--;
	at[strcspn(at, "\n")] = '\0';
	return *at ? at : "failed without a message";
}

int slurm_call(const char *const argv[], char *out, size_t size, struct hes_err *err)
{
	static const char *const none[] = { NULL };
	char errors[ERRORS_BYTES] = "";
	int status = 0, rc = hes_spawn((char *const *)(uintptr_t)argv, none, "", errors,
				       sizeof(errors), WAIT_MS, out, size, &status, err);

	if (rc == -ENOENT)
		hes_fail(err, rc, "%s: not found; Slurm's commands must be in PATH", argv[0]);
	if (!rc && status)
		rc = hes_fail(err, -EIO, "%s: %.200s", argv[0], error_line(errors));
	return rc;
}

bool slurm_name_is_good(const char *name)
{
	static const char first[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:";
	const char *host = strchr(name, '@');

	/* "/" and a number of five digits at most. */
	if (!*name || strlen(name) + 7 > sizeof(slurm_name) || !strchr(first, *name) ||
	    (host && (!host[1] || !strchr(first, host[1]) || strchr(host + 1, '@'))))
		return false;
	for (; *name; name++)
		if (!strchr(first, *name) && !strchr(".-+@", *name))
			return false;
	return true;
}

static int split_names(char *text, slurm_name **out, size_t *n, struct hes_err *err)
{
	size_t lines = 0;
	slurm_name *v;

	for (const char *c = text; *c; c++)
		lines += *c == '\n';
	v = calloc(lines + 2, sizeof(*v));
	if (!v)
		return hes_fail(err, -ENOMEM, "out of memory for %zu nodes", lines);
	*n = 0;
	for (char *rest = NULL, *name = strtok_r(text, "\n", &rest); name;
	     name = strtok_r(NULL, "\n", &rest)) {
		if (!slurm_name_is_good(name)) {
			free(v);
			return hes_fail(err, -EINVAL,
					"scontrol: \"%.60s\" is no name of a node; one has at most "
					"%zu letters, digits and .-_",
					name, sizeof(v[0]) - 7);
		}
		strcpy(v[(*n)++], name);
	}
	*out = v;
	return 0;
}

int slurm_nodes(const struct app *app, slurm_name **out, size_t *n, struct hes_err *err)
{
	const char *list = app_variable(app, "SLURM_JOB_NODELIST");
	const char *const argv[] = { "scontrol", "show", "hostnames", list, NULL };
	char *text;
	int rc;

	if (!job_id(app) || !list)
		return hes_fail(err, -ENOENT,
				"not in a Slurm job: SLURM_JOB_ID is not set; heshare pilot or "
				"sbatch starts one");
	text = calloc(1, NODES_MAX_BYTES);
	rc = text ? slurm_call(argv, text, NODES_MAX_BYTES, err)
		  : hes_fail(err, -ENOMEM, "out of memory for the names of nodes");
	if (!rc)
		rc = split_names(text, out, n, err);
	free(text);
	return rc;
}

void slurm_drained(const struct app *app, char *out, size_t size)
{
	const char *list = app_variable(app, "SLURM_JOB_NODELIST");
	const char *const argv[] = { "sinfo", "--noheader",          "--Node",      "--nodes",
				     list,    "--states=drain,fail", "--format=%N", NULL };

	if (!list || slurm_call(argv, out, size, NULL))
		*out = '\0';
}

double slurm_parse_time(const char *text)
{
	unsigned long days = 0, v[3] = { 0 }, n = 0;
	const char *at = text, *dash = strchr(text, '-');
	char *end;

	if (*text < '0' || *text > '9')
		return -1;
	if (dash) {
		days = strtoul(at, &end, 10);
		if (end != dash)
			return -1;
		at = dash + 1;
	}
	do {
		if (*at < '0' || *at > '9' || n == 3)
			return -1;
		v[n] = strtoul(at, &end, 10);
		if (n && v[n] >= 60)
			return -1;
		n++;
		at = end + 1;
	} while (*end == ':');
	if (*end)
		return -1;
	/* With days: hours, then minutes, seconds. Else one number is minutes, two are minutes and
	 * seconds. */
	if (dash)
		return (double)(days * 86400 + v[0] * 3600 + v[1] * 60 + v[2]);
	return n == 3 ? (double)(v[0] * 3600 + v[1] * 60 + v[2]) : (double)(v[0] * 60 + v[1]);
}

double slurm_seconds_left(const struct app *app)
{
	const double now_s = (double)hes_wall_us() * 1e-6;
	const char *given = app_variable(app, "SLURM_JOB_END_TIME");
	const char *id = job_id(app);
	char text[256] = "";
	const char *const argv[] = { "squeue", "--noheader", "--jobs", id, "--format=%L", NULL };
	uint64_t end_s;
	double left_s;

	if (!id)
		return -1;
	if (given && !hes_parse_u64("SLURM_JOB_END_TIME", given, 1, INT64_MAX, &end_s, NULL))
		return (double)end_s > now_s ? (double)end_s - now_s : 0;
	if (slurm_call(argv, text, sizeof(text), NULL))
		return -1;
	text[strcspn(text, "\n")] = '\0';
	left_s = slurm_parse_time(text);
	if (left_s >= 0) {
		snprintf(text, sizeof(text), "%.0f", now_s + left_s);
		app_set_variable(app, "SLURM_JOB_END_TIME", text);
	}
	return left_s;
}
