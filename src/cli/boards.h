/*
 * boards.h - the boards of this machine as commands take and show them.
 */
#ifndef HES_CLI_BOARDS_H
#define HES_CLI_BOARDS_H

#include <stdbool.h>

#include "heshare/device.h"

/** Print the boards. @return exit status; negative: there is no driver here */
int boards_list(bool json);

/**
 * The boards that a list names, by index, UUID or PCI address with commas; NULL: all.
 * @param out  to free(); set on success with @n
 * @return 0; -ENOENT a board that is not there, -EEXIST one named twice
 */
int boards_choose(const struct hes_devices *d, const char *list, size_t **out, size_t *n, struct hes_err *err);

#endif
