/*
 * old_kernel.c - a command as on an older kernel:
 *
 *	old_kernel LAST COMMAND...
 *
 * System calls of numbers above LAST, which came later, fail with ENOSYS in all that the command
 *starts. From 424 on numbers are the same on all machines and ascend with versions, or nearly:
 *after 433 (Linux 5.2) came pidfd_open, after 435 (Linux 5.4, of Debian 11's and Ubuntu 20.04's C
 *libraries) close_range and epoll_pwait2. Says so in TAP where the kernel takes no filter.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	char *end = NULL;
	unsigned last = argc > 1 ? (unsigned)strtoul(argv[1], &end, 10) : 0;
	struct sock_filter rows[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, last, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog filter = { .len = sizeof(rows) / sizeof(rows[0]), .filter = rows };

	if (argc < 3 || *end) {
		fprintf(stderr, "usage: old_kernel LAST COMMAND...\n");
		return 2;
	}
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0)) {
		printf("1..0 # SKIP no filter of system calls: %s\n", strerror(errno));
		return 0;
	}
	execvp(argv[2], argv + 2);
	fprintf(stderr, "old_kernel: %s: %s\n", argv[2], strerror(errno));
	return 127;
}
