/*
 * mps_wire.h - how clients and the control program reach an MPS control daemon of the lab.
 *
 * A Unix socket "control" in the pipe directory. One line asks, the answer ends
 * with the connection:
 *	client PID             a process opens CUDA; answered "server PID PERCENT LIMITS UUIDS",
 *	                       memory as "0=1G,1=512M" and GPUs with commas, "-" for no
 *	                       limit and for all GPUs; or "error CODE"
 *	command TEXT           a line of nvidia-cuda-mps-control; answered by what that prints
 */
#ifndef VGPU_MPS_WIRE_H
#define VGPU_MPS_WIRE_H

#include <stddef.h>

#define VGPU_MPS_ANSWER 4096

#define VGPU_MPS_NOT_THERE  (-1)  /* no daemon was started in this directory */
#define VGPU_MPS_NO_ANSWER  (-2)  /* there was one */

/** CUDA_MPS_PIPE_DIRECTORY, or where NVIDIA's programs look without it. */
const char *vgpu_mps_directory(void);

/** Bind or connect a socket in the pipe directory. @return the descriptor; -errno */
int vgpu_mps_listen(const char *dir);
int vgpu_mps_connect(const char *dir);

/** Ask @line, read the answer as a text of at most @size - 1 bytes. @return 0; one of the above */
int vgpu_mps_ask(const char *dir, const char *line, char *answer, size_t size);

#endif
