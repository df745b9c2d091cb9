/*
 * launcher.h - start heshare on other nodes: by srun in a Slurm job, or by ssh on the hosts of a
 * file.
 *
 * All nodes must see the same folders by the same names.
 */
#ifndef HES_CLUSTER_LAUNCHER_H
#define HES_CLUSTER_LAUNCHER_H

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "cluster/slurm.h"

struct launcher {
	const struct app *app;
	bool ssh;
	const char *program;   /* heshare on the nodes */
	const char *catalogue; /* file of GPU types, for queries; NULL, or the caller's */
	slurm_name *nodes;
	size_t n;
};

/** Whether --launcher has a value that it can have. @return 0; -EINVAL */
int launcher_check(const char *how, struct hes_err *err);

/**
 * @param how      "slurm" or NULL: the nodes of the Slurm job; "ssh:FILE": the hosts of a file, one
 * a line, # begins a comment
 * @param program  heshare on the nodes; NULL: by the name of this program's file here
 * @return 0; -ENOENT not in a Slurm job, no such file, no host in it; -EINVAL; launcher_close() it
 */
int launcher_open(const struct app *app, const char *how, const char *program, struct launcher *out,
		  struct hes_err *err);
void launcher_close(struct launcher *l);

/** @return the index of a node; -1 */
long launcher_find(const struct launcher *l, const char *name);

/**
 * Start `heshare ARGS...` on a node, in a process group of its own.
 * @param node  index; -1: on all nodes, by one srun
 * @param out, errors  descriptors for its output; @out below 0: dropped
 * @param most  bytes that each may grow to before the process is ended (SIGXFSZ); 0: no limit. srun
 * passes the limit on to the program
 * @return the process here, whose end is that of the program there; -ENOENT no srun or ssh; -errno
 */
pid_t launcher_start(const struct launcher *l, long node, const char *const *args, int out,
		     int errors, uint64_t most, struct hes_err *err);

#endif
