/*
 * undo_log.c - undo entries as lines and in a list; see undo_log.h.
 *
 *	clock UUID
 *	power UUID MILLIWATTS
 *	mps UUID FOLDER
 *	job PID STARTED MARK [CGROUP]
 *	hold PID STARTED MARK [CGROUP]
 *	gpu UUID
 *
 * A part that may contain spaces comes last.
 */
#include "launch/undo_log.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"

static const struct {
	const char *name;
	bool gpu;  /* a UUID follows */
	bool rest; /* a folder comes last */
} kinds[] = {
	[HES_UNDO_CLOCK] = { "clock", true, false }, [HES_UNDO_MPS] = { "mps", true, true },
	[HES_UNDO_JOB] = { "job", false, true },     [HES_UNDO_HOLD] = { "hold", false, true },
	[HES_UNDO_CLAIM] = { "gpu", true, false },
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static bool one_word(const char *text)
{
	return *text && !strpbrk(text, " \n");
}

int hes_undo_format(const struct hes_undo *d, char out[HES_UNDO_LINE_MAX], struct hes_err *err)
{
	const char *rest = d->kind == HES_UNDO_MPS ? d->dir : d->cgroup;
	char line[HES_UNDO_LINE_MAX];
	int n;

	if (kinds[d->kind].gpu && !one_word(d->uuid))
		return hes_fail(err, -EINVAL, "an undo entry for the GPU \"%s\"; a UUID is needed",
				d->uuid);
	if (kinds[d->kind].rest && strchr(rest, '\n'))
		return hes_fail(err, -EINVAL, "the folder \"%s\" has a line break in its name",
				rest);
	switch (d->kind) {
	case HES_UNDO_CLOCK:
	case HES_UNDO_CLAIM:
		n = snprintf(line, sizeof(line), "%s %s", kinds[d->kind].name, d->uuid);
		break;
	case HES_UNDO_MPS:
		n = snprintf(line, sizeof(line), "mps %s %s", d->uuid, d->dir);
		break;
	default:
		n = snprintf(line, sizeof(line), "%s %d %" PRIu64 " %s %s", kinds[d->kind].name,
			     (int)d->job.pid, d->job.started, d->mark, d->cgroup);
	}
	if (n >= (int)sizeof(line))
		return hes_fail(err, -ENAMETOOLONG, "an undo entry of %d bytes; it is too long", n);
	memcpy(out, line, (size_t)n + 1);
	return 0;
}

/* Parse a number of digits only. @return whether it is one, at most @max */
static bool parse_number(const char *word, uint64_t max, uint64_t *out)
{
	return !hes_parse_u64("number", word, 0, max, out, NULL);
}

static bool parse_job(const char *text, struct hes_undo *d)
{
	char pid_word[24], start_word[24];
	uint64_t pid;
	int at = -1;

	if (sscanf(text, "%23s %23s %191s %n", pid_word, start_word, d->mark, &at) != 3 || at < 0 ||
	    !parse_number(pid_word, INT_MAX, &pid) || pid <= 1 ||
	    !parse_number(start_word, INT64_MAX, &d->job.started))
		return false;
	d->job.pid = (pid_t)pid;
	return snprintf(d->cgroup, sizeof(d->cgroup), "%s", text + at) < (int)sizeof(d->cgroup);
}

/* Parse what follows the kind. @return whether it is complete */
static bool parse_rest(const char *text, struct hes_undo *d)
{
	int at = -1;

	switch (d->kind) {
	case HES_UNDO_CLOCK:
	case HES_UNDO_CLAIM:
		return sscanf(text, "%79s%n", d->uuid, &at) == 1 && !text[at];
	case HES_UNDO_MPS:
		return sscanf(text, "%79s %n", d->uuid, &at) == 1 && at > 0 && text[at] &&
		       snprintf(d->dir, sizeof(d->dir), "%s", text + at) < (int)sizeof(d->dir);
	default:
		return parse_job(text, d);
	}
}

int hes_undo_parse(const char *line, struct hes_undo *out, struct hes_err *err)
{
	struct hes_undo d = { 0 };

	for (size_t i = 0; i < KINDS; i++) {
		size_t n = strlen(kinds[i].name);

		if (strncmp(line, kinds[i].name, n) != 0 || line[n] != ' ')
			continue;
		d.kind = (enum hes_undo_kind)i;
		if (!parse_rest(line + n + 1, &d))
			break;
		*out = d;
		return 0;
	}
	return hes_fail(err, -EINVAL, "\"%.80s\" is no undo entry, such as \"clock UUID\"", line);
}

static bool same_entry(const struct hes_undo *a, const struct hes_undo *b)
{
	if (a->kind != b->kind)
		return false;
	if (!kinds[a->kind].gpu)
		return a->job.pid == b->job.pid && a->job.started == b->job.started;
	return strcmp(a->uuid, b->uuid) == 0 && strcmp(a->dir, b->dir) == 0;
}

long hes_undo_log_find(const struct hes_undo_log *l, const struct hes_undo *d)
{
	for (size_t i = 0; i < l->n; i++)
		if (same_entry(&l->v[i], d))
			return (long)i;
	return -1;
}

int hes_undo_log_add(struct hes_undo_log *l, const struct hes_undo *d, struct hes_err *err)
{
	if (hes_undo_log_find(l, d) >= 0)
		return 0;
	if (l->n == l->room) {
		size_t room = l->room ? 2 * l->room : 16;
		struct hes_undo *more = realloc(l->v, room * sizeof(*more));

		if (!more)
			return hes_fail(err, -ENOMEM, "no memory for %zu undo entries", room);
		l->v = more;
		l->room = room;
	}
	l->v[l->n++] = *d;
	return 0;
}

void hes_undo_log_remove(struct hes_undo_log *l, size_t i)
{
	l->n--;
	memmove(&l->v[i], &l->v[i + 1], (l->n - i) * sizeof(*l->v));
}

void hes_undo_log_free(struct hes_undo_log *l)
{
	free(l->v);
	*l = (struct hes_undo_log){ 0 };
}
