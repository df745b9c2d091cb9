/*
 * head_live.c - what is known of a run on several nodes while it goes on; see head_state.h.
 *
 * Each runner writes live.json in the folder of its node; the head joins them to the one of the
 * run, which `heshare status` reads.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/hash_map.h"
#include "cli/cli.h"
#include "cluster/head_state.h"
#include "launch/job_files.h"
#include "run/live.h"

#define LIVE_FILE          "live.json"
#define MESSAGES_MAX_BYTES 65536

struct totals {
	json_t *gpus, *jobs;
	struct hes_hash_map names; /* of gpus */
	int64_t left_us;
	size_t running;
};

static bool gpu_has_name(const void *gpus, uint32_t index, const void *name)
{
	return strcmp(json_string_value(json_object_get(json_array_get(gpus, index), "gpu")),
		      name) == 0;
}

/* Joules of several parts on one GPU sum up; the part that runs comes last. */
static void add_gpu(const struct hes_run_live_gpu *g, struct totals *t)
{
	const uint64_t hash = hes_hash_text(HES_HASH_START, g->gpu);
	const uint32_t at = hes_hash_map_find(&t->names, hash, gpu_has_name, t->gpus, g->gpu);
	const json_t *before_j = at == HES_HASH_NONE
					 ? NULL
					 : json_object_get(json_array_get(t->gpus, at), "energy_j");
	json_t *row =
		json_pack("{s:s, s:o, s:I, s:o}", "gpu", g->gpu, "power_w",
			  cli_json_maybe(g->has_power, g->power_w), "clock_mhz",
			  (json_int_t)g->clock_mhz, "energy_j",
			  cli_json_maybe(g->has_energy && (!before_j || json_is_real(before_j)),
					 g->energy_j + (before_j ? json_real_value(before_j) : 0)));

	if (before_j)
		json_array_set_new(t->gpus, at, row);
	else if (!hes_hash_map_add(&t->names, hash, (uint32_t)json_array_size(t->gpus)))
		json_array_append_new(t->gpus, row);
	else
		json_decref(row);
}

static void add_node(const struct hes_run_live *l, struct totals *t)
{
	for (size_t i = 0; i < l->n_gpus; i++)
		add_gpu(&l->gpus[i], t);
	for (size_t i = 0; i < l->n_jobs; i++)
		json_array_append_new(
			t->jobs, json_pack("{s:s, s:o, s:I, s:f}", "job", l->jobs[i].job, "done",
					   cli_json_maybe(l->jobs[i].done >= 0, l->jobs[i].done),
					   "iterations", (json_int_t)l->jobs[i].iterations,
					   "left_s", (double)l->jobs[i].left_us * 1e-6));
	t->left_us = l->left_us > t->left_us ? l->left_us : t->left_us;
	t->running += l->n_jobs;
}

/* Of a part that has ended its joules stay. */
static void add_ended(const struct part *p, struct totals *t)
{
	for (size_t i = 0; i < p->n_gpus; i++) {
		struct hes_run_live_gpu g = {
			.has_energy = p->gpus[i].measured,
			.energy_j = (double)(p->gpus[i].busy_mj + p->gpus[i].idle_mj) * 1e-3
		};

		memcpy(g.gpu, p->gpus[i].gpu, sizeof(g.gpu));
		add_gpu(&g, t);
	}
}

