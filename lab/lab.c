/*
 * lab.c - the virtual GPU lab: run a command with virtual GPUs.
 *
 *	lab [--fleet FILE] [--catalogue FILE] [--machine NAME] [--speed N] [--fault SPEC]...
 *		[--dcgm | --host-engine] -- COMMAND...
 *
 * Makes the state (state.h), adds the stand-ins to the command's paths and closes the contexts of
 *processes that end (keeper.c). Invariant: when the command has ended, no process and no file of
 *the lab remains.
 */
#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/data.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/num.h"
#include "fault_spec.h"
#include "keeper.h"
#include "state.h"

#define LOOK_MS    10 /* between two searches for new processes */
#define MAX_FAULTS 16
#define MAX_SPEED  10000

struct options {
	const char *fleet, *catalogue, *machine;
	double speed;
	const char *faults[MAX_FAULTS];
	size_t n_faults;
	bool dcgm, host_engine;
	char **command;
};

static const char usage[] =
	"usage: lab [--fleet FILE] [--catalogue FILE] [--machine NAME] [--speed N] "
	"[--fault SPEC]... [--dcgm | --host-engine] -- COMMAND...\n"
	"Run COMMAND, or your shell, with virtual GPUs.\n"
	"  --fleet FILE  GPUs of the lab (the HeShare testbed: 4 T4, 2 V100, 2 A100)\n"
	"  --catalogue FILE  add the GPU types of this YAML file\n"
	"  --machine NAME  give the GPUs the UUIDs of this machine, not those of the folder\n"
	"  --speed N     virtual seconds per real second (1)\n"
	"  --fault SPEC  GPU:KIND[:SECONDS], from the start; see vgpu-fault --help\n"
	"  --dcgm        install DCGM's library\n"
	"  --host-engine install DCGM's library and run its host engine\n";

static int fail(const struct hes_err *err)
{
	fprintf(stderr, "lab: %s\n", err->msg);
	return 1;
}

/* @return 0; 1 help was printed; 2 wrong usage */
static int parse(int argc, char **argv, struct options *o)
{
	static const struct option names[] = { { "fleet", required_argument, NULL, 'f' },
					       { "speed", required_argument, NULL, 's' },
					       { "fault", required_argument, NULL, 'x' },
					       { "help", no_argument, NULL, 'h' },
					       { "catalogue", required_argument, NULL, 'c' },
					       { "machine", required_argument, NULL, 'm' },
					       { "dcgm", no_argument, NULL, 'd' },
					       { "host-engine", no_argument, NULL, 'e' },
					       { 0 } };
	static char *shell[] = { NULL, NULL };
	struct hes_err err;
	int c;

	*o = (struct options){ .speed = 1 };
	while ((c = getopt_long(argc, argv, "+f:s:h", names, NULL)) >= 0) {
		if (c == 'f') {
			o->fleet = optarg;
		} else if (c == 'c') {
			o->catalogue = optarg;
		} else if (c == 'm') {
			o->machine = optarg;
		} else if (c == 's') {
			if (hes_parse_double("--speed", optarg, 0.001, MAX_SPEED, &o->speed,
					     &err)) {
				fail(&err);
				return 2;
			}
		} else if (c == 'x' && o->n_faults < MAX_FAULTS) {
			o->faults[o->n_faults++] = optarg;
		} else if (c == 'd' || c == 'e') {
			o->dcgm = true;
			o->host_engine |= c == 'e';
		} else {
			fputs(usage, c == 'h' ? stdout : stderr);
			return c == 'h' ? 1 : 2;
		}
	}
	shell[0] = getenv("SHELL") ? getenv("SHELL") : "/bin/sh";
	o->command = optind < argc ? argv + optind : shell;
	return 0;
}

/* The folder of the stand-ins: that of this program, in the build and installed. */
static int find_stand_ins(char *dir, size_t size, struct hes_err *err)
{
	char lib[PATH_MAX + 32];
	ssize_t n = readlink("/proc/self/exe", dir, size - 1);
	char *slash;

	if (n < 0)
		return hes_fail(err, -errno, "/proc/self/exe: %s", strerror(errno));
	dir[n] = '\0';
	slash = strrchr(dir, '/');
	*slash = '\0';
	snprintf(lib, sizeof(lib), "%s/libnvidia-ml.so.1", dir);
	if (access(lib, R_OK))
		return hes_fail(err, -ENOENT, "%s: the lab's stand-in for NVML is missing", lib);
	return 0;
}

static void env_prepend(const char *name, const char *value, char separator)
{
	const char *old = getenv(name);
	char *text;

	if (asprintf(&text, "%s%.*s%s", value, old && *old ? 1 : 0, &separator, old ? old : "") < 0)
		return;
	setenv(name, text, 1);
	free(text);
}

