/*
 * user_option.h - users as values of options of `heshare fair`: a name, or a number.
 */
#ifndef HES_CLI_FAIR_USER_OPTION_H
#define HES_CLI_FAIR_USER_OPTION_H

#include <stdint.h>

#include "arbiter/arbiter_config.h"
#include "heshare/err.h"

#define FAIR_MAX_WEIGHTS 64

/** @what names the option. @return 0; -EINVAL there is no such user */
int fair_user_parse(const char *what, const char *name, uint32_t *uid, struct hes_err *err);
/** USER=W, commas between them. @param list  NULL: none. @return 0; -EINVAL; -ENOMEM */
int fair_user_weights_parse(const char *what, const char *list,
			    struct arbiter_user_weight out[FAIR_MAX_WEIGHTS], size_t *n,
			    struct hes_err *err);

#endif
