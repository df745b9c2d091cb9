/*
 * lightgbm.h - what LightGBM's text models say in numbers; shared by writing
 * (lightgbm.c) and reading (lightgbm_read.c) them.
 */
#ifndef HES_PREDICT_LIGHTGBM_H
#define HES_PREDICT_LIGHTGBM_H

/* Bits of decision_type. */
#define LIGHTGBM_CATEGORICAL  1
#define LIGHTGBM_DEFAULT_LEFT 2
#define LIGHTGBM_MISSING      12 /* mask: what counts as missing */
#define LIGHTGBM_MISSING_ZERO 4
#define LIGHTGBM_MISSING_NAN  8

#endif
