/*
 * launcher.c - start heshare on other nodes; see launcher.h.
 *
 * srun: a step that shares the job's resources with other steps (--overlap) and is not bound to
 * some of its cores. When a node fails, the other nodes' steps go on.
 */
#include "cluster/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "app/jobs_load.h"
#include "base/file.h"
#include "base/signals.h"

#define ARGS_MAX        64
#define HOSTS_MAX_BYTES (1 << 20)

extern char **environ;

/* --- which nodes --- */

static int read_hosts(const char *path, struct launcher *l, struct hes_err *err)
{
	char *text = NULL, *rest = NULL;
	size_t len = 0;
	int rc = hes_file_slurp(path, HOSTS_MAX_BYTES, &text, &len, err);

	if (rc)
		return rc;
	l->nodes = calloc(len + 1, sizeof(*l->nodes));
	if (!l->nodes)
		rc = hes_fail(err, -ENOMEM, "%s: out of memory", path);
	for (char *line = strtok_r(text, "\n", &rest); line && !rc;
	     line = strtok_r(NULL, "\n", &rest)) {
		char *name = line + strspn(line, " \t"), *end;

		name[strcspn(name, "#\r")] = '\0';
		for (end = name + strlen(name); end > name && strchr(" \t", end[-1]);)
			*--end = '\0';
		if (!*name)
			continue;
		if (strpbrk(name, " \t") || !slurm_name_is_good(name))
			rc = hes_fail(
				err, -EINVAL,
				"%s: \"%.60s\" is no name of a host; a line is HOST or USER@HOST",
				path, name);
		else if (launcher_find(l, name) >= 0)
			rc = hes_fail(err, -EEXIST, "%s: host %s is there twice", path, name);
		else
			strcpy(l->nodes[l->n++], name);
	}
	if (!rc && !l->n)
		rc = hes_fail(err, -ENOENT, "%s: no host in it; a line is HOST or USER@HOST", path);
	free(text);
	return rc;
}

/*
 * A step without a request for GPUs inherits the job's. Of --gpus-per-node it gets all GPUs of its
 * node. It is refused on one node with --gpus, the total of all nodes, and gets the GPUs of one
 * task with --gpus-per-task.
 */
static int check_request(const struct launcher *l, struct hes_err *err)
{
	const char *tasks = app_variable(l->app, "SLURM_TASKS_PER_NODE"), *option = NULL;

	if (app_variable(l->app, "SLURM_GPUS"))
		option = "--gpus";
	else if (app_variable(l->app, "SLURM_GPUS_PER_TASK") && tasks &&
		 (strncmp(tasks, "1(x", 3) != 0 || strchr(tasks, ',')))
		option = "--gpus-per-task";
	if (l->n < 2 || !option)
		return 0;
	return hes_fail(err, -EINVAL,
			"the Slurm job asks for GPUs by %s, so a runner does not get those of its "
			"node: use --gpus-per-node",
			option);
}

/* srun would read them from the script's environment, and distribute a runner's GPUs. */
static void forget_distribution(const struct app *app)
{
	static const char *const names[] = { "SLURM_GPUS_PER_TASK", "SLURM_NTASKS_PER_GPU",
					     "SLURM_GPU_BIND", "SLURM_TRES_PER_TASK",
					     "SLURM_TRES_BIND" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		app_set_variable(app, names[i], NULL);
}

int launcher_check(const char *how, struct hes_err *err)
{
	return strcmp(how, "slurm") == 0 || strncmp(how, "ssh:", 4) == 0
		       ? 0
		       : hes_fail(err, -EINVAL,
				  "--launcher: \"%.60s\" is neither slurm nor ssh:HOSTFILE", how);
}

int launcher_open(const struct app *app, const char *how, const char *program, struct launcher *out,
		  struct hes_err *err)
{
	struct launcher l = { .app = app };
	char path[PATH_MAX];
	int rc;

	l.ssh = how && strncmp(how, "ssh:", 4) == 0;
	l.program = strdup(program ? program : app_program_file(path));
	if (!l.program)
		rc = hes_fail(err, -ENOMEM, "out of memory");
	else if (l.ssh)
		rc = read_hosts(how + 4, &l, err);
	else
		rc = slurm_nodes(app, &l.nodes, &l.n, err);
	if (!rc && !l.ssh)
		rc = check_request(&l, err);
	if (!rc && !l.ssh)
		forget_distribution(app);
	if (rc)
		launcher_close(&l);
	else
		*out = l;
	return rc;
}

void launcher_close(struct launcher *l)
{
	free((void *)(uintptr_t)l->program);
	free(l->nodes);
	*l = (struct launcher){ 0 };
}

long launcher_find(const struct launcher *l, const char *name)
{
	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->nodes[i], name) == 0)
			return (long)i;
	return -1;
}

