/*
 * mps_answer.h - inside of src/gpu: what the MPS control daemon prints.
 */
#ifndef HES_GPU_MPS_ANSWER_H
#define HES_GPU_MPS_ANSWER_H

#include <stddef.h>
#include <sys/types.h>

/**
 * The processes that a list of servers or clients names: the numbers that its lines begin with. Other lines are passed over.
 * @param out  room for @max; each is above 0
 * @return how many there are, which may be more than @max
 */
size_t hes_mps_processes_read(const char *text, pid_t *out, size_t max);

#endif
