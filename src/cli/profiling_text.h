/*
 * profiling_text.h - what profiling took, as a row of reports and as JSON.
 */
#ifndef HES_CLI_PROFILING_TEXT_H
#define HES_CLI_PROFILING_TEXT_H

#include <jansson.h>

#include "heshare/store.h"

#define CLI_PROFILING_MAX 160
/** "12.3 kJ in 4 min 10 s of GPU time". @return @out */
const char *cli_profiling_text(char out[CLI_PROFILING_MAX], const struct hes_profiling_cost *cost);
/** The same, or "none", or that it was not measured, of all or some. */
const char *cli_known_profiling_text(char out[CLI_PROFILING_MAX],
				     const struct hes_store_profiling *p);
/** @return {"sessions": 2, "not_measured": 0, "gpu_s": 250.1, "energy_j": 12345.6} */
json_t *cli_known_profiling_json(const struct hes_store_profiling *p);

#endif
