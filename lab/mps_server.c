/*
 * mps_server.c - the lab's nvidia-cuda-mps-server: MPS clients fail when this process dies.
 *
 * The work of a server is done by virtual_gpu.c; this process only exists.
 */
#include <signal.h>
#include <unistd.h>

int main(void)
{
	sigset_t none;

	/* The daemon has blocked signals. */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (;;)
		pause();
}
