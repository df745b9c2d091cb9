/*
 * time_option.h - times as values of options of `heshare fair`: 200ms, 2s, 500us.
 */
#ifndef HES_CLI_FAIR_TIME_OPTION_H
#define HES_CLI_FAIR_TIME_OPTION_H

#include <stdint.h>

#include "heshare/err.h"

/** At most HES_FAIR_MAX_NS. @what names the option. @return 0; -EINVAL or -ERANGE */
int fair_time_parse(const char *what, const char *text, uint64_t *out_ns, struct hes_err *err);

#endif
