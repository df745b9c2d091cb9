/*
 * mps_daemon.h - the control daemon of MPS in the lab: one server at a time, its clients, its limits.
 */
#ifndef VGPU_MPS_DAEMON_H
#define VGPU_MPS_DAEMON_H

#include <stdio.h>

#include "state.h"

#define MPS_MAX_DEVICES 64

struct mps_daemon {
	struct vgpu_lab *lab;
	char     server_program[4096];
	char     uuids[3600];            /* of the GPUs, with commas; "-": all */
	double   default_pct;            /* of the next server */
	char     limits[MPS_MAX_DEVICES][32]; /* "512M", of the next clients; "": none */
	int      priority;
	pid_t    server;                 /* 0: none */
	uid_t    uid;                    /* that the server serves */
	double   server_pct;
	bool     quitting;
	double   quit_by_s;              /* virtual; servers are killed then */
};

/** A process of user @uid opens CUDA. The answer goes to @out. */
void mps_daemon_client(struct mps_daemon *d, pid_t pid, uid_t uid, FILE *out);

/** A line of the control program. What it prints goes to @out. */
void mps_daemon_command(struct mps_daemon *d, char *line, FILE *out);

/** A child has ended. */
void mps_daemon_child_ended(struct mps_daemon *d, pid_t pid);

/** @return how many clients the server has */
size_t mps_daemon_clients(const struct mps_daemon *d);

/** End the server, if there is one. */
void mps_daemon_stop_server(struct mps_daemon *d);

#endif
