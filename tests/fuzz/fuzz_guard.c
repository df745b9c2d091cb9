/*
 * fuzz_guard.c - what program and guard say to one another, read and never carried out: the first
 * byte says which of the two speaks.
 *
 * An undo entry of a list names no process of ours and no folder that leads elsewhere; an answer is
 * an error with a sentence, or tells of what was undone and reads back.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz_file.h"
#include "launch/undo_log.h"
#include "launch/undo_check.h"
#include "launch/guard_wire.h"

/* Process 100 has the list, started by 50, of 1; in job outer/aaaa... */
static const struct hes_undo_facts facts = {
	.above = { { 100, 1000 }, { 50, 500 }, { 1, 1 } },
	.n_above = 3,
	.cgroup = "/sys/fs/cgroup/user/heshare-9-aaaaaaaaaaaaaaaa/below",
	.mark = "aaaaaaaaaaaaaaaa/bbbbbbbbbbbbbbbb",
	.folder = "/home/a/plan.run",
	.uid = 1000,
};

/* What may never be undone. */
static bool is_ours(const struct hes_undo *d)
{
	const size_t n = strlen(d->cgroup);

	if (d->kind == HES_UNDO_JOB)
		return d->job.pid <= 1 || (d->job.pid == 100 && d->job.started == 1000) ||
		       strstr(d->cgroup, "/../") ||
		       (n && strncmp(facts.cgroup, d->cgroup, n) == 0 &&
			(!facts.cgroup[n] || facts.cgroup[n] == '/'));
	return d->kind == HES_UNDO_MPS && (strstr(d->dir, "/../") || *d->dir != '/');
}

static void read_entry(const char *text)
{
	struct hes_err err = { 0 };
	struct hes_undo d;
	int rc = hes_undo_parse(text, &d, &err);

	if (!rc)
		rc = hes_undo_check(&d, &facts, &err);
	if (rc ? !err.msg[0] : is_ours(&d))
		abort();
}

static void read_word(const char *text)
{
	const char *rest = NULL;

	switch (hes_guard_word_read(text, &rest)) {
	case HES_GUARD_ADD:
	case HES_GUARD_REMOVE:
		read_entry(rest);
		break;
	case HES_GUARD_FRESH:
	case HES_GUARD_KEEP:
		if (rest < text || rest > text + strlen(text))
			abort();
		break;
	default:
		if (rest)
			abort();
	}
}

static void read_answer(const char *text)
{
	char again[HES_GUARD_TEXT_MAX];
	struct hes_undone m, twice;
	struct hes_err err = { 0 };
	int rc = hes_guard_answer_read(text, &err);

	if (rc > 0 || (rc && !err.msg[0]))
		abort();
	if (!hes_undone_read(text, &m))
		return;
	hes_undone_write(&m, again);
	if (rc || !hes_undone_read(again, &twice) || memcmp(&m, &twice, sizeof(m)) != 0)
		abort();
	for (unsigned i = 0; i < m.n_stuck && i < HES_STUCK_MAX; i++)
		if (m.stuck[i].pid <= 1)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *text = len ? strndup((const char *)data + 1, len - 1) : NULL;

	if (!text)
		return 0;
	if (*data == 'g')
		read_answer(text);
	else
		read_word(text);
	free(text);
	return 0;
}
