/*
 * schema.h - the tables of a store, as steps from one version to the next.
 *
 * To change the schema, append a step to hes_schema_steps. Never edit a released step. Stores from
 * before the first step are refused.
 */
#ifndef HES_STORE_SCHEMA_H
#define HES_STORE_SCHEMA_H

#include "store/row_sql.h"

#define HES_SCHEMA_APPLICATION 0x48655331 /* "HeS1": the owner of the file in SQLite's header */
#define HES_SCHEMA_ROWS        3

#define HES_SCHEMA_FIRST 13 /* the version of heshare 0.1.0 */

struct hes_schema_step {
	size_t version;   /* that it leads to; rising, but for steps that belong together */
	const char *what; /* "profiles and samples" */
	const char *sql;  /* run inside a transaction */
	const struct hes_row_table *rows[HES_SCHEMA_ROWS]; /* tables of rows to create before;
							      then NULL */
};

extern const struct hes_schema_step hes_schema_steps[];
extern const size_t hes_schema_n_steps;

/**
 * The version of a database; 0: an empty one. Changes nothing.
 * @return 0; -EINVAL not a store; -ENOTSUP newer than the @n steps, or older than the first
 */
int hes_schema_version(struct hes_store *s, const struct hes_schema_step *steps, size_t n,
		       size_t *out, struct hes_err *err);

/**
 * Whether all that the database holds are tables and their indexes. Views, triggers, virtual tables
 * and computed columns are programs of the one who wrote the file: heshare makes none.
 * @return 0; -EINVAL
 */
int hes_schema_check_kinds(struct hes_store *s, struct hes_err *err);

/**
 * Bring a database up to the version of @n steps, all of them or none, also when other
 * processes try the same. An empty database gets all steps.
 * @return as hes_schema_version()
 */
int hes_schema_bring_up(struct hes_store *s, const struct hes_schema_step *steps, size_t n,
			struct hes_err *err);

#endif
