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
#include "base/grow.h"
#include "cluster/head_state.h"
#include "launch/job_files.h"
#include "run/live.h"

#define MESSAGES_MAX_BYTES 65536

static struct hes_run_live_gpu *live_find_gpu(const struct hes_run_live *all, const char *gpu)
{
	for (size_t i = all->n_gpus; i-- > 0;)
		if (strcmp(all->gpus[i].gpu, gpu) == 0)
			return &all->gpus[i];
	return NULL;
}

/* Joules of several parts on one GPU sum up; the part that runs comes last. */
static void live_add_gpu(struct hes_run_live *all, struct hes_run_live_gpu g)
{
	struct hes_run_live_gpu *before = live_find_gpu(all, g.gpu), *v;

	if (before) {
		g.has_energy &= before->has_energy;
		g.energy_j += before->energy_j;
		*before = g;
	} else if ((v = hes_grow(all->gpus, all->n_gpus, sizeof(*v)))) {
		all->gpus = v;
		v[all->n_gpus++] = g;
	}
}

static void live_add_node(struct hes_run_live *all, const struct hes_run_live *l)
{
	for (size_t i = 0; i < l->n_gpus; i++)
		live_add_gpu(all, l->gpus[i]);
	for (size_t i = 0; i < l->n_jobs; i++) {
		struct hes_run_live_job *v = hes_grow(all->jobs, all->n_jobs, sizeof(*v));

		if (!v)
			return;
		all->jobs = v;
		v[all->n_jobs++] = l->jobs[i];
	}
	all->left_us = l->left_us > all->left_us ? l->left_us : all->left_us;
}

/* Of a part that has ended its joules stay. */
static void live_add_ended(struct hes_run_live *all, const struct part *p)
{
	for (size_t i = 0; i < p->n_gpus; i++) {
		struct hes_run_live_gpu g = {
			.has_energy = p->gpus[i].measured,
			.energy_j = (double)(p->gpus[i].busy_mj + p->gpus[i].idle_mj) * 1e-3
		};

		memcpy(g.gpu, p->gpus[i].gpu, sizeof(g.gpu));
		live_add_gpu(all, g);
	}
}

static void live_tell_progress(const struct nodes *s, const struct hes_run_live *all)
{
	struct hes_run_progress p = { .jobs = s->q->jobs->n,
				      .now_us = all->now_us,
				      .left_us = all->left_us,
				      .running = all->n_jobs };

	for (size_t i = 0; i < s->q->jobs->n; i++) {
		p.done += s->state[i] == HES_RUN_JOB_DONE;
		p.failed += s->state[i] == HES_RUN_JOB_FAILED;
		p.early += s->state[i] == HES_RUN_JOB_EARLY;
	}
	if (s->q->listener.progress)
		s->q->listener.progress(s->q->listener.ctx, &p);
}

void nodes_live_write(const struct nodes *s)
{
	struct hes_run_live all = { .at_us = hes_wall_us() };

	all.now_us = all.at_us > s->run->started_us ? all.at_us - s->run->started_us : 0;
	for (size_t i = 0; i < s->n_parts; i++) {
		const struct part *p = &s->parts[i];
		struct hes_run_live live;

		if (p->state == PART_OVER || p->state == PART_QUERIED)
			live_add_ended(&all, p);
		if (p->state != PART_RUNNING || !p->known ||
		    hes_run_live_load(&p->run, &live, NULL))
			continue;
		live_add_node(&all, &live);
		hes_run_live_free(&live);
	}
	live_tell_progress(s, &all);
	run_live_put(&s->folder, s->run->id, &all);
	hes_run_live_free(&all);
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
