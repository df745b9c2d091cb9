/*
 * data_table.h - the type of the table that tools/embed.py generates.
 */
#ifndef HES_BASE_DATA_TABLE_H
#define HES_BASE_DATA_TABLE_H

#include <stddef.h>

struct hes_data_entry {
	const char *name;
	const unsigned char *text; /* NUL after len bytes */
	size_t len;
};

extern const struct hes_data_entry hes_data_table[];
extern const size_t hes_data_count;

#endif
