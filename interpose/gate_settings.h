/*
 * gate_settings.h - what the environment says, read once when the library is loaded.
 */
#ifndef HES_INTERPOSE_GATE_SETTINGS_H
#define HES_INTERPOSE_GATE_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/un.h>

#include "fair/fair_wire.h"

#define SOCKET_PATH_MAX sizeof(((struct sockaddr_un *)0)->sun_path)

/** What a program does that the arbiter refuses. */
enum if_refused {
	IF_REFUSED_WAIT, /* try again every second; launches wait */
	IF_REFUSED_RUN,  /* try again every second; launches pass */
	IF_REFUSED_EXIT,
};

struct settings {
	char socket[SOCKET_PATH_MAX]; /* HESHARE_FAIR_SOCKET, or where an arbiter is by default */
	char second[SOCKET_PATH_MAX]; /* where no arbiter is at the first; "": none */
	char tenant[FAIR_NAME_MAX];   /* HESHARE_FAIR_TENANT, or the program's name */
	bool given;                   /* HESHARE_FAIR_TENANT or HESHARE_FAIR_SOCKET is set */
	double weight;                /* HESHARE_FAIR_WEIGHT, or 1 */
	uint32_t clock_mhz;           /* HESHARE_FAIR_CLOCK, or 0 */
	enum if_refused if_refused;   /* HESHARE_FAIR_IF_REFUSED: wait, run or exit */
	bool verbose;                 /* HESHARE_FAIR_VERBOSE */
};

/** @return NULL, or what is wrong with the environment; the default is taken instead */
const char *settings_read(struct settings *s);

#endif
