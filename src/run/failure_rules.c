/*
 * failure_rules.c - decide why jobs failed; see failure_rules.h.
 */
#include "run/failure_rules.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/plural.h"
#include "base/texts.h"
#include "heshare/run.h"
#include "launch/progress.h"

#define CANNOT_RUN 126 /* a shell: found, but no program */
#define NOT_FOUND  127

#define LINE_MOST 1024 /* bytes of a line that are looked at */

#define COMPLETE_PCT  95  /* of the iterations: rounding, and what was skipped */
#define SPEED_UP      1.5 /* of a job after its last line: a co-runner may have left */
#define EARLY_PART    10  /* of the planned time, without progress lines */
#define UNLIKELY_PART 3   /* the same: worth a word */

/* 805, 806, 807 and 810, as the driver's interface and the runtime's name them. */
static const char *const mps_errors[] = {
	"MPS_CONNECTION_FAILED", "MPS_RPC_FAILURE", "MPS_SERVER_NOT_READY", "MPS_CLIENT_TERMINATED",
	"MpsConnectionFailed",   "MpsRpcFailure",   "MpsServerNotReady",    "MpsClientTerminated",
};

const char *hes_run_why_no_command(int status)
{
	return status == NOT_FOUND    ? "its command was not found"
	       : status == CANNOT_RUN ? "its command cannot be executed"
				      : NULL;
}

bool run_tells_of_mps(const char *text)
{
	for (size_t i = 0; i < sizeof(mps_errors) / sizeof(mps_errors[0]); i++)
		if (strstr(text, mps_errors[i]))
			return true;
	return false;
}

/* These can only be of a GPU's memory. */
static const char *const gpu_memory_words[] = {
	"cudaErrorMemoryAllocation", "STATUS_ALLOC_FAILED", /* of cuBLAS, cuDNN and their like */
	"RESOURCE_EXHAUSTED: Out of memory",                /* JAX, TensorFlow */
};

/* These may be of the host's, unless their line names the GPU. */
static const char *const memory_words[] = { "out of memory", "out_of_memory", "outofmemory",
					    "OOM when allocating" };
static const char *const gpu_words[] = { "cuda", "gpu", "torch." };

/* 808 and 809, and their sentences. */
static const char *const client_words[] = {
	"MPS_MAX_CLIENTS_REACHED",
	"MPS_MAX_CONNECTIONS_REACHED",
	"MpsMaxClientsReached",
	"MpsMaxConnectionsReached",
	"support MPS client have been exhausted",
	"MPS server device connections have been exhausted",
};

static bool line_has_any(const char *line, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcasestr(line, words[i]))
			return true;
	return false;
}

#define LINE_HAS(line, words) line_has_any(line, words, sizeof(words) / sizeof((words)[0]))

static bool line_lacks_memory(const char *line)
{
	return LINE_HAS(line, gpu_memory_words) ||
	       (LINE_HAS(line, memory_words) && LINE_HAS(line, gpu_words));
}

/* Whether the program went on after what was printed before, to work or to another error. The
 * exceptions of launchers, such as torchrun's ChildFailedError, only repeat that a process failed.
 */
