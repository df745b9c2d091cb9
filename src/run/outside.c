/*
 * outside.c - work outside of jobs' processes; see outside.h.
 *
 * A context counts if its process began after the job's first attempt. So a desktop, or a daemon
 * that served others before, holds up no job.
 */
#include "run/outside.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/plural.h"
#include "launch/contexts.h"

#define NAMED 4 /* contexts in a sentence */

static size_t own_rules(const struct run_gpu *g, struct hes_member_rule *out)
{
	size_t n = 0;

	for (uint32_t i = 0; i < g->n_running; i++)
		if (g->running[i]->child.id.pid)
			out[n++] = hes_child_rule(&g->running[i]->child);
	if (g->mps.on)
		out[n++] = (struct hes_member_rule){ .mark = "",
						     .cgroup = "",
						     .mps_pipe = g->mps.daemon.pipe_dir };
	return n;
}

/* The contexts that may do the job's work, in words. @return how many there are */
static size_t find_outside(const struct runner *r, const struct run_task *t, char *out, size_t size)
{
	struct hes_member_rule rules[HES_MAX_SHARING + 1];
	struct hes_contexts all = { 0 };
	const size_t n_rules = own_rules(t->gpu, rules);
	size_t n = 0, at = 0;

	if (!t->began ||
	    hes_contexts_look(r->q->devices, t->gpu->device, rules, n_rules, &all, NULL))
		return 0;
	for (size_t i = 0; i < all.n; i++) {
		const struct hes_context *c = &all.v[i];
		char text[160];

		if (c->of != HES_CONTEXT_FOREIGN || c->id.started < t->began ||
		    c->id.pid == getpid())
			continue;
		n++;
		hes_context_text(c, text, sizeof(text));
		if (n <= NAMED)
			at += (size_t)snprintf(out + at, size - at, "%s%s", n > 1 ? ", " : "",
					       text);
	}
	if (n > NAMED)
		snprintf(out + at, size - at, " and %zu more", n - NAMED);
	hes_contexts_free(&all);
	return n;
}

void run_name_outside(struct runner *r, struct run_task *t)
{
	char names[NAMED * 162 + 32];
	size_t n = find_outside(r, t, names, sizeof(names));

	t->outside = n;
	if (n)
		run_tell(&r->log,
			 "job %s has ended, but %s on %s began after it and belong%s to no job: "
			 "the job's work may go on there",
			 t->job->id, names, run_gpu_name(t->gpu), n == 1 ? "s" : "");
}

bool run_waits_for_outside(struct runner *r, struct run_task *t)
{
	char names[NAMED * 162 + 32];

	if (!t->tries || !find_outside(r, t, names, sizeof(names)))
		return false;
	if (!t->waits_outside)
		run_tell(
			&r->log,
			"job %s is not started again yet: %s on %s began after its first attempt "
			"and may still do its work; end it, as with docker stop or kill, or let it "
			"end; then the job starts",
			t->job->id, names, run_gpu_name(t->gpu));
	t->waits_outside = true;
	return true;
}
