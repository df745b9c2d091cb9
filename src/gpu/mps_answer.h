/*
 * mps_answer.h - inside of src/gpu: parse the output of the MPS control daemon.
 */
#ifndef HES_GPU_MPS_ANSWER_H
#define HES_GPU_MPS_ANSWER_H

#include <stddef.h>
#include <sys/types.h>

/**
 * Parse a list of servers or clients: the number at the beginning of each line is a process. Other
 * lines are skipped.
 * @param out  room for @max numbers above 0
 * @return how many there are; may be more than @max
 */
size_t hes_mps_processes_read(const char *text, pid_t *out, size_t max);

#endif
