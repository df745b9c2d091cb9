/*
 * gate_settings.c - what the environment says; see gate_settings.h.
 */
#include "gate_settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

#define WEIGHT_LEAST 1e-6 /* as include/heshare/fair.h has it */
#define WEIGHT_MOST  1e6
#define CLOCK_MOST   100000

/* The socket of the user's own arbiter, then that of root's. */
static const char *settings_socket(struct settings *s, const char *given)
{
	const char *folder = getenv("XDG_RUNTIME_DIR");
	int size = (int)sizeof(s->socket);

	if (given && *given)
		return snprintf(s->socket, sizeof(s->socket), "%s", given) < size
			       ? NULL
			       : "HESHARE_FAIR_SOCKET is too long for a socket";
	if (folder && *folder &&
	    snprintf(s->socket, sizeof(s->socket), "%s/heshare/fair.sock", folder) < size)
		snprintf(s->second, sizeof(s->second), "%s", FAIR_SOCKET);
	else
		snprintf(s->socket, sizeof(s->socket), "%s", FAIR_SOCKET);
	return NULL;
}

/* The arbiter refuses control characters and text that is not UTF-8. A "?" replaces each bad byte.
 * @return whether there was one */
static bool name_clean(char *name)
{
	bool wrong = false;
	size_t n;

	for (char *c = name; *c; c += n) {
		size_t whole = hes_utf8_character(c, strlen(c));

		n = whole ? whole : 1;
		if (!whole || hes_utf8_is_control(c)) {
			memset(c, '?', n);
			wrong = true;
		}
	}
	return wrong;
}

static const char *settings_tenant(char out[FAIR_NAME_MAX], const char *given)
{
	const char *name = given && *given ? given : program_invocation_short_name, *wrong = NULL;

	if (strlen(name) >= FAIR_NAME_MAX)
		wrong = "HESHARE_FAIR_TENANT is longer than 63 bytes";
	snprintf(out, FAIR_NAME_MAX, "%s", name);
	if (name_clean(out) && !wrong)
		wrong = "HESHARE_FAIR_TENANT has control characters or is not UTF-8: ? stands for "
			"what is wrong";
	if (!*out)
		strcpy(out, "?");
	return given ? wrong : NULL;
}

static const char *settings_number(const char *given, double least, double most, double *out,
				   const char *wrong)
{
	char *end;
	double x;

	if (!given || !*given)
		return NULL;
	x = strtod(given, &end);
	if (*end || !(x >= least && x <= most))
		return wrong;
	*out = x;
	return NULL;
}

static const char *settings_refused(const char *given, enum if_refused *out)
{
	static const char *const names[] = {
		[IF_REFUSED_WAIT] = "wait", [IF_REFUSED_RUN] = "run", [IF_REFUSED_EXIT] = "exit"
	};

	for (unsigned i = 0; given && *given && i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(given, names[i]) == 0) {
			*out = (enum if_refused)i;
			return NULL;
		}
	return given && *given ? "HESHARE_FAIR_IF_REFUSED is none of wait, run, exit" : NULL;
}

static bool settings_has(const char *name)
{
	const char *given = getenv(name);

	return given && *given;
}

const char *settings_read(struct settings *s)
{
	const char *verbose = getenv("HESHARE_FAIR_VERBOSE"), *wrong[5];
	double clock = 0;

	*s = (struct settings){ .weight = 1,
				.given = settings_has("HESHARE_FAIR_TENANT") ||
					 settings_has("HESHARE_FAIR_SOCKET"),
				.verbose = verbose && *verbose && strcmp(verbose, "0") != 0 };
	wrong[0] = settings_socket(s, getenv("HESHARE_FAIR_SOCKET"));
	wrong[1] = settings_tenant(s->tenant, getenv("HESHARE_FAIR_TENANT"));
	wrong[2] =
		settings_number(getenv("HESHARE_FAIR_WEIGHT"), WEIGHT_LEAST, WEIGHT_MOST,
				&s->weight, "HESHARE_FAIR_WEIGHT is no number from 1e-06 to 1e+06");
	wrong[3] = settings_number(getenv("HESHARE_FAIR_CLOCK"), 0, CLOCK_MOST, &clock,
				   "HESHARE_FAIR_CLOCK is no clock in MHz");
	s->clock_mhz = (uint32_t)clock;
	wrong[4] = settings_refused(getenv("HESHARE_FAIR_IF_REFUSED"), &s->if_refused);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		if (wrong[i])
			return wrong[i];
	return NULL;
}
