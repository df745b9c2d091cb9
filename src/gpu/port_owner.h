/*
 * port_owner.h - whose a TCP port of this machine is. Any user may listen on a port above 1023.
 */
#ifndef HES_GPU_PORT_OWNER_H
#define HES_GPU_PORT_OWNER_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

/** Whether nobody but root and @user listens on @port, as /proc/net tells. */
bool hes_port_is_trusted(unsigned port, uid_t user);

/** The same of one table, as /proc/net/tcp has it. */
bool hes_port_table_is_trusted(FILE *table, unsigned port, uid_t user);

#endif
