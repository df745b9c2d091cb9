/*
 * mps_server.c - the lab's nvidia-cuda-mps-server: a process that the clients of MPS depend on.
 *
 * What a server does happens on the GPUs (virtual_gpu.c); its death is what counts here.
 */
#include <signal.h>
#include <unistd.h>

int main(void)
{
	sigset_t none;

	/* The daemon that started it blocks them. */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (;;)
		pause();
}
