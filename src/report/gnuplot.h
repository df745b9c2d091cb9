/*
 * gnuplot.h - run gnuplot on a script and read its drawing.
 */
#ifndef HES_REPORT_GNUPLOT_H
#define HES_REPORT_GNUPLOT_H

#include <stdio.h>

#include "heshare/err.h"

/** A file without a name, for a script or its output. @return NULL with errno */
FILE *gnuplot_scratch(const char *name);

/**
 * Run the gnuplot of PATH on @script, from its start, with its standard
 * output in @output, which is left at its start. No shell, no start-up files,
 * the C locale: the result depends on the script and gnuplot's version alone.
 * @return 0; -ENOENT not installed; -EIO it failed (its first complaint is in
 *         the message); what spawning gave
 */
int gnuplot_run(FILE *script, FILE *output, struct hes_err *err);

#endif
