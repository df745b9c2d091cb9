/*
 * port_owner.h - which user listens on a TCP port of this machine: any user may do that above port
 * 1023.
 */
#ifndef HES_GPU_PORT_OWNER_H
#define HES_GPU_PORT_OWNER_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

/** Whether only root or @user listens on @port, by /proc/net. */
bool hes_port_is_trusted(unsigned port, uid_t user);

/** The same for one table with the format of /proc/net/tcp. */
bool hes_port_table_is_trusted(FILE *table, unsigned port, uid_t user);

#endif
