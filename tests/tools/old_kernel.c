/*
 * old_kernel.c - a command as on Linux 5.4, of which Debian 11's and Ubuntu 20.04's C libraries are:
 *
 *	old_kernel COMMAND...
 *
 * System calls that came later fail with ENOSYS, in all that the command starts: close_range, epoll_pwait2 and others. Says so
 * in TAP where the kernel takes no filter.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define LAST 435  /* clone3, Linux 5.3; numbers are the same on all machines from 424 on */

int main(int argc, char **argv)
{
	struct sock_filter rows[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, LAST, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog filter = { .len = sizeof(rows) / sizeof(rows[0]), .filter = rows };

	if (argc < 2) {
		fprintf(stderr, "usage: old_kernel COMMAND...\n");
		return 2;
	}
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0)) {
		printf("1..0 # SKIP no filter of system calls: %s\n", strerror(errno));
		return 0;
	}
	execvp(argv[1], argv + 1);
	fprintf(stderr, "old_kernel: %s: %s\n", argv[1], strerror(errno));
	return 127;
}