static bool line_goes_on(const char *line, const struct hes_count_pattern *pattern)
{
	const size_t name = strspn(line, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._");
	struct hes_progress_count count = { .left = 1 };
	uint64_t iterations;
	double seconds;

	if (hes_progress_find(&count, pattern, line, &iterations, &seconds))
		return true;
	return name > 5 && line[name] == ':' && strncmp(line + name - 5, "Error", 5) == 0 &&
	       !strstr(line, "ChildFailedError") && !strstr(line, "CalledProcessError");
}

enum run_lack run_tells_of_lack(const char *text, const char *progress)
{
	char line[LINE_MOST];
	struct hes_count_pattern pattern = { .made = false };
	bool lacks = false;

	if (LINE_HAS(text, client_words))
		return RUN_LACK_CLIENTS;
	if (progress)
		hes_count_pattern_make(&pattern, "progress", progress, NULL);
	for (size_t n; *text; text += n + (text[n] != '\0')) {
		n = strcspn(text, "\r\n");
		snprintf(line, sizeof(line), "%.*s", (int)n, text);
		lacks = line_lacks_memory(line) || (lacks && !line_goes_on(line, &pattern));
	}
	hes_count_pattern_free(&pattern);
	return lacks ? RUN_LACK_MEMORY : RUN_LACK_NONE;
}

static long most_contexts(const struct run_use *v, size_t n, size_t failed)
{
	size_t at = failed;

	for (size_t i = 0; i < n; i++)
		if (v[i].contexts > v[at].contexts)
			at = i;
	return (long)at;
}

static uint32_t over_limit(const struct run_use *u)
{
	return u->limit_mib && u->most_mib > u->limit_mib ? u->most_mib - u->limit_mib : 0;
}

long run_find_taker(const struct run_use *v, size_t n, size_t failed, enum run_lack lack,
		    uint32_t gpu_mib)
{
	uint64_t others_mib = 0, needs_mib = v[failed].limit_mib ? v[failed].limit_mib : gpu_mib;
	long taker = -1;

	if (lack == RUN_LACK_CLIENTS)
		return most_contexts(v, n, failed);
	for (size_t i = 0; i < n; i++) {
		if (i == failed)
			continue;
		others_mib += v[i].most_mib;
		if (over_limit(&v[i]) > (taker < 0 ? 0 : over_limit(&v[taker])))
			taker = (long)i;
	}
	/* There was room for all that it may use, or it had more than that already. */
	if (over_limit(&v[failed]) || !others_mib || others_mib + needs_mib <= gpu_mib)
		return (long)failed;
	return taker;
}

/* Failures that take no co-runner down. */
static bool surely_own(const struct run_seen *s)
{
	return s->lack != RUN_LACK_NONE || s->code == CANNOT_RUN || s->code == NOT_FOUND ||
	       s->co_failures >= RUN_MAX_CO_FAILURES;
}

static bool may_be_to_blame(const struct run_seen *s)
{
	return s->failed && !surely_own(s) && !s->orphaned;
}

/* The only job that a signal ended, sent by any process; -1: none or several. */
static long killed_one(const struct run_seen *v, size_t n)
{
	long found = -1;

	for (size_t i = 0; i < n; i++) {
		if (!may_be_to_blame(&v[i]) || !v[i].signal)
			continue;
		if (found >= 0)
			return -1;
		found = (long)i;
	}
	return found;
}

static long first_to_end(const struct run_seen *v, size_t n)
{
	long first = -1;

	for (size_t i = 0; i < n; i++)
		if (may_be_to_blame(&v[i]) && (first < 0 || v[i].end_us < v[first].end_us))
			first = (long)i;
	return first;
}

bool run_judge(const struct run_seen *v, size_t n, bool waited, enum run_blame *out)
{
	size_t failed = 0, unknown = 0, may = 0;
	long one, first;

	for (size_t i = 0; i < n; i++) {
		failed += v[i].failed;
		unknown += !v[i].failed && !v[i].lives;
		may += may_be_to_blame(&v[i]);
	}
	/* A co-runner that makes progress has an MPS server: each failed job failed by itself. */
	if (may && unknown && !waited && failed + unknown == n)
		return false;
	one = killed_one(v, n);
	first = first_to_end(v, n);
	for (size_t i = 0; i < n; i++) {
		if (!v[i].failed)
			out[i] = RUN_BLAME_NONE;
		else if (surely_own(&v[i]))
			out[i] = RUN_BLAME_OWN;
		else if (v[i].orphaned)
			out[i] = RUN_BLAME_CO_FAILED;
		else if (failed < n || failed == 1 || (may == 1 && one >= 0))
			out[i] = RUN_BLAME_OWN;
		else if (one >= 0)
			out[i] = (long)i == one ? RUN_BLAME_OWN : RUN_BLAME_CO_FAILED;
		else
			out[i] = (long)i == first ? RUN_BLAME_SUSPECT : RUN_BLAME_CO_FAILED;
	}
	return true;
}

/* --- what was done --- */

/* The most iterations that a job can have made, by its lines. */
static double most_iterations(const struct run_work_seen *s)
{
	return (double)s->iterations + (s->several ? SPEED_UP : 1) * (double)s->step;
}

static bool has_all(const struct run_work_seen *s)
{
	return s->known && (double)s->iterations * 100 >= (double)s->wanted * COMPLETE_PCT;
}

enum run_work run_judge_work(const struct run_work_seen *s, char *why, size_t size)
{
	/* A line of 0 iterations says that it began, and no more. */
	const bool lines = s->known && s->iterations;
	const bool few = lines && most_iterations(s) < (double)s->wanted,
		   quick = !lines && s->took_us < s->planned_us / UNLIKELY_PART,
		   early = few || s->left || (quick && s->outside) ||
			   (quick && s->took_us < s->planned_us / EARLY_PART);

	if ((has_all(s) && !s->left) || (!early && !quick))
		return RUN_WORK_DONE;
	why[0] = '\0';
	if (few)
		hes_text_add(why, size, "; ",
			     "its last progress line says %" PRIu64 " of %" PRIu64 " iterations",
			     s->iterations, s->wanted);
	if (quick)
		hes_text_add(why, size, "; ",
			     "it ran %.3g s of %.3g s planned, without a progress line",
			     (double)s->took_us * 1e-6, (double)s->planned_us * 1e-6);
	if (s->left)
		hes_text_add(why, size, "; ", "%u process%s that it left running %s killed",
			     s->left, s->left == 1 ? "" : "es", s->left == 1 ? "was" : "were");
	if (s->outside)
		hes_text_add(why, size, "; ",
			     "%zu context%s on its GPU began after it and belong%s to no job",
			     s->outside, hes_s(s->outside), s->outside == 1 ? "s" : "");
	return early ? RUN_WORK_EARLY : RUN_WORK_UNSEEN;
}
