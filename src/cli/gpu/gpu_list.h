/*
 * gpu_list.h - the GPUs of this machine as `heshare gpus` prints them.
 */
#ifndef HES_CLI_GPU_GPU_LIST_H
#define HES_CLI_GPU_GPU_LIST_H

#include <stdbool.h>

#include "heshare/fleet.h"

/** Print the GPUs with their types of @c; a sentence where there are none. @return exit status */
int gpus_list(const struct hes_catalogue *c, bool json);

/** Print the rows of their types for a catalogue file, each type once. @return exit status */
int gpus_list_rows(const struct hes_catalogue *c);

#endif
