/*
 * head_state.c - paths, jobs and nodes of a run on several nodes; see head_state.h.
 */
#include "cluster/head_state.h"

#include <stdio.h>

void head_path(const struct head *h, const char *node, unsigned round, const char *end,
	       char out[HES_JOURNAL_PATH_MAX])
{
	char number[16] = "";

	if (round)
		snprintf(number, sizeof(number), "-%u", round);
	snprintf(out, HES_JOURNAL_PATH_MAX, "%.*s%s%s/%lld%s%s",
		 HES_JOURNAL_PATH_MAX - 2 * HES_NAME_MAX - 64, h->run->folder, node ? "/" : "",
		 node ? node : "", (long long)h->run->started_us, number, end);
}

long head_find_job(const struct head *h, const char *id)
{
	const uint32_t at = hes_text_map_find(&h->names, id);

	return at == HES_HASH_NONE ? -1 : (long)at;
}

size_t head_count_up(const struct head *h)
{
	size_t up = 0;

	for (size_t i = 0; i < h->q->launcher->n; i++)
		up += h->offers[i].good && !h->nodes[i].lost && !h->nodes[i].drained;
	return up;
}

void head_retry(struct head *h, int rc, const struct hes_err *err)
{
	if (!rc)
		return;
	if (h->log.blocked_us == RUN_NEVER_US)
		run_tell(&h->log, "%s; it is tried again", err->msg);
	run_retry(&h->log, err);
	h->failed = true;
}
