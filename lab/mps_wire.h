/*
 * mps_wire.h - the protocol of the lab's MPS control daemon: a Unix socket "control" in the pipe
 *directory.
 *
 * The request is one line; the answer ends with the connection:
 *	client PID             a process opens CUDA; the answer is "server PID PERCENT LIMITS UUIDS"
 *or "error CODE". LIMITS are "0=1G,1=512M", or "-" for none; UUIDS have commas, "-" are all GPUs
 *	command TEXT           a command of nvidia-cuda-mps-control; the answer is its output
 */
#ifndef VGPU_MPS_WIRE_H
#define VGPU_MPS_WIRE_H

#include <stddef.h>

#define VGPU_MPS_ANSWER 4096

#define VGPU_MPS_NOT_THERE (-1) /* the directory has no daemon */
#define VGPU_MPS_NO_ANSWER (-2) /* the daemon does not answer */

/** CUDA_MPS_PIPE_DIRECTORY, or NVIDIA's default. */
const char *vgpu_mps_directory(void);

/** Bind or connect a socket in the pipe directory. @return the descriptor; -errno */
int vgpu_mps_listen(const char *dir);
int vgpu_mps_connect(const char *dir);

/** Send @line and read the answer, at most @size - 1 bytes. @return 0; one of the above */
int vgpu_mps_request(const char *dir, const char *line, char *answer, size_t size);

#endif
