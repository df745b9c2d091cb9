/*
 * beyond.c - names of what lies outside of the samples; see heshare/beyond.h.
 */
#include "heshare/beyond.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const struct {
	enum hes_beyond one;
	const char     *name;
} names[] = {
	{ HES_BEYOND_TYPE, "GPU type" },
	{ HES_BEYOND_WORKLOAD, "workload" },
	{ HES_BEYOND_BATCH_SIZE, "batch size" },
	{ HES_BEYOND_SHARE, "share" },
	{ HES_BEYOND_CLOCK, "clock" },
	{ HES_BEYOND_NEIGHBOURS, "neighbours" },
	{ HES_BEYOND_PAIR, "workload on GPU type" },
	{ HES_BEYOND_STRANGER, "unsampled neighbour" },
};

const char *hes_beyond_name(enum hes_beyond one)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].one == one)
			return names[i].name;
	return NULL;
}

void hes_beyond_text(uint32_t set, char out[HES_BEYOND_TEXT])
{
	size_t at = 0;

	out[0] = '\0';
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (set & names[i].one)
			at += (size_t)snprintf(out + at, HES_BEYOND_TEXT - at, "%s%s", at ? ", " : "", names[i].name);
}

uint32_t hes_beyond_find(const char *name)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i].name, name) == 0)
			return names[i].one;
	return 0;
}
