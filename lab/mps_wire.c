/*
 * mps_wire.c - sockets in the pipe directory; see mps_wire.h.
 */
#include "mps_wire.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

const char *vgpu_mps_directory(void)
{
	const char *dir = getenv("CUDA_MPS_PIPE_DIRECTORY");

	return dir && *dir ? dir : "/tmp/nvidia-mps";
}

/*
 * A socket address holds 107 bytes. The name of the directory may be longer, so use its descriptor.
 */
static int with_address(const char *dir, int (*act)(int fd, const struct sockaddr *a, socklen_t n))
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int at = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC), fd, rc;

	if (at < 0)
		return -errno;
	snprintf(a.sun_path, sizeof(a.sun_path), "/proc/self/fd/%d/control", at);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	rc = fd < 0 ? -errno : act(fd, (struct sockaddr *)&a, sizeof(a)) ? -errno : 0;
	close(at);
	if (rc && fd >= 0)
		close(fd);
	return rc ? rc : fd;
}

int vgpu_mps_listen(const char *dir)
{
	int fd = with_address(dir, bind);

	if (fd >= 0 && listen(fd, 64)) {
		int rc = -errno;

		close(fd);
		return rc;
	}
	return fd;
}

int vgpu_mps_connect(const char *dir)
{
	return with_address(dir, connect);
}

int vgpu_mps_request(const char *dir, const char *line, char *answer, size_t size)
{
	int fd = vgpu_mps_connect(dir);
	size_t at = 0, length = strlen(line);
	ssize_t n = 0;

	if (fd < 0)
		return fd == -ENOENT || fd == -ENOTDIR ? VGPU_MPS_NOT_THERE : VGPU_MPS_NO_ANSWER;
	if (send(fd, line, length, MSG_NOSIGNAL) == (ssize_t)length &&
	    send(fd, "\n", 1, MSG_NOSIGNAL) == 1)
		while (at + 1 < size && (n = read(fd, answer + at, size - 1 - at)) > 0)
			at += (size_t)n;
	answer[at] = '\0';
	close(fd);
	return n < 0 ? VGPU_MPS_NO_ANSWER : 0;
}
