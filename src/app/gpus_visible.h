/*
 * gpus_visible.h - open the GPUs that this process may use: those that CUDA_VISIBLE_DEVICES or
 * Slurm name, else all.
 */
#ifndef HES_APP_GPUS_VISIBLE_H
#define HES_APP_GPUS_VISIBLE_H

#include "app/app.h"
#include "heshare/device.h"

/**
 * Open the GPUs as hes_devices_open() does, and keep those that the environment names. They are
 * numbered from 0, as CUDA numbers them in a program that is started here.
 * @return 0; -ENODEV no GPU is left, and @err says which variable is the cause; as
 * hes_devices_keep()
 */
int app_devices_open(const struct app *app, const struct hes_catalogue *c, struct hes_devices **out,
		     struct hes_err *err);

#endif
