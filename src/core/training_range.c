/*
 * training_range.c - names of what lies outside of the samples; see heshare/training_range.h.
 */
#include "base/texts.h"
#include "heshare/training_range.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const struct {
	enum hes_outside one;
	const char *name;
} names[] = {
	{ HES_OUTSIDE_TYPE, "GPU type" },
	{ HES_OUTSIDE_WORKLOAD, "workload" },
	{ HES_OUTSIDE_BATCH_SIZE, "batch size" },
	{ HES_OUTSIDE_SHARE, "share" },
	{ HES_OUTSIDE_CLOCK, "clock" },
	{ HES_OUTSIDE_CO_RUN, "co-runners" },
	{ HES_OUTSIDE_PAIR, "workload on GPU type" },
	{ HES_OUTSIDE_CO_RUNNER, "unsampled co-runner" },
};

const char *hes_outside_name(enum hes_outside one)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].one == one)
			return names[i].name;
	return NULL;
}

void hes_outside_text(uint32_t set, char out[HES_OUTSIDE_TEXT])
{
	out[0] = '\0';
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (set & names[i].one)
			hes_text_add(out, HES_OUTSIDE_TEXT, ", ", "%s", names[i].name);
}

uint32_t hes_outside_find(const char *name)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i].name, name) == 0)
			return names[i].one;
	return 0;
}
