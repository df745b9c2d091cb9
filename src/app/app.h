/*
 * app.h - what composition takes from its program: variables of the environment, and a place for
 * sentences that a person should see. The program makes one and passes it on; who gets it does not
 * change it. Any thread may use it if the program's functions allow that.
 */
#ifndef HES_APP_APP_H
#define HES_APP_APP_H

#include <limits.h>

#include "heshare/err.h"

struct app {
	/** The value of a variable of the environment; NULL: it is not set. */
	const char *(*variable)(void *ctx, const char *name);
	/** Set a variable for the processes that start from here; a @value of NULL unsets it.
	 * @return 0; -errno. NULL: such processes do not need it */
	int (*set_variable)(void *ctx, const char *name, const char *value);
	/** A sentence without an end of line, of one thread at a time. NULL: nothing is said. */
	void (*say)(void *ctx, const char *sentence);
	void *ctx;
};

/** @return its value, of the program; NULL: not set */
const char *app_variable(const struct app *app, const char *name);
/** As app.set_variable; 0 if there is none. */
int app_set_variable(const struct app *app, const char *name, const char *value);
/** The file of this program. @return @out; "heshare" where it is not known */
const char *app_program_file(char out[PATH_MAX]);
/** @param app  NULL: nothing is said */
void app_say(const struct app *app, const char *format, ...) HES_PRINTF(2, 3);

#endif
