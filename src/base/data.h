/*
 * data.h - files of the folder data/ that are built into the program. data/meson.build names them,
 * tools/embed.py makes the table.
 */
#ifndef HES_BASE_DATA_H
#define HES_BASE_DATA_H

#include <stddef.h>

struct hes_data_entry {
	const char *name;
	const unsigned char *text; /* NUL after len bytes */
	size_t len;
};

/** What tools/embed.py generates. */
extern const struct hes_data_entry hes_data_table[];
extern const size_t hes_data_count;

/** @param name  path below data/ ("gpu_types.yaml"). @return NUL-terminated text, NULL when not
 * built in */
const char *hes_data_find(const char *name, size_t *len);

#endif
