/*
 * driver_thread.c - a library to preload: a thread that gets signals, as drivers have, in heshare
 * and not in the programs that it starts.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *driver_run(void *arg)
{
	sigset_t none;

	(void)arg;
	sigemptyset(&none);
	pthread_sigmask(SIG_SETMASK, &none, NULL);
	for (;;)
		pause();
	return NULL;
}

__attribute__((constructor)) static void driver_begin(int argc, char **argv)
{
	static const char *const commands[] = { "run", "fair", "measure", "profile" };
	pthread_t driver;

	/* The wrapper of a job loads no driver. */
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--wrap") == 0)
			return;
	for (size_t i = 0; argc > 1 && i < sizeof(commands) / sizeof(commands[0]); i++)
		if (strcmp(argv[1], commands[i]) == 0 &&
		    pthread_create(&driver, NULL, driver_run, NULL))
			abort();
}
