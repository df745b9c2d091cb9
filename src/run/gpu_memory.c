/*
 * gpu_memory.c - hold jobs to their memory on a shared GPU, and find work outside of jobs; see
 * gpu_memory.h.
 */
#include "run/gpu_memory.h"

#include <inttypes.h>
#include <unistd.h>

#include "base/texts.h"
#include "run/environment.h"

#define NAMED     4 /* contexts in a sentence */
#define NAMES_MAX (NAMED * 162 + 32)

void run_usage_reset(struct run_task *t, uint32_t limit_mib)
{
	t->limit_mib = limit_mib;
	t->most_mib = t->contexts = 0;
	t->lack = RUN_LACK_NONE;
	t->seen[0] = '\0';
}

/* --- sentences --- */

/* "may use 4400 MiB because the jobs file says 4000 (it used 7679 when it was profiled)" */
static void seen_add_limit(struct run_task *t, const struct run_task *of)
{
	const struct hes_job *j = of->job;

	hes_text_add(t->seen, sizeof(t->seen), "", "may use %" PRIu32 " MiB because ",
		     run_memory_limit(j, of->gpu->queue.memory_mib));
	if (j->memory_mib)
		hes_text_add(t->seen, sizeof(t->seen), "", "the jobs file says %" PRIu32,
			     j->memory_mib);
	if (j->measured_mib || !j->memory_mib)
		hes_text_add(t->seen, sizeof(t->seen), "",
			     "%sit used %" PRIu32 " when it was profiled",
			     j->memory_mib ? "; " : "", j->measured_mib);
}

/* --- looks --- */

size_t run_member_rules(const struct run_gpu *g, struct hes_member_rule out[HES_MAX_SHARING + 1])
{
	out[0] = (struct hes_member_rule){ .mark = "",
					   .cgroup = "",
					   .mps_pipe = g->mps.on ? g->mps.daemon.pipe_dir : "" };
	for (uint32_t i = 0; i < run_gpu_started(g); i++)
		out[1 + i] = hes_child_rule(&g->running[i]->child);
	return 1 + run_gpu_started(g);
}

static void usage_sum(struct run_gpu *g)
{
	uint64_t bytes[HES_MAX_SHARING] = { 0 };
	uint32_t contexts[HES_MAX_SHARING] = { 0 };

	for (size_t i = 0; i < g->contexts.n; i++) {
		const struct hes_context *c = &g->contexts.v[i];

		if (c->of == HES_CONTEXT_FOREIGN || c->of == 0 || c->server)
			continue;
		bytes[c->of - 1] += c->memory_bytes;
		contexts[c->of - 1]++;
	}
	for (uint32_t i = 0; i < run_gpu_started(g); i++) {
		struct run_task *t = g->running[i];
		uint32_t mib = (uint32_t)(bytes[i] >> 20);

		t->most_mib = mib > t->most_mib ? mib : t->most_mib;
		t->contexts = contexts[i] > t->contexts ? contexts[i] : t->contexts;
		/* Whom it may share the GPU with depends on what it really uses. */
		if (t->most_mib > t->place->memory_mib)
			t->place->memory_mib = t->most_mib;
	}
}

/* Of a job with a single process MPS itself keeps the limit. */
static bool usage_exceeds(const struct run_log *log, struct run_gpu *g, struct run_task *t)
{
	if (!t->limit_mib || t->most_mib <= t->limit_mib || t->contexts < 2 || t->alone ||
	    t->seen[0] || t->ending != ENDING_OWN)
		return false;
	hes_text_add(t->seen, sizeof(t->seen), "",
		     "its %" PRIu32 " processes used %" PRIu32 " MiB of %s; it ", t->contexts,
		     t->most_mib, run_gpu_name(g));
	seen_add_limit(t, t);
	t->place->alone = true;
	run_tell(log, "job %s: %s; %s", t->job->id, t->seen,
		 run_gpu_started(g) > 1 ? "it is ended, because its co-runners need the rest"
					: "no other job starts there while it runs");
	return run_gpu_started(g) > 1;
}

uint32_t run_usage_look(const struct hes_devices *d, const struct run_log *log, struct run_gpu *g)
{
	struct hes_member_rule rules[HES_MAX_SHARING + 1];
	uint32_t exceed = 0;
	size_t n;

	if (g->lost || !g->n_running || (!g->mps.on && run_gpu_started(g) < 2))
		return 0;
	n = run_member_rules(g, rules);
	if (hes_contexts_look(d, g->device, rules, n, &g->contexts, NULL))
		return 0;
	usage_sum(g);
	for (uint32_t i = 0; i < g->n_running; i++)
		exceed |= (uint32_t)usage_exceeds(log, g, g->running[i]) << i;
	return exceed;
}

