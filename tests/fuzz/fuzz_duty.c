/* fuzz_duty.c - any line is a duty of a guard that comes back from its own line, or an error with a sentence. */
#include <stdlib.h>
#include <string.h>

#include "launch/duty.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char line[HES_DUTY_LINE_MAX], again[HES_DUTY_LINE_MAX], *text = strndup((const char *)data, len);
	struct hes_err err = { 0 };
	struct hes_duty d, twice;

	if (!text)
		return 0;
	if (hes_duty_parse(text, &d, &err)) {
		if (!err.msg[0])
			abort();
	} else if (!hes_duty_format(&d, line, &err)) {
		if (hes_duty_parse(line, &twice, NULL) || hes_duty_format(&twice, again, NULL) || strcmp(line, again))
			abort();
	}
	free(text);
	return 0;
}
