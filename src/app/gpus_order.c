/*
 * gpus_order.c - CUDA's numbers of the GPUs of this machine; see gpus_order.h.
 */
#include "app/gpus_order.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/spawn.h"

#define ANSWER_MAX_BYTES 16384
#define MOST_GPUS        (ANSWER_MAX_BYTES / CUDA_ORDER_UUID_MAX)
#define UUID_LENGTH      40    /* "GPU-" and 32 digits in five groups */
#define WAIT_MS          60000 /* CUDA starts slowly on a machine with many GPUs */

/* The last line, which says why. */
static const char *last_line(char *text)
{
	size_t n = strlen(text);
	const char *last;

	while (n && text[n - 1] == '\n')
		text[--n] = '\0';
	last = strrchr(text, '\n');
	return last ? last + 1 : text;
}

int cuda_order_ask(char (**out)[CUDA_ORDER_UUID_MAX], size_t *n, struct hes_err *err)
{
	char *argv[] = { "/proc/self/exe", "gpus", "--cuda-order", NULL };
	static const char *const none[] = { NULL };
	char *text = calloc(1, ANSWER_MAX_BYTES);
	char(*v)[CUDA_ORDER_UUID_MAX] = calloc(MOST_GPUS, sizeof(*v));
	int status = 0, rc = text && v ? 0 : hes_fail(err, -ENOMEM, "out of memory");
	size_t many = 0;

	if (!rc)
		rc = hes_spawn(argv, none, "", NULL, 0, WAIT_MS, text, ANSWER_MAX_BYTES, &status,
			       err);
	if (!rc && status)
		rc = hes_fail(err, -EIO, "CUDA does not say: %.200s", last_line(text));
	/* The driver may print lines of its own. */
	for (char *line = text; !rc && line && many < MOST_GPUS; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (sscanf(line, "%43[-GPUa-f0-9]", v[many]) == 1 &&
		    strncmp(v[many], "GPU-", 4) == 0 && strlen(v[many]) == UUID_LENGTH)
			many++;
	}
	free(text);
	if (rc) {
		free(v);
		return rc;
	}
	*out = v;
	*n = many;
	return 0;
}
