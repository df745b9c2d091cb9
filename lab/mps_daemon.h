/*
 * mps_daemon.h - the MPS control daemon of the lab: its server, clients and limits.
 */
#ifndef VGPU_MPS_DAEMON_H
#define VGPU_MPS_DAEMON_H

#include <stdio.h>

#include "state.h"

#define MPS_MAX_DEVICES 64

struct mps_daemon {
	struct vgpu_lab *lab;
	char server_program[4096];
	char uuids[3600];                 /* of its GPUs, with commas; "-": all */
	double default_pct;               /* share of the next server */
	char limits[MPS_MAX_DEVICES][32]; /* "512M", for the next clients; "": none */
	pid_t server;                     /* 0: none */
	uid_t uid;                        /* user of the server */
	double server_pct;
	bool quitting;
	double quit_by_s; /* virtual time at which the server is killed */
};

/** Handle a process of user @uid that opens CUDA. The answer goes to @out. */
void mps_daemon_client(struct mps_daemon *d, pid_t pid, uid_t uid, FILE *out);

/** Handle a command line. The answer goes to @out. */
void mps_daemon_command(struct mps_daemon *d, char *line, FILE *out);

/** Handle the end of a child process. */
void mps_daemon_child_ended(struct mps_daemon *d, pid_t pid);

/** @return how many clients the server has */
size_t mps_daemon_clients(const struct mps_daemon *d);

/** End the server, if there is one. */
void mps_daemon_stop_server(struct mps_daemon *d);

#endif