/* In a container the driver may list processes that /proc does not have. Where the job has no
 * others they are its own. */
int run_usage_look_alone(const struct hes_devices *d, struct run_gpu *g)
{
	struct hes_member_rule rules[HES_MAX_SHARING + 1];
	struct run_task *t = g->running[0];
	size_t n = run_member_rules(g, rules);
	uint32_t own = 0, others = 0, hidden = 0;
	uint64_t bytes = 0;
	int rc = hes_contexts_look(d, g->device, rules, n, &g->contexts, NULL);

	if (rc)
		return rc;
	usage_sum(g);
	for (size_t i = 0; i < g->contexts.n; i++) {
		const struct hes_context *c = &g->contexts.v[i];

		own += c->of == 1;
		others += c->of == HES_CONTEXT_FOREIGN && c->id.started;
		if (c->of != HES_CONTEXT_FOREIGN || c->id.started)
			continue;
		hidden++;
		bytes += c->has_memory ? c->memory_bytes : 0;
	}
	if (own || !hidden)
		return others + hidden > 0;
	t->contexts = hidden > t->contexts ? hidden : t->contexts;
	t->most_mib = bytes >> 20 > t->most_mib ? (uint32_t)(bytes >> 20) : t->most_mib;
	return others > 0;
}

/* --- judged --- */

static struct run_use usage_of(const struct run_task *t)
{
	return (struct run_use){
		.limit_mib = run_memory_limit(t->job, t->gpu->queue.memory_mib),
		.most_mib = t->most_mib ? t->most_mib : hes_job_memory_mib(t->job),
		.contexts = t->contexts,
	};
}

static bool judge_own(struct run_task *t)
{
	if (t->lack == RUN_LACK_CLIENTS) {
		hes_text_add(t->seen, sizeof(t->seen), "",
			     "it had %" PRIu32 " processes on %s, and MPS serves 48 or 60 on a GPU",
			     t->contexts, run_gpu_name(t->gpu));
	} else if (t->limit_mib) {
		hes_text_add(t->seen, sizeof(t->seen), "", "it ran out of GPU memory: it ");
		seen_add_limit(t, t);
	} else {
		hes_text_add(t->seen, sizeof(t->seen), "",
			     "it ran out of GPU memory on %s, which has %" PRIu32 " MiB",
			     run_gpu_name(t->gpu), t->gpu->queue.memory_mib);
	}
	/* Alone it has neither limit. */
	t->place->alone |= t->lack == RUN_LACK_CLIENTS || t->limit_mib;
	return false;
}

static bool judge_taken(struct run_task *t, const struct run_task *taker)
{
	hes_text_add(t->seen, sizeof(t->seen), "", "%s",
		     t->lack == RUN_LACK_CLIENTS ? "MPS had no place for another client"
						 : "the GPU had no memory left");
	t->place->alone = true;
	t->cause = t->seen;
	if (!taker) {
		hes_text_add(t->seen, sizeof(t->seen), "",
			     ", although its co-runners kept to their limits");
		return true;
	}
	hes_text_add(t->seen, sizeof(t->seen), "", ": %" PRIu32 " process%s of job %s",
		     taker->contexts, taker->contexts == 1 ? "" : "es", taker->job->id);
	if (t->lack == RUN_LACK_CLIENTS) {
		hes_text_add(t->seen, sizeof(t->seen), "",
			     " were there, and MPS serves 48 or 60 on a GPU");
		return true;
	}
	hes_text_add(t->seen, sizeof(t->seen), "", " used %" PRIu32 " MiB, and it ",
		     taker->most_mib);
	seen_add_limit(t, taker);
	return true;
}

bool run_judge_lack(struct run_gpu *g, uint32_t failed)
{
	struct run_use use[HES_MAX_SHARING];
	struct run_task *t = g->failure.v[failed];
	long taker;

	for (uint32_t i = 0; i < g->failure.n; i++)
		use[i] = usage_of(g->failure.v[i]);
	taker = run_find_taker(use, g->failure.n, failed, t->lack, g->queue.memory_mib);
	t->seen[0] = '\0';
	if (taker == (long)failed || t->co_failures >= RUN_MAX_CO_FAILURES)
		return judge_own(t);
	return judge_taken(t, taker < 0 ? NULL : g->failure.v[taker]);
}

/* --- outside of jobs --- */

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
