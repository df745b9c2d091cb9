/* fuzz_undo.c - any line is an undo entry that its own line gives again, or an error with a
 * sentence. */
#include <stdlib.h>
#include <string.h>

#include "launch/undo_log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char line[HES_UNDO_LINE_MAX], again[HES_UNDO_LINE_MAX],
		*text = strndup((const char *)data, len);
	struct hes_err err = { 0 };
	struct hes_undo d, twice;

	if (!text)
		return 0;
	if (hes_undo_parse(text, &d, &err)) {
		if (!err.msg[0])
			abort();
	} else if (!hes_undo_format(&d, line, &err)) {
		if (hes_undo_parse(line, &twice, NULL) || hes_undo_format(&twice, again, NULL) ||
		    strcmp(line, again))
			abort();
	}
	free(text);
	return 0;
}
