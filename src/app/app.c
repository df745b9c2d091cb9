/*
 * app.c - ask the program for variables, tell it sentences; see app.h.
 */
#include "app/app.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

const char *app_variable(const struct app *app, const char *name)
{
	return app->variable ? app->variable(app->ctx, name) : NULL;
}

int app_set_variable(const struct app *app, const char *name, const char *value)
{
	return app->set_variable ? app->set_variable(app->ctx, name, value) : 0;
}

const char *app_program_file(char out[PATH_MAX])
{
	const ssize_t n = readlink("/proc/self/exe", out, PATH_MAX - 1);

	if (n > 0)
		out[n] = '\0';
	else
		snprintf(out, PATH_MAX, "heshare");
	return out;
}

void app_say(const struct app *app, const char *format, ...)
{
	char *text = NULL;
	va_list args;
	int n;

	if (!app || !app->say)
		return;
	va_start(args, format);
	n = vasprintf(&text, format, args);
	va_end(args);
	app->say(app->ctx, n < 0 ? "out of memory" : text);
	if (n >= 0)
		free(text);
}