/* --- started --- */

/* The command as one line for the shell of the other host, in the same folder. */
static char *remote_line(const struct launcher *l, const char *const *args)
{
	char here[PATH_MAX], *line = NULL;
	size_t size;
	FILE *f = getcwd(here, sizeof(here)) ? open_memstream(&line, &size) : NULL;

	if (!f)
		return NULL;
	fputs("cd ", f);
	app_put_quoted(f, here);
	fputs(" && exec ", f);
	app_put_quoted(f, l->program);
	for (size_t i = 0; args[i]; i++) {
		fputc(' ', f);
		app_put_quoted(f, args[i]);
	}
	if (fclose(f)) {
		free(line);
		return NULL;
	}
	return line;
}

/* @param most  bytes that the process may write to a file; 0: no limit of ours */
static int spawn_group(char *const *argv, int out, int errors, uint64_t most, pid_t *pid)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	struct rlimit limit;
	int rc;

	posix_spawn_file_actions_init(&files);
	posix_spawnattr_init(&attr);
	posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	if (out < 0)
		posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	else
		posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&files, errors, STDERR_FILENO);
	posix_spawnattr_setpgroup(&attr, 0);
	hes_signals_spawn(&attr, POSIX_SPAWN_SETPGROUP);
	rc = posix_spawnp(pid, argv[0], &files, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&files);
	/* What it has written until now counts, too. */
	if (!rc && most && !prlimit(*pid, RLIMIT_FSIZE, NULL, &limit) && limit.rlim_cur > most) {
		limit.rlim_cur = most;
		prlimit(*pid, RLIMIT_FSIZE, &limit, NULL);
	}
	return -rc;
}

/* @return number of words */
static size_t srun_words(const struct launcher *l, long node, char number[2][48], const char **v)
{
	size_t n = 0;

	snprintf(number[0], sizeof(number[0]), "--nodes=%zu", node < 0 ? l->n : 1);
	snprintf(number[1], sizeof(number[1]), "--ntasks=%zu", node < 0 ? l->n : 1);
	v[n++] = "srun";
	v[n++] = "--overlap";
	v[n++] = number[0];
	v[n++] = number[1];
	v[n++] = "--ntasks-per-node=1";
	v[n++] = "--export=ALL";
	v[n++] = "--cpu-bind=none";
	v[n++] = "--kill-on-bad-exit=0";
	v[n++] = "--no-kill";
	if (node >= 0) {
		v[n++] = "--nodelist";
		v[n++] = l->nodes[node];
	}
	v[n++] = l->program;
	return n;
}

/* A host that does not answer for a minute is gone. */
static const char *const ssh_words[] = {
	"ssh",
	"-o",
	"BatchMode=yes",
	"-o",
	"ConnectTimeout=20",
	"-o",
	"ServerAliveInterval=15",
	"-o",
	"ServerAliveCountMax=4",
	"--",
};

pid_t launcher_start(const struct launcher *l, long node, const char *const *args, int out,
		     int errors, uint64_t most, struct hes_err *err)
{
	const char *v[ARGS_MAX + 1];
	char number[2][48], *line = NULL;
	size_t n = 0;
	pid_t pid = 0;
	int rc = 0;

	if (l->ssh) {
		line = remote_line(l, args);
		for (; n < sizeof(ssh_words) / sizeof(ssh_words[0]); n++)
			v[n] = ssh_words[n];
		v[n++] = l->nodes[node];
		v[n++] = line;
		rc = line ? 0 : -ENOMEM;
	} else {
		n = srun_words(l, node, number, v);
		for (size_t i = 0; args[i] && n < ARGS_MAX; i++)
			v[n++] = args[i];
	}
	v[n] = NULL;
	if (!rc)
		rc = spawn_group((char *const *)(uintptr_t)v, out, errors, most, &pid);
	free(line);
	if (rc == -ENOENT)
		return hes_fail(
			err, rc,
			"%s: not found, and the runners of the other nodes are started by it%s",
			v[0], l->ssh ? "" : "; --launcher ssh:HOSTFILE does without Slurm");
	return rc ? hes_fail(err, rc, "%s: cannot be started: %s", v[0], strerror(-rc)) : pid;
}
