/*
 * calibrate_write.h - the fitted parameters as a file.
 */
#ifndef TOOLS_CALIBRATE_WRITE_H
#define TOOLS_CALIBRATE_WRITE_H

#include <stdio.h>

#include "heshare/model.h"

/** Write @m as YAML that hes_model_load() reads back to the same bits. */
void calibrate_write(const struct hes_model *m, FILE *f);

#endif
