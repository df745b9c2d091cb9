/* fuzz_mps.c - whatever the MPS control daemon prints names processes that can be, and no more are
 * written than there is room. */
#include <stdlib.h>
#include <string.h>

#include "gpu/mps_answer.h"
#include "fuzz_file.h"

#define ROOM 4

static size_t lines(const char *text)
{
	size_t n = 1;

	while ((text = strchr(text, '\n'))) {
		n++;
		text++;
	}
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	pid_t out[ROOM + 1] = { [ROOM] = -77 };
	char *text = strndup((const char *)data, len);
	size_t n;

	if (!text)
		return 0;
	n = hes_mps_processes_read(text, out, ROOM);
	for (size_t i = 0; i < n && i < ROOM; i++)
		if (out[i] <= 0)
			abort();
	if (out[ROOM] != -77 || n > lines(text) || n != hes_mps_processes_read(text, NULL, 0))
		abort();
	free(text);
	return 0;
}
