/*
 * signals.c - the signals that a program was started with, and those that it takes; see signals.h.
 *
 * Dispositions and the start belong to the process, so their state is global.
 */
#include "base/signals.h"

#include <errno.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

const int hes_signals_stop[] = { SIGINT, SIGTERM, SIGHUP, 0 };

static struct {
	sigset_t mask, ignored;
} start;

static volatile sig_atomic_t taker; /* thread that takes signals */

void hes_signals_begin(void)
{
	const struct sigaction normal = { .sa_handler = SIG_DFL };
	struct sigaction now;

	sigemptyset(&start.ignored);
	sigprocmask(SIG_BLOCK, NULL, &start.mask);
	for (int number = 1; number < NSIG; number++)
		if (!sigaction(number, NULL, &now) && now.sa_handler == SIG_IGN)
			sigaddset(&start.ignored, number);
	sigaction(SIGCHLD, &normal, NULL);
}

bool hes_signals_ignored(int number)
{
	return sigismember(&start.ignored, number) == 1;
}

/*
 * In a thread that does not block the signal. As the kernel refuses a code of its own from a
 * program, the code goes along as a value.
 */
static void signal_hand_on(int number, siginfo_t *info, void *context)
{
	const int error = errno;
	siginfo_t handed = { .si_signo = number, .si_code = SI_QUEUE };

	(void)context;
	handed.si_value.sival_int = info->si_code;
	syscall(SYS_rt_tgsigqueueinfo, getpid(), (pid_t)taker, number, &handed);
	errno = error;
}

bool hes_signals_of_terminal(const siginfo_t *info)
{
	return info->si_code == SI_KERNEL ||
	       (info->si_code == SI_QUEUE && info->si_value.sival_int == SI_KERNEL);
}

void hes_signals_take(struct hes_signals *out, const int *list)
{
	struct sigaction act = { .sa_sigaction = signal_hand_on,
				 .sa_flags = SA_SIGINFO | SA_RESTART | SA_NOCLDSTOP };
	size_t n = 0;

	*out = (struct hes_signals){ .taken = { 0 } };
	sigemptyset(&out->set);
	for (size_t i = 0; list[i] && n < HES_SIGNALS_MAX; i++) {
		if (list[i] != SIGCHLD && hes_signals_ignored(list[i]))
			continue;
		out->taken[n++] = list[i];
		sigaddset(&out->set, list[i]);
	}
	taker = (sig_atomic_t)syscall(SYS_gettid);
	pthread_sigmask(SIG_BLOCK, &out->set, &out->mask_before);
	sigfillset(&act.sa_mask);
	for (size_t i = 0; i < n; i++)
		sigaction(out->taken[i], &act, &out->before[i]);
}

void hes_signals_leave(const struct hes_signals *s)
{
	for (size_t i = 0; s->taken[i]; i++)
		sigaction(s->taken[i], &s->before[i], NULL);
	pthread_sigmask(SIG_SETMASK, &s->mask_before, NULL);
}

void hes_signals_as_started(void)
{
	for (int number = 1; number < NSIG; number++) {
		const struct sigaction act = { .sa_handler = hes_signals_ignored(number)
								     ? SIG_IGN
								     : SIG_DFL };

		sigaction(number, &act, NULL);
	}
	sigprocmask(SIG_SETMASK, &start.mask, NULL);
}

int hes_signals_spawn(posix_spawnattr_t *attr, int flags)
{
	sigset_t normal;
	int rc;

	/* What was ignored at the start still is. */
	sigfillset(&normal);
	for (int number = 1; number < NSIG; number++)
		if (hes_signals_ignored(number))
			sigdelset(&normal, number);
	rc = posix_spawnattr_setsigmask(attr, &start.mask);
	if (!rc)
		rc = posix_spawnattr_setsigdefault(attr, &normal);
	flags |= POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
	return rc ? rc : posix_spawnattr_setflags(attr, (short)flags);
}
