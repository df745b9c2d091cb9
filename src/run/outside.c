/*
 * outside.c - work outside of jobs' processes; see outside.h.
 *
 * A context counts if its process began after the job's first attempt. So a desktop, or a daemon
 * that served others before, holds up no job.
 */
#include "run/outside.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/texts.h"
#include "launch/contexts.h"
#include "run/gpu_memory.h"

#define NAMED     4 /* contexts in a sentence */
#define NAMES_MAX (NAMED * 162 + 32)

/* Contexts of no job, of processes that began at @since or later, in words. @return how many */
static size_t name_foreign(const struct hes_contexts *all, uint64_t since, char out[NAMES_MAX])
{
	size_t n = 0;

	out[0] = '\0';
	for (size_t i = 0; i < all->n; i++) {
		const struct hes_context *c = &all->v[i];
		char text[160];

		if (c->of != HES_CONTEXT_FOREIGN || c->id.started < since || c->server ||
		    c->id.pid == getpid())
			continue;
		n++;
		hes_context_text(c, text, sizeof(text));
		if (n <= NAMED)
			hes_text_add(out, NAMES_MAX, ", ", "%s", text);
	}
	if (n > NAMED)
		hes_text_add(out, NAMES_MAX, " ", "and %zu more", n - NAMED);
	return n;
}

static size_t find_foreign(const struct hes_devices *d, const struct run_gpu *g, uint64_t since,
			   char out[NAMES_MAX])
{
	struct hes_member_rule rules[HES_MAX_SHARING + 1];
	struct hes_contexts all = { 0 };
	const size_t n_rules = run_member_rules(g, rules);
	size_t n;

	if (hes_contexts_look(d, g->device, rules, n_rules, &all, NULL))
		return 0;
	n = name_foreign(&all, since, out);
	hes_contexts_free(&all);
	return n;
}

void run_tell_foreign(const struct run_gpus *gs, const struct run_log *log)
{
	char names[NAMES_MAX];

	for (size_t i = 0; i < gs->n; i++) {
		const struct run_gpu *g = &gs->v[i];
		size_t n = g->queue.n ? find_foreign(gs->devices, g, 0, names) : 0;

		if (n)
			run_tell(log,
				 "%s is not free: %s ha%s a context there and belong%s to no job "
				 "of this run: jobs share the GPU with it, and are slower or run "
				 "out of memory",
				 run_gpu_name(g), names, n == 1 ? "s" : "ve", n == 1 ? "s" : "");
	}
}

void run_name_outside(const struct hes_devices *d, const struct run_log *log, struct run_task *t)
{
	char names[NAMES_MAX];
	/* The contexts that may do the job's work. */
	size_t n = t->began ? find_foreign(d, t->gpu, t->began, names) : 0;

	t->outside = n;
	if (n)
		run_tell(log,
			 "job %s has ended, but %s on %s began after it and belong%s to no job: "
			 "the job's work may go on there",
			 t->job->id, names, run_gpu_name(t->gpu), n == 1 ? "s" : "");
}

bool run_waits_for_outside(const struct hes_devices *d, const struct run_log *log,
			   struct run_task *t)
{
	char names[NAMES_MAX];

	if (!t->record.attempts || !t->began || !find_foreign(d, t->gpu, t->began, names))
		return false;
	if (!t->waits_outside)
		run_tell(
			log,
			"job %s is not started again yet: %s on %s began after its first attempt "
			"and may still do its work; end it, as with docker stop or kill, or let it "
			"end; then the job starts",
			t->job->id, names, run_gpu_name(t->gpu));
	t->waits_outside = true;
	return true;
}
