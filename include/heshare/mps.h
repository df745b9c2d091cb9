/*
 * mps.h - NVIDIA MPS on one GPU: its control daemon, SM shares, memory limits, clients.
 *
 * Each GPU has its own daemon with its own directories, so that a fault stays on that GPU. The
 * daemon names the GPU by UUID; clients need the variables of hes_mps_variables() and no
 * CUDA_VISIBLE_DEVICES. A client reads its share when it starts.
 */
#ifndef HESHARE_MPS_H
#define HESHARE_MPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "heshare/err.h"

#define HES_MPS_PATH_MAX     512
#define HES_MPS_VARIABLE_MAX (HES_MPS_PATH_MAX + 48)

struct hes_mps {
	char uuid[80]; /* of the GPU */
	char pipe_dir[HES_MPS_PATH_MAX];
	char log_dir[HES_MPS_PATH_MAX];
};

/**
 * Start the control daemon of the GPU @uuid with its directories in the existing folder @dir.
 * @return 0; -EEXIST a daemon runs there already; -ENOENT MPS is not installed; -ENAMETOOLONG;
 * -EIO, -ETIMEDOUT
 */
int hes_mps_start(struct hes_mps *out, const char *uuid, const char *dir, struct hes_err *err);

/** Whether the daemon answers. */
bool hes_mps_alive(const struct hes_mps *m);

/** The server of the clients. @return 0; -ESRCH no server runs; -EPIPE no daemon; -ENOENT MPS is
 * not installed; -ETIMEDOUT no answer in time; -EIO, -ENOMEM, -errno of running the control program
 */
int hes_mps_server(const struct hes_mps *m, pid_t *out, struct hes_err *err);

/** Processes that are clients now. @return how many there are; at most @max are written; -errno */
long hes_mps_clients(const struct hes_mps *m, pid_t *out, size_t max, struct hes_err *err);

/**
 * End a client's GPU work before its process is killed: killing a busy client can hang the server.
 * @return 0, also for a process that is not a client; -ESRCH no server runs; else as
 * hes_mps_server()
 */
int hes_mps_terminate(const struct hes_mps *m, pid_t client, struct hes_err *err);

/**
 * End daemon and server. Clients have @grace_s seconds to finish.
 * @return 0; -EPIPE there was no daemon; -ETIMEDOUT it does not end; else as hes_mps_server()
 */
int hes_mps_quit(const struct hes_mps *m, unsigned grace_s, struct hes_err *err);

/**
 * Environment variables of a client, one NAME=VALUE a row. A share or memory of 0 is left out.
 * @return how many rows were written
 */
size_t hes_mps_variables(const struct hes_mps *m, unsigned pct, uint32_t memory_mib,
			 char out[4][HES_MPS_VARIABLE_MAX]);

#endif
