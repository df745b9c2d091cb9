/*
 * fair_library.h - the library (interpose/) that is preloaded into commands, so that an arbiter
 * schedules their CUDA launches.
 */
#ifndef HES_APP_FAIR_LIBRARY_H
#define HES_APP_FAIR_LIBRARY_H

#include "app/app.h"

/**
 * The variable that preloads it, "LD_PRELOAD=...".
 * @param place  where it is installed, from the program's folder on
 * @return 0, then free() @out; -ENOENT it is not there; -EPERM others could replace it; -EINVAL its
 * name; -ENOMEM
 */
int fair_library_preload(const struct app *app, const char *place, char **out, struct hes_err *err);

#endif
