/*
 * setting.c - settings as texts and numbers; see setting.h.
 */
#include "profile/setting.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/session.h"

void setting_job(char out[SETTING_JOB_MAX], const char *workload, uint32_t batch_size, uint32_t sm_pct)
{
	snprintf(out, SETTING_JOB_MAX, "%.*s/%u@%u", HES_NAME_MAX - 1, workload, batch_size, sm_pct);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

void setting_join(char (*jobs)[SETTING_JOB_MAX], size_t n, char out[SETTING_MAX])
{
	size_t at = 0;

	if (n)
		qsort(jobs, n, sizeof(jobs[0]), by_text);
	out[0] = '\0';
	for (size_t i = 0; i < n; i++)
		at += (size_t)snprintf(out + at, SETTING_MAX - at, "%s%s", i ? "," : "", jobs[i]);
}

bool setting_next(const char **at, char workload[HES_NAME_MAX], uint32_t *batch_size, uint32_t *sm_pct)
{
	size_t len = strcspn(*at, ",");
	char text[SETTING_JOB_MAX], *slash, *share;

	if (!len || len >= sizeof(text))
		return false;
	memcpy(text, *at, len);
	text[len] = '\0';
	slash = strrchr(text, '/');
	share = slash ? strchr(slash, '@') : NULL;
	if (!share || slash - text >= HES_NAME_MAX)
		return false;
	*slash = '\0';
	strcpy(workload, text);
	*batch_size = (uint32_t)strtoul(slash + 1, NULL, 10);
	*sm_pct = (uint32_t)strtoul(share + 1, NULL, 10);
	*at += len + ((*at)[len] == ',');
	return true;
}

void setting_text(const struct hes_point *p, char out[SETTING_MAX])
{
	char jobs[HES_MAX_SHARING][SETTING_JOB_MAX], workload[HES_NAME_MAX];
	const char *at = p->beside;
	uint32_t batch_size, sm_pct;
	size_t n = 1;

	setting_job(jobs[0], p->workload, p->batch_size, p->sm_pct);
	while (n < HES_MAX_SHARING && setting_next(&at, workload, &batch_size, &sm_pct))
		setting_job(jobs[n++], workload, batch_size, sm_pct);
	setting_join(jobs, n, out);
}

static uint64_t fnv1a(uint64_t h, const char *text)
{
	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 0x100000001b3u;
	return h;
}

uint64_t setting_number(const char *type, uint32_t clock_mhz, const char *text)
{
	char clock[16];

	snprintf(clock, sizeof(clock), " %u ", clock_mhz);
	return fnv1a(fnv1a(fnv1a(0xcbf29ce484222325u, type), clock), text) | 1;
}

uint64_t setting_of(const struct profiling *all, const struct hes_gpu_type *type, const struct hes_tower *t,
		    struct hes_stage stage, uint32_t clock_mhz)
{
	char jobs[HES_MAX_SHARING][SETTING_JOB_MAX], text[SETTING_MAX];

	for (uint32_t i = stage.from; i < stage.to; i++) {
		const struct hes_profiled *j = &all->p->jobs[t->jobs[i].job];

		setting_job(jobs[i - stage.from], j->workload, j->batch_size, t->jobs[i].sm_pct);
	}
	setting_join(jobs, stage.to - stage.from, text);
	return setting_number(type->name, clock_mhz, text);
}

uint64_t setting_of_point(const struct hes_point *p)
{
	char text[SETTING_MAX];

	setting_text(p, text);
	return setting_number(p->gpu_type, p->clock_mhz, text);
}

static size_t slot_of(const struct settings *s, uint64_t setting)
{
	size_t i = (size_t)(setting >> 20) & (s->room - 1);

	while (s->v[i] && s->v[i] != setting)
		i = (i + 1) & (s->room - 1);
	return i;
}

static int grow(struct settings *s)
{
	struct settings more = { .room = s->room ? 2 * s->room : 1024, .n = s->n };

	more.v = calloc(more.room, sizeof(*more.v));
	if (!more.v)
		return -ENOMEM;
	for (size_t i = 0; i < s->room; i++)
		if (s->v[i])
			more.v[slot_of(&more, s->v[i])] = s->v[i];
	free(s->v);
	*s = more;
	return 0;
}

int settings_add(struct settings *s, uint64_t setting)
{
	size_t i;

	if (2 * s->n >= s->room && grow(s))
		return -ENOMEM;
	i = slot_of(s, setting);
	if (s->v[i])
		return 0;
	s->v[i] = setting;
	s->n++;
	return 1;
}

bool settings_has(const struct settings *s, uint64_t setting)
{
	return s->room && s->v[slot_of(s, setting)];
}