static void set_path(const char *name, const char *dir, const char *file)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	setenv(name, path, 1);
}

/*
 * Measurements of the lab must not mix with those of real GPUs: use another store, unless the user
 * has named one.
 */
static void set_store(void)
{
	const char *named = getenv("HESHARE_STORE");
	char *path;

	if ((named && *named) ||
	    hes_user_file(getenv("XDG_DATA_HOME"), getenv("HOME"), ".local/share", "lab.db", &path))
		return;
	setenv("HESHARE_STORE", path, 1);
	free(path);
}

/* Set the environment of the command. */
static void set_environment(const char *stand_ins, const char *dir, double speed)
{
	char preload[PATH_MAX + 32];

	set_path(VGPU_ENV, dir, "state");
	set_path("CUDA_MPS_PIPE_DIRECTORY", dir, "mps");
	set_path("CUDA_MPS_LOG_DIRECTORY", dir, "mps-log");
	set_store();
	env_prepend("LD_LIBRARY_PATH", stand_ins, ':');
	env_prepend("PATH", stand_ins, ':');
	snprintf(preload, sizeof(preload), "%s/libheshare-lab-clock.so", stand_ins);
	if (speed != 1)
		env_prepend("LD_PRELOAD", preload, ':');
}

/* Give DCGM's stand-in its real name in a folder of the lab. @return 0; -errno */
static int install_dcgm(const char *stand_ins, const char *dir)
{
	char folder[PATH_MAX], from[PATH_MAX + 32], to[PATH_MAX + 32];

	snprintf(folder, sizeof(folder), "%s/dcgm", dir);
	snprintf(from, sizeof(from), "%s/libheshare-lab-dcgm.so", stand_ins);
	snprintf(to, sizeof(to), "%s/libdcgm.so.4", folder);
	if (mkdir(folder, 0755) || symlink(from, to))
		return -errno;
	env_prepend("LD_LIBRARY_PATH", folder, ':');
	return 0;
}

static pid_t start_command(char **command)
{
	pid_t lab = getpid(), pid = fork();
	sigset_t none;

	if (pid)
		return pid;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != lab)
		_exit(127);
	execvp(command[0], command);
	fprintf(stderr, "lab: %s: %s\n", command[0], strerror(errno));
	_exit(127);
}

/* Signal all children; orphans of the command became our children. @return how many there are */
static int signal_children(int sig)
{
	DIR *proc = opendir("/proc");
	const struct dirent *e;
	int n = 0;

	while (proc && (e = readdir(proc))) {
		char path[64], text[512];
		const char *after;
		FILE *f;
		int ppid;

		if (e->d_name[0] < '1' || e->d_name[0] > '9')
			continue;
		snprintf(path, sizeof(path), "/proc/%.20s/stat", e->d_name);
		f = fopen(path, "re");
		if (!f)
			continue;
		after = fgets(text, sizeof(text), f) ? strrchr(text, ')') : NULL;
		if (after && sscanf(after + 1, " %*c %d", &ppid) == 1 && ppid == getpid()) {
			kill((pid_t)strtol(e->d_name, NULL, 10), sig);
			n++;
		}
		fclose(f);
	}
	if (proc)
		closedir(proc);
	return n;
}

/* Remaining processes get SIGTERM first, then SIGKILL. */
static void end_all(void)
{
	for (int round = 0; round < 200 && signal_children(round < 50 ? SIGTERM : SIGKILL) > 0;
	     round++) {
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		usleep(10000);
	}
}

/* Watch processes until the command has ended. @return its exit status */
static int watch_command(struct vgpu_keeper *k, pid_t command)
{
	struct signalfd_siginfo s;
	int status, code = -1;
	pid_t pid;

	while (code < 0) {
		if (!vgpu_keeper_wait(k, LOOK_MS) || read(k->signals, &s, sizeof(s)) != sizeof(s))
			continue;
		if (s.ssi_signo == SIGTERM || s.ssi_signo == SIGHUP)
			kill(command, (int)s.ssi_signo);
		while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
			if (pid == command)
				code = WIFEXITED(status) ? WEXITSTATUS(status)
							 : 128 + WTERMSIG(status);
	}
	return code;
}

/* The terminal sends SIGINT to the command, too: block it here. */
static int take_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGQUIT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

