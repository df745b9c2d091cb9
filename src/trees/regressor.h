/*
 * regressor.h - inside of a regressor, shared by those who make one (fit,
 * files, LightGBM) and those who ask it.
 *
 * Whoever makes one allocates it by calloc(), fills everything but the
 * walker, and ends with regressor_ready(); hes_regressor_free() takes a
 * half-filled one.
 */
#ifndef HES_TREES_REGRESSOR_H
#define HES_TREES_REGRESSOR_H

#include "heshare/regressor.h"
#include "trees/ensemble.h"

struct walker;
struct sieve;

struct regressor_output {
	char name[HES_REGRESSOR_NAME_MAX];
	char unit[HES_REGRESSOR_UNIT_MAX];
	struct hes_regressor_errors errors;
};

struct hes_regressor {
	struct hes_regressor_info about;
	char   (*feature_names)[HES_REGRESSOR_NAME_MAX];
	struct regressor_output *outputs;
	struct ensemble ensemble; /* of every kind with trees */
	struct walker  *walker;   /* the ensemble laid out for walking */
	double *weights;          /* linear: of each output, n_features slopes and the constant */
	double *means;            /* linear: of each feature, for missing values */
};

/** What its trees are asked of a row feature by feature; NULL: only a whole row is quick. */
const struct sieve *regressor_sieve(const struct hes_regressor *r);

/** Count trees and nodes, lay the ensemble out for walking. @return 0 or -ENOMEM */
int regressor_ready(struct hes_regressor *r);

#endif
