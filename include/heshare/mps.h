/*
 * mps.h - NVIDIA MPS on one GPU: a control daemon of its own, shares, limits, clients.
 *
 * One daemon and one pair of directories a GPU, so that a fault stays on that GPU; the
 * GPU is named by UUID, and clients set no CUDA_VISIBLE_DEVICES of their own: what they
 * need in their environment is hes_mps_variables. A share is read when a client starts,
 * and stays.
 */
#ifndef HESHARE_MPS_H
#define HESHARE_MPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "heshare/err.h"

#define HES_MPS_PATH_MAX 512
#define HES_MPS_VARIABLE_MAX (HES_MPS_PATH_MAX + 48)

struct hes_mps {
	char uuid[80];                    /* of the GPU */
	char pipe_dir[HES_MPS_PATH_MAX];
	char log_dir[HES_MPS_PATH_MAX];
};

/**
 * Start the control daemon of the GPU @uuid with its directories in the folder @dir, which is there.
 * @return 0; -EEXIST one runs there already; -ENOENT MPS is not installed; -ENAMETOOLONG; -EIO, -ETIMEDOUT
 */
int hes_mps_start(struct hes_mps *out, const char *uuid, const char *dir, struct hes_err *err);

/** Whether the daemon answers. */
bool hes_mps_alive(const struct hes_mps *m);

/**
 * Give the daemon one line, of at most 254 bytes, and read what it prints, a text of at most @size - 1 bytes.
 * @return 0; -EPIPE no daemon; -ENOENT MPS is not installed; -ETIMEDOUT no answer within a minute; -EIO, -ENOMEM, -errno
 *         of running the control program
 */
int hes_mps_command(const struct hes_mps *m, const char *line, char *out, size_t size, struct hes_err *err);

/** The server that serves the clients now. @return 0; -ESRCH none runs; what hes_mps_command() fails with */
int hes_mps_server(const struct hes_mps *m, pid_t *out, struct hes_err *err);

/** Processes that are clients now. @return how many there are, at most @max written; -errno */
long hes_mps_clients(const struct hes_mps *m, pid_t *out, size_t max, struct hes_err *err);

/**
 * SM share of clients that start later and ask for none.
 * @param pct  percent, 1..100
 * @return 0; -EINVAL @pct out of its range; what hes_mps_command() fails with. What the daemon prints is not looked at
 */
int hes_mps_set_share(const struct hes_mps *m, unsigned pct, struct hes_err *err);

/**
 * Device memory, MiB, that each client which starts later may allocate.
 * @return 0; what hes_mps_command() fails with. What the daemon prints is not looked at
 */
int hes_mps_set_memory(const struct hes_mps *m, uint32_t mib, struct hes_err *err);

/**
 * End a client's work before its process is killed: killing it at work can wedge the server.
 * @return 0; -ESRCH no server runs; what hes_mps_command() fails with. What the daemon prints is not looked at: a process
 *         that is no client is no error
 */
int hes_mps_terminate(const struct hes_mps *m, pid_t client, struct hes_err *err);

/**
 * End daemon and server. Clients have @grace_s seconds to finish.
 * @return 0; -EPIPE there was no daemon; -ETIMEDOUT it is still there a minute after that; what else hes_mps_command() fails with
 */
int hes_mps_quit(const struct hes_mps *m, unsigned grace_s, struct hes_err *err);

/**
 * What a client's environment needs: NAME=VALUE, one a row; a share or memory of 0 is left out.
 * @return how many rows were written
 */
size_t hes_mps_variables(const struct hes_mps *m, unsigned pct, uint32_t memory_mib,
			 char out[4][HES_MPS_VARIABLE_MAX]);

#endif
