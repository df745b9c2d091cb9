/*
 * port_owner.c - find the user of a TCP port in /proc/net; see port_owner.h.
 */
#include "gpu/port_owner.h"

#define LISTENS        0x0a
#define LINE_MAX_BYTES 512

bool hes_port_table_is_trusted(FILE *table, unsigned port, uid_t user)
{
	char line[LINE_MAX_BYTES];

	while (fgets(line, sizeof(line), table)) {
		unsigned at, state, uid;

		/* Slot, local address and port, remote ones, state, two queues, two timers,
		 * retransmissions, user. */
		if (sscanf(line,
			   " %*u: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x %*x:%*x %*x:%*x %*x %u",
			   &at, &state, &uid) == 3 &&
		    at == port && state == LISTENS && uid != 0 && uid != user)
			return false;
	}
	return true;
}

bool hes_port_is_trusted(unsigned port, uid_t user)
{
	static const char *const tables[] = { "/proc/net/tcp", "/proc/net/tcp6" };
	bool trusted = true;

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		FILE *f = fopen(tables[i], "re");

		trusted = trusted && (!f || hes_port_table_is_trusted(f, port, user));
		if (f)
			fclose(f);
	}
	return trusted;
}
