/*
 * guard_wire.c - read and write the messages of program and guard; see guard_wire.h. Pure.
 */
#include "launch/guard_wire.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum hes_guard_word hes_guard_word_read(const char *text, const char **rest)
{
	static const struct {
		const char *begins;
		enum hes_guard_word word;
	} words[] = {
		{ "fresh ", HES_GUARD_FRESH },
		{ "keep ", HES_GUARD_KEEP },
		{ "+ ", HES_GUARD_ADD },
		{ "- ", HES_GUARD_REMOVE },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t n = strlen(words[i].begins);

		if (strncmp(text, words[i].begins, n) == 0) {
			*rest = text + n;
			return words[i].word;
		}
	}
	return strcmp(text, "end") == 0 ? HES_GUARD_END : HES_GUARD_UNKNOWN;
}

void hes_undone_write(const struct hes_undone *m, char out[HES_GUARD_TEXT_MAX])
{
	size_t n = (size_t)snprintf(out, HES_GUARD_TEXT_MAX, "ok %u %u %u %u %u", m->clocks,
				    m->daemons, m->jobs, m->failed, m->n_stuck);

	for (unsigned i = 0; i < m->n_stuck && i < HES_STUCK_MAX; i++)
		n += (size_t)snprintf(out + n, HES_GUARD_TEXT_MAX - n, " %d:%" PRIu64,
				      (int)m->stuck[i].pid, m->stuck[i].started);
}

/* Parse a number after @lead and move *@at behind it. @return whether it is one, at most @max */
static bool take_number(const char **at, char lead, uint64_t max, uint64_t *out)
{
	char *end;

	if (**at != lead || !((*at)[1] >= '0' && (*at)[1] <= '9'))
		return false;
	errno = 0;
	*out = strtoull(*at + 1, &end, 10);
	*at = end;
	return !errno && *out <= max;
}

bool hes_undone_read(const char *answer, struct hes_undone *out)
{
	struct hes_undone m = { 0 };
	unsigned *const counts[] = { &m.clocks, &m.daemons, &m.jobs, &m.failed, &m.n_stuck };
	const char *at = answer + 2;
	uint64_t v;

	if (strncmp(answer, "ok", 2) != 0)
		return false;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		if (!take_number(&at, ' ', UINT_MAX, &v))
			return false;
		*counts[i] = (unsigned)v;
	}
	for (unsigned i = 0; i < m.n_stuck && i < HES_STUCK_MAX; i++) {
		if (!take_number(&at, ' ', INT_MAX, &v) || v <= 1 ||
		    !take_number(&at, ':', INT64_MAX, &m.stuck[i].started))
			return false;
		m.stuck[i].pid = (pid_t)v;
	}
	if (*at)
		return false;
	*out = m;
	return true;
}

int hes_guard_answer_read(const char *answer, struct hes_err *err)
{
	int code = 0, at = 0;

	if (strcmp(answer, "ok") == 0 || strncmp(answer, "ok ", 3) == 0)
		return 0;
	if (sscanf(answer, "no %9d %n", &code, &at) != 1 || code <= 0)
		return hes_fail(err, -EPROTO, "the guard answered \"%.60s\"", answer);
	return hes_fail(err, -code, "%s", answer[at] ? answer + at : strerror(code));
}