static int run_lab(const struct options *o, struct vgpu_lab *lab, const char *dir,
		   const char *stand_ins)
{
	struct vgpu_keeper k;
	struct hes_err err;
	int signals, code = 0;
	pid_t pid;

	for (size_t i = 0; i < o->n_faults; i++)
		if (vgpu_fault_inject(lab, o->faults[i], &err))
			return fail(&err) + 1;
	signals = take_signals();
	if (signals < 0 || vgpu_keeper_init(&k, lab, signals)) {
		fprintf(stderr, "lab: %s\n", strerror(errno));
		return 1;
	}
	set_environment(stand_ins, dir, o->speed);
	lab->host_engine = o->host_engine;
	if (o->dcgm && install_dcgm(stand_ins, dir))
		fprintf(stderr, "lab: %s/dcgm: %s\n", dir, strerror(errno));
	pid = start_command(o->command);
	if (pid > 0)
		code = watch_command(&k, pid);
	end_all();
	vgpu_keeper_finish(&k);
	close(signals);
	return pid > 0 ? code : 1;
}

static int remove_entry(const char *path, const struct stat *st, int what, struct FTW *at)
{
	(void)st;
	(void)what;
	(void)at;
	return remove(path);
}

static int load_physics(const struct options *o, struct hes_catalogue *c, struct hes_fleet *f,
			struct hes_model **m, struct hes_err *err)
{
	static const char standard[] = "fleets/heshare.yaml";
	int rc = hes_catalogue_load(NULL, c, err);
	size_t len;
	const char *text = hes_data_find(standard, &len);

	if (!rc && o->catalogue)
		rc = hes_catalogue_add(c, o->catalogue, err);
	if (!rc)
		rc = o->fleet ? hes_fleet_load(o->fleet, c, f, err)
			      : hes_fleet_parse(standard, text, len, c, f, err);
	if (!rc)
		rc = hes_model_load(NULL, m, err);
	return rc ? rc : hes_model_derive(*m, c, err);
}

static void tell_derived(const struct hes_fleet *f, const struct hes_model *m)
{
	const struct hes_gpu_type *types[VGPU_MAX_GPUS];
	char names[400];

	hes_model_derived(m, types, hes_fleet_types(f, types, VGPU_MAX_GPUS), names, sizeof(names));
	if (*names)
		fprintf(stderr,
			"lab: derived from data sheets, not fitted to measurements: %s; %s "
			"(docs/gpu-model.md)\n",
			names, HES_MODEL_DERIVED_ERROR);
}

/* Plans hold UUIDs, and a lab that begins in the same folder again is the same machine. While one
 * runs there, another is another machine, since programs claim GPUs by UUID. */
static void name_machine(struct vgpu_lab *lab, const char *machine)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	char folder[PATH_MAX];
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), n;
	uint64_t key;

	if (!machine)
		machine = getcwd(folder, sizeof(folder));
	if (fd < 0 || !machine)
		return;
	key = hes_hash_text(HES_HASH_START, machine);
	/* The first byte is 0: an abstract name, which ends with this process. */
	n = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "heshare/lab/%u/%016llx",
		     (unsigned)getuid(), (unsigned long long)key);
	if (!bind(fd, (const struct sockaddr *)&name,
		  (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)))
		vgpu_name_machine(lab, key ^ getuid());
}

int main(int argc, char **argv)
{
	char dir[] = "/dev/shm/heshare-lab-XXXXXX", stand_ins[PATH_MAX], state[sizeof(dir) + 8],
	     link[sizeof(dir) + 16];
	struct hes_catalogue c = { 0 };
	struct hes_model *m = NULL;
	struct vgpu_lab *lab = NULL;
	struct hes_fleet f = { 0 };
	struct options o;
	struct hes_err err;
	int rc = parse(argc, argv, &o);

	if (rc)
		return rc == 1 ? 0 : rc;
	rc = load_physics(&o, &c, &f, &m, &err);
	if (!rc)
		rc = find_stand_ins(stand_ins, sizeof(stand_ins), &err);
	if (!rc && !mkdtemp(dir))
		rc = hes_fail(&err, -errno, "%s: %s", dir, strerror(errno));
	if (!rc) {
		/* Programs of other users may run in the lab. */
		chmod(dir, 0755);
		snprintf(state, sizeof(state), "%s/state", dir);
		/* A link, because LD_PRELOAD ends a path at a blank or a colon. */
		snprintf(link, sizeof(link), "%s/stand-ins", dir);
		rc = vgpu_create(state, &f, m, o.speed, &lab, &err);
		if (!rc)
			name_machine(lab, o.machine);
		if (!rc)
			tell_derived(&f, m);
		if (!rc && symlink(stand_ins, link))
			rc = hes_fail(&err, -errno, "%s: %s", link, strerror(errno));
		rc = rc ? fail(&err) : run_lab(&o, lab, dir, link);
		nftw(dir, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
	} else {
		rc = fail(&err);
	}
	vgpu_detach(lab);
	hes_model_free(m);
	hes_fleet_free(&f);
	hes_catalogue_free(&c);
	return rc;
}