void nodes_live_write(const struct nodes *s)
{
	const int64_t wall_us = hes_wall_us(), now_us = wall_us - s->run->started_us;
	struct totals t = { .gpus = json_array(), .jobs = json_array() };
	struct hes_run_progress p = { .jobs = s->q->jobs->n, .now_us = now_us };
	struct hes_job_folder folder = { .fd = -1 };
	json_t *doc;

	for (size_t i = 0; i < s->n_parts; i++) {
		struct hes_run_live live;

		if (s->parts[i].state == PART_OVER || s->parts[i].state == PART_QUERIED)
			add_ended(&s->parts[i], &t);
		if (s->parts[i].state != PART_RUNNING || !s->parts[i].known ||
		    hes_run_live_load(&s->parts[i].run, &live, NULL))
			continue;
		add_node(&live, &t);
		hes_run_live_free(&live);
	}
	for (size_t i = 0; i < s->q->jobs->n; i++) {
		p.done += s->state[i] == HES_RUN_JOB_DONE;
		p.failed += s->state[i] == HES_RUN_JOB_FAILED;
		p.early += s->state[i] == HES_RUN_JOB_EARLY;
	}
	p.running = t.running;
	p.left_us = t.left_us;
	if (s->q->listener.progress)
		s->q->listener.progress(s->q->listener.ctx, &p);
	doc = json_pack("{s:I, s:f, s:f, s:f, s:o, s:o}", "run", (json_int_t)s->run->id, "at_s",
			(double)wall_us * 1e-6, "now_s", now_us > 0 ? (double)now_us * 1e-6 : 0.0,
			"left_s", (double)t.left_us * 1e-6, "gpus", t.gpus, "jobs", t.jobs);
	if (hes_job_folder_open(&folder, s->run->folder, NULL))
		json_decref(doc);
	else
		run_live_put(&folder, doc);
	hes_job_folder_close(&folder);
	hes_hash_map_finish(&t.names);
}

void nodes_live_end(const struct nodes *s)
{
	char path[HES_JOURNAL_PATH_MAX + 32];

	snprintf(path, sizeof(path), "%s/" LIVE_FILE, s->run->folder);
	unlink(path);
}

/* --- messages of the runners --- */

/* Messages of heshare itself, with the name of the node; the rest stays in the file. */
static void pass_lines(const struct nodes *s, const char *node, char *text)
{
	static const char mark[] = "heshare run: ";
	char *rest = NULL;

	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		if (strncmp(line, mark, strlen(mark)) == 0)
			nodes_tell(s, "node %s: %s", node, line + strlen(mark));
}

void nodes_pass_messages(struct nodes *s, size_t node)
{
	const char *name = s->q->launcher->nodes[node];
	char path[HES_JOURNAL_PATH_MAX], *text = calloc(1, MESSAGES_MAX_BYTES + 1), *end;
	int fd;
	ssize_t n;

	nodes_path(s, name, 0, ".log", path);
	fd = text ? hes_job_file_read(NULL, path, NULL) : -1;
	n = fd < 0 ? 0 : pread(fd, text, MESSAGES_MAX_BYTES, s->nodes[node].log_read);
	end = n > 0 ? strrchr(text, '\n') : NULL;
	if (end) {
		*end = '\0';
		s->nodes[node].log_read += end + 1 - text;
		pass_lines(s, name, text);
	} else if (n == MESSAGES_MAX_BYTES) {
		/* No line of heshare is so long. */
		s->nodes[node].log_read += n;
	}
	if (fd >= 0)
		close(fd);
	free(text);
}

void nodes_skip_messages(struct nodes *s, size_t node)
{
	char path[HES_JOURNAL_PATH_MAX];
	struct stat st;

	nodes_path(s, s->q->launcher->nodes[node], 0, ".log", path);
	s->nodes[node].log_read = stat(path, &st) ? 0 : st.st_size;
}

json_t *nodes_json(const struct nodes *s)
{
	json_t *out = json_array();

	for (size_t i = 0; i < s->q->launcher->n; i++) {
		const char *name = s->q->launcher->nodes[i];
		size_t rounds = 0;

		for (size_t k = 0; k < s->n_parts; k++)
			rounds += strcmp(s->parts[k].node, name) == 0 && s->parts[k].known;
		json_array_append_new(
			out,
			json_pack("{s:s, s:s, s:I, s:I, s:I, s:o}", "node", name, "state",
				  s->nodes[i].drained ? "drained"
				  : s->nodes[i].lost  ? "lost"
				  : s->offers[i].good ? "used"
						      : "left out",
				  "gpus", (json_int_t)s->offers[i].n, "rounds", (json_int_t)rounds,
				  "failures", (json_int_t)s->nodes[i].failures, "why",
				  s->offers[i].why[0] ? json_string(s->offers[i].why)
						      : json_null()));
	}
	return out;
}
