/*
 * inputs.c - dates, lists of GPU types, how jobs are known, progress of planning; see inputs.h.
 */
#include "cli/inputs/inputs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "app/known.h"
#include "cli/cli.h"
#include "heshare/policy.h"

int cli_parse_when(const char *what, const char *text, int64_t *out_us, struct hes_err *err)
{
	static const char *const forms[] = { "%Y-%m-%d", "%Y-%m-%dT%H:%M:%SZ" };

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		struct tm t = { 0 };
		const char *end = strptime(text, forms[i], &t);
		int day = t.tm_mday;
		time_t s;

		if (!end || *end)
			continue;
		s = timegm(&t);
		/* The 31st of February was taken for a day of March. */
		if (t.tm_mday != day)
			continue;
		*out_us = (int64_t)s * 1000000;
		return 0;
	}
	return hes_fail(err, -EINVAL,
			"%s: \"%.40s\" is no date such as 2026-11-21 or 2026-11-21T14:30:00Z (UTC)",
			what, text);
}

void cli_format_when(int64_t us, char out[20])
{
	time_t s = (time_t)(us / 1000000);
	struct tm t;

	if (!gmtime_r(&s, &t) || !strftime(out, 20, "%Y-%m-%d %H:%M", &t))
		strcpy(out, "?");
}

void cli_known_print(FILE *f, const uint32_t known[HES_KNOWN_SOURCES])
{
	static const char *const words[][2] = { { "measured", "measured" },
						{ "known network", "known networks" },
						{ "derived", "derived" },
						{ "unknown", "unknown" } };
	size_t put = 0;

	fputs("Jobs:", f);
	for (int i = 0; i < HES_KNOWN_SOURCES; i++)
		if (known[i])
			fprintf(f, "%s %" PRIu32 " %s", put++ ? "," : "", known[i],
				words[i][known[i] > 1]);
	fputs(".", f);
}

json_t *cli_known_json(const uint32_t known[HES_KNOWN_SOURCES])
{
	json_t *o = json_object();

	for (int i = 0; i < HES_KNOWN_SOURCES; i++)
		json_object_set_new(o, hes_known_sources[i], json_integer(known[i]));
	return o;
}

void cli_plan_progress(void *policy, size_t done, size_t of)
{
	char what[2 * HES_NAME_MAX];

	snprintf(what, sizeof(what), "planning by %s, cell",
		 ((const struct hes_policy *)policy)->name);
	cli_progress(what, done, of);
}
