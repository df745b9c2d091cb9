/*
 * data.c - find a built-in file; see data.h.
 */
#include "base/data.h"

#include <string.h>

const char *hes_data_find(const char *name, size_t *len)
{
	for (size_t i = 0; i < hes_data_count; i++) {
		if (strcmp(hes_data_table[i].name, name) == 0) {
			*len = hes_data_table[i].len;
			return (const char *)hes_data_table[i].text;
		}
	}
	return NULL;
}
