/*
 * schema.h - the tables of a store, as steps from one version to the next.
 *
 * To change the schema, append a step to hes_schema_steps. Never edit a released step. The version
 * of a store is the number of steps it has taken.
 */
#ifndef HES_STORE_SCHEMA_H
#define HES_STORE_SCHEMA_H

#include "store/row_sql.h"

#define HES_SCHEMA_APPLICATION 0x48655331 /* "HeS1": the owner of the file in SQLite's header */
#define HES_SCHEMA_ROWS        3

struct hes_schema_step {
	const char *what;                                  /* "profiles and samples" */
	const char *sql;                                   /* run inside a transaction */
	const struct hes_row_table *rows[HES_SCHEMA_ROWS]; /* tables of rows to create, or to give
							      their later columns; then NULL */
};

extern const struct hes_schema_step hes_schema_steps[];
extern const size_t hes_schema_n_steps;

/**
 * How many steps a database has taken; 0: an empty one. Changes nothing.
 * @return 0; -EINVAL not a store; -ENOTSUP newer than @n
 */
int hes_schema_version(struct hes_store *s, size_t n, size_t *out, struct hes_err *err);

/**
 * Whether all that the database holds are tables and their indexes. Views, triggers, virtual tables
 * and computed columns are programs of the one who wrote the file: heshare makes none.
 * @return 0; -EINVAL
 */
int hes_schema_check_kinds(struct hes_store *s, struct hes_err *err);

/**
 * Bring a database up to the version of @n steps, all of them or none, also when other
 * processes try the same. An empty database gets all steps.
 * @return 0; -EINVAL not a store; -ENOTSUP newer than @n
 */
int hes_schema_bring_up(struct hes_store *s, const struct hes_schema_step *steps, size_t n,
			struct hes_err *err);

#endif
