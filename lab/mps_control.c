/*
 * mps_control.c - the lab's nvidia-cuda-mps-control: with -d or -f it is the control daemon of a
 * pipe directory (mps_daemon.c); without, it sends commands from standard input to the daemon.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mps_daemon.h"
#include "mps_wire.h"

#define LOOK_MS 20 /* between two checks whether all clients have finished */

static void join_path(char out[PATH_MAX], const char *dir, const char *file)
{
	snprintf(out, PATH_MAX, "%.*s/%s", PATH_MAX - 64, dir, file);
}

static int make_folders(const char *dir)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s", dir);
	for (char *at = path + 1; *at; at++) {
		if (*at != '/')
			continue;
		*at = '\0';
		mkdir(path, 0755);
		*at = '/';
	}
	return mkdir(path, 0755) && errno != EEXIST ? -errno : 0;
}

/* Replace the socket of a daemon that was killed. @return the listening socket */
static int open_control(const char *dir)
{
	char path[PATH_MAX];
	int fd = vgpu_mps_connect(dir);

	if (fd >= 0) {
		close(fd);
		fputs("An instance of this daemon is already running\n", stderr);
		return -EEXIST;
	}
	join_path(path, dir, "control");
	unlink(path);
	fd = vgpu_mps_listen(dir);
	if (fd < 0)
		fprintf(stderr, "Cannot listen in %s: %s\n", dir, strerror(-fd));
	else
		chmod(path, 0666);
	return fd;
}

static int write_pid(const char *dir)
{
	char path[PATH_MAX];
	FILE *f;

	join_path(path, dir, "nvidia-cuda-mps-control.pid");
	f = fopen(path, "we");
	if (!f)
		return -errno;
	fprintf(f, "%d\n", (int)getpid());
	return fclose(f) ? -errno : 0;
}

static void answer_client(struct mps_daemon *d, int listening)
{
	int fd = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
	struct ucred peer;
	socklen_t n = sizeof(peer);
	char line[1024];
	FILE *f = fd >= 0 ? fdopen(fd, "r+") : NULL;

	if (!f)
		return;
	if (!getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) && fgets(line, sizeof(line), f)) {
		fseek(f, 0, SEEK_CUR);
		if (strncmp(line, "client ", 7) == 0)
			mps_daemon_client(d, peer.pid, peer.uid, f);
		else if (strncmp(line, "command ", 8) == 0)
			mps_daemon_command(d, line + 8, f);
	}
	fclose(f);
}

static void collect_children(struct mps_daemon *d)
{
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
		mps_daemon_child_ended(d, pid);
}

static void daemon_serve(struct mps_daemon *d, int listening, int signals)
{
	struct pollfd fds[2] = { { .fd = listening, .events = POLLIN },
				 { .fd = signals, .events = POLLIN } };
	struct signalfd_siginfo s;

	for (;;) {
		poll(fds, 2, d->quitting ? LOOK_MS : -1);
		collect_children(d);
		if (fds[0].revents)
			answer_client(d, listening);
		if (fds[1].revents && read(signals, &s, sizeof(s)) == sizeof(s) &&
		    s.ssi_signo != SIGCHLD)
			return;
		if (d->quitting && (!mps_daemon_clients(d) || vgpu_now(d->lab) >= d->quit_by_s))
			return;
	}
}

static int run_daemon(struct mps_daemon *d, const char *dir, int listening)
{
	static const char *const left[] = { "control", "nvidia-cuda-mps-control.pid" };
	char path[PATH_MAX];
	sigset_t set;
	int signals;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	signals = signalfd(-1, &set, SFD_CLOEXEC);
	if (signals < 0 || write_pid(dir))
		return 1;
	daemon_serve(d, listening, signals);
	mps_daemon_stop_server(d);
	while (d->server && wait(NULL) > 0)
		d->server = 0;
	for (size_t i = 0; i < 2; i++) {
		join_path(path, dir, left[i]);
		unlink(path);
	}
	return 0;
}

static int daemon_prepare(struct mps_daemon *d)
{
	const char *gpus = getenv("CUDA_VISIBLE_DEVICES"),
		   *pct = getenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE");
	char own[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);

	*d = (struct mps_daemon){ .lab = vgpu_here(), .default_pct = 100 };
	if (!d->lab || n < 0) {
		fputs("No GPUs here: no lab is running\n", stderr);
		return 1;
	}
	own[n] = '\0';
	snprintf(d->server_program, sizeof(d->server_program), "%s/nvidia-cuda-mps-server",
		 dirname(own));
	snprintf(d->uuids, sizeof(d->uuids), "%s", gpus && *gpus ? gpus : "-");
	if (pct && strtod(pct, NULL) > 0 && strtod(pct, NULL) <= 100)
		d->default_pct = strtod(pct, NULL);
	return 0;
}

static int start_daemon(const char *dir, bool foreground)
{
	struct mps_daemon d;
	int listening;

	if (daemon_prepare(&d))
		return 1;
	if (make_folders(dir)) {
		fprintf(stderr, "Cannot make %s: %s\n", dir, strerror(errno));
		return 1;
	}
	listening = open_control(dir);
	if (listening < 0)
		return 1;
	if (!foreground) {
		pid_t pid = fork();
		int null;

		if (pid)
			return pid < 0;
		setsid();
		null = open("/dev/null", O_RDWR);
		for (int i = 0; i < 3; i++)
			dup2(null, i);
		if (null > 2)
			close(null);
	}
	return run_daemon(&d, dir, listening);
}

/* Send commands from standard input and print the answers. */
static int send_commands(const char *dir)
{
	char line[1000], text[1024], reply[VGPU_MPS_ANSWER];

	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		snprintf(text, sizeof(text), "command %s", line);
		if (vgpu_mps_request(dir, text, reply, sizeof(reply))) {
			fputs("Cannot find MPS control daemon process\n", stderr);
			return 1;
		}
		fputs(reply, stdout);
		fflush(stdout);
		if (strncmp(line, "quit", 4) == 0)
			break;
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *dir = vgpu_mps_directory();

	if (argc == 1)
		return send_commands(dir);
	if (argc == 2 && (strcmp(argv[1], "-d") == 0 || strcmp(argv[1], "-f") == 0))
		return start_daemon(dir, argv[1][1] == 'f');
	fputs("usage: nvidia-cuda-mps-control [-d | -f]\n", stderr);
	return 2;
}
