/*
 * range.c - the training range, and distances from it; see range.h.
 *
 * This is in the planner's inner loop: a sampled workload on a sampled type costs two look-ups by
 * name and a few comparisons. Only unsampled ones are compared with all samples.
 */
#include "predict/range.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/texts.h"

#define SLACK        0.02 /* of a range, on either side: random samples seldom hit its ends */
#define NEAREST      3    /* tasks whose distances are averaged */
#define TINY         1e-4 /* smaller utilisations would make the logarithm noisy */
#define MAX_EXCESS   10.0 /* e-folds */
#define MAX_PLACE    1e6
#define LEAST_UNSEEN 1e-3 /* least distance of an unseen co-runner, standard deviations */

static void type_place(const struct hes_gpu_type *g, double out[RANGE_TYPE_FEATURES])
{
	const double sheet[RANGE_TYPE_FEATURES] = {
		g->sm_count,      g->memory_bandwidth_gbs,          g->l2_kib,
		g->clock_max_mhz, hes_gpu_type_default_limit_mw(g),
	};

	for (size_t i = 0; i < RANGE_TYPE_FEATURES; i++)
		out[i] = log(fmax(sheet[i], 1e-3));
}

/* Not yet scaled to standard deviations. */
static void task_place(const struct query *q, double out[RANGE_TASK_FEATURES])
{
	const struct hes_profile *t = q->task;
	double sms = (t->sm_util + TINY) * q->gpu->sm_count * baseline_clock_mhz(q);
	double place[RANGE_TASK_FEATURES] = {
		t->sm_util,
		t->dram_util,
		t->l2_util,
		t->busy,
		(double)t->power_mw / hes_gpu_type_default_limit_mw(q->gpu),
		log(fmax(t->iteration_us, 1e-3) * sms),
		log((t->dram_util + TINY) * q->gpu->memory_bandwidth_gbs / sms),
	};

	for (size_t i = 0; i < RANGE_TASK_FEATURES; i++)
		out[i] = fmin(fmax(place[i], -MAX_PLACE), MAX_PLACE);
}

static double clock_axis(const struct hes_gpu_type *g, const struct hes_setting *setting)
{
	return (double)setting->clock_mhz / g->clock_max_mhz;
}

static void settings_of(const struct query *q, double out[RANGE_AXES])
{
	out[RANGE_CLOCK] = clock_axis(q->gpu, q->setting);
	out[RANGE_SHARE] = q->setting->sm_pct;
	out[RANGE_JOBS] = q->co_runners->jobs + 1.0;
	out[RANGE_SHARE_SUM] = q->co_runners->sm_pct + (double)q->setting->sm_pct;
}

static const struct limits nowhere = { INFINITY, -INFINITY };

static void include(struct limits *r, double x)
{
	r->low = fmin(r->low, x);
	r->high = fmax(r->high, x);
}

static struct limits slacken(struct limits r)
{
	double slack = SLACK * (r.high - r.low);

	return (struct limits){ fmax(r.low - slack, 0), r.high + slack };
}

/* A sample to sort: by type, or by workload, type and batch size; then by index. */
struct ref {
	const struct observation *o;
	size_t at;
};

static int by_type(const void *a, const void *b)
{
	const struct ref *x = a, *y = b;
	int order = strcmp(x->o->query.task->gpu_type, y->o->query.task->gpu_type);

	return order ? order : (x->at > y->at) - (x->at < y->at);
}

static int by_task(const void *a, const void *b)
{
	const struct ref *x = a, *y = b;
	int order = hes_profile_compare(x->o->query.task, y->o->query.task);

	return order ? order : (x->at > y->at) - (x->at < y->at);
}

static void begin_type(struct range_type *t, const struct observation *o)
{
	*t = (struct range_type){ .name = "" };
	if (o) {
		strcpy(t->name, o->query.task->gpu_type);
		type_place(o->query.gpu, t->place);
	}
	for (size_t i = 0; i < RANGE_AXES; i++)
		t->range[i] = nowhere;
}

static void end_type(struct range_type *t)
{
	for (size_t i = 0; i < RANGE_AXES; i++)
		t->range[i] = slacken(t->range[i]);
	t->range[RANGE_SHARE_SUM].low = 0; /* the share tells */
}

static void learn_types(const struct ref *v, size_t n, struct training_range *s)
{
	struct range_type all, *own = s->types;

	begin_type(&all, NULL);
	for (size_t i = 0; i < n; i++) {
		double at[RANGE_AXES];

		if (i == 0 ||
		    strcmp(v[i].o->query.task->gpu_type, v[i - 1].o->query.task->gpu_type)) {
			own = &s->types[s->n_types++];
			begin_type(own, v[i].o);
		}
		settings_of(&v[i].o->query, at);
		for (size_t k = 0; k < RANGE_AXES; k++) {
			include(&own->range[k], at[k]);
			include(&all.range[k], at[k]);
		}
	}
	s->types[s->n_types++] = all;
	for (size_t i = 0; i < s->n_types; i++)
		end_type(&s->types[i]);
}

static void learn_workloads(const struct ref *v, size_t n, struct training_range *s)
{
	for (size_t i = 0; i < n; i++) {
		const struct hes_profile *t = v[i].o->query.task;
		struct range_workload *own = &s->workloads[s->n_workloads];

		if (i == 0 || strcmp(t->workload, own[-1].name)) {
			strcpy(own->name, t->workload);
			own->batch_size = nowhere;
			s->n_workloads++;
			own++;
		}
		include(&own[-1].batch_size, t->batch_size);
	}
}

/* Which workloads were sampled on which types. Needs both. @return 0 or -ENOMEM */
static int learn_pairs(const struct ref *v, size_t n, struct training_range *s)
{
	s->pairs = calloc((s->n_types - 1) * s->n_workloads, sizeof(*s->pairs));
	if (!s->pairs)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct hes_profile *t = v[i].o->query.task;
		size_t type = hes_texts_find(s->types[0].name, sizeof(*s->types), s->n_types - 1,
					     t->gpu_type);
		size_t workload = hes_texts_find(s->workloads[0].name, sizeof(*s->workloads),
						 s->n_workloads, t->workload);

		s->pairs[type * s->n_workloads + workload] = true;
	}
	return 0;
}

/* Scale coordinates to standard deviations. */
static void scale_tasks(struct training_range *s)
{
	for (size_t k = 0; k < RANGE_TASK_FEATURES; k++) {
		double sum = 0, squares = 0;

		for (size_t i = 0; i < s->n_tasks; i++)
			sum += s->tasks[i].place[k];
		for (size_t i = 0; i < s->n_tasks; i++) {
			double off = s->tasks[i].place[k] - sum / (double)s->n_tasks;

			squares += off * off;
		}
		s->spread[k] = fmax(sqrt(squares / (double)s->n_tasks), 1e-2);
		for (size_t i = 0; i < s->n_tasks; i++)
			s->tasks[i].place[k] /= s->spread[k];
	}
}

/* Distinct tasks; of too many, every k-th. */
static void learn_tasks(struct ref *v, size_t n, struct training_range *s)
{
	size_t distinct = 0, every;

	for (size_t i = 0; i < n; i++)
		if (i == 0 ||
		    hes_profile_compare(v[distinct - 1].o->query.task, v[i].o->query.task))
			v[distinct++] = v[i];
	every = (distinct + RANGE_MAX_TASKS - 1) / RANGE_MAX_TASKS;
	for (size_t i = 0; i < distinct; i += every)
		task_place(&v[i].o->query, s->tasks[s->n_tasks++].place);
	scale_tasks(s);
}

static bool has_workload(const struct training_range *s, const char *name)
{
	return hes_texts_find(s->workloads[0].name, sizeof(*s->workloads), s->n_workloads, name) <
	       s->n_workloads;
}

/* Named co-runners that are not a task's workload. Needs the workloads. @return 0 or -ENOMEM */
static int learn_co_runner_names(const struct observation *v, size_t n, struct training_range *s)
{
	size_t many = 0;
	char(*names)[HES_NAME_MAX];

	for (size_t i = 0; i < n; i++)
		many += v[i].n_named;
	names = calloc(many + 1, sizeof(*names));
	if (!names)
		return -ENOMEM;
	many = 0;
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < v[i].n_named; k++)
			if (!has_workload(s, v[i].named[k].solo.workload))
				strcpy(names[many++], v[i].named[k].solo.workload);
	s->co_runner_names = names;
	s->n_co_runner_names = hes_texts_distinct(names, many, sizeof(*names));
	return 0;
}

/* Memory for the worst case. */
static int make_room(struct training_range *s, size_t types, size_t workloads, size_t tasks)
{
	*s = (struct training_range){
		.types = calloc(types, sizeof(*s->types)),
		.workloads = calloc(workloads, sizeof(*s->workloads)),
		.tasks = calloc(tasks, sizeof(*s->tasks)),
	};
	return s->types && s->workloads && s->tasks ? 0 : -ENOMEM;
}

static size_t count_changes(const struct ref *v, size_t n, size_t offset)
{
	size_t changes = 0;

	for (size_t i = 0; i < n; i++)
		changes += i == 0 || strcmp((const char *)v[i].o->query.task + offset,
					    (const char *)v[i - 1].o->query.task + offset);
	return changes;
}

int range_fit(const struct observation *v, size_t n, struct training_range *out)
{
	struct ref *types = calloc(n, sizeof(*types)), *tasks = calloc(n, sizeof(*tasks));
	struct training_range s = { 0 };
	int rc = types && tasks ? 0 : -ENOMEM;

	for (size_t i = 0; i < n && !rc; i++)
		types[i] = tasks[i] = (struct ref){ &v[i], i };
	if (!rc) {
		qsort(types, n, sizeof(*types), by_type);
		qsort(tasks, n, sizeof(*tasks), by_task);
		rc = make_room(&s,
			       count_changes(types, n, offsetof(struct hes_profile, gpu_type)) + 1,
			       count_changes(tasks, n, offsetof(struct hes_profile, workload)),
			       RANGE_MAX_TASKS);
	}
	if (!rc) {
		learn_types(types, n, &s);
		learn_workloads(tasks, n, &s);
		rc = learn_pairs(tasks, n, &s);
		if (!rc)
			rc = learn_co_runner_names(v, n, &s);
	}
	if (!rc) {
		learn_tasks(tasks, n, &s);
		*out = s;
	} else {
		range_finish(&s);
	}
	free(types);
	free(tasks);
	return rc;
}

void range_finish(struct training_range *s)
{
	free(s->types);
	free(s->workloads);
	free(s->co_runner_names);
	free(s->pairs);
	free(s->tasks);
	*s = (struct training_range){ 0 };
}

/* Logarithm of the ratio to the nearest end of a range; 0 inside. */
static double excess(const struct limits *r, double x)
{
	if (x >= r->low && x <= r->high)
		return 0;
	return fmin(log(x < r->low ? r->low / fmax(x, 1e-9) : x / fmax(r->high, 1e-9)), MAX_EXCESS);
}

static double type_distance(const struct training_range *s, const struct hes_gpu_type *g)
{
	double place[RANGE_TYPE_FEATURES], least = INFINITY;

	type_place(g, place);
	for (size_t i = 0; i + 1 < s->n_types; i++) {
		double sum = 0;

		for (size_t k = 0; k < RANGE_TYPE_FEATURES; k++)
			sum += (place[k] - s->types[i].place[k]) *
			       (place[k] - s->types[i].place[k]);
		least = fmin(least, sum);
	}
	return sqrt(least);
}

static double task_distance(const struct training_range *s, const struct query *q)
{
	double place[RANGE_TASK_FEATURES], near[NEAREST] = { 0 }, sum = 0;
	size_t n = 0;

	task_place(q, place);
	for (size_t k = 0; k < RANGE_TASK_FEATURES; k++)
		place[k] /= s->spread[k];
	for (size_t i = 0; i < s->n_tasks; i++) {
		double d = 0;
		size_t at;

		for (size_t k = 0; k < RANGE_TASK_FEATURES; k++)
			d += (place[k] - s->tasks[i].place[k]) * (place[k] - s->tasks[i].place[k]);
		if (n == NEAREST && d >= near[n - 1])
			continue;
		n += n < NEAREST;
		for (at = n - 1; at > 0 && near[at - 1] > d; at--)
			near[at] = near[at - 1];
		near[at] = d;
	}
	for (size_t i = 0; i < n; i++)
		sum += sqrt(near[i]);
	return sum / (double)n;
}

struct range_position range_position_of_job(const struct training_range *s,
					    const struct hes_gpu_type *g,
					    const struct hes_profile *task)
{
	size_t type = hes_texts_find(s->types[0].name, sizeof(*s->types), s->n_types - 1, g->name);
	size_t workload = hes_texts_find(s->workloads[0].name, sizeof(*s->workloads),
					 s->n_workloads, task->workload);
	struct range_position p = { .type = &s->types[type] };

	if (workload == s->n_workloads) {
		p.outside |= HES_OUTSIDE_WORKLOAD;
		p.task = task_distance(s, &(struct query){ .gpu = g, .task = task });
	} else {
		double e = excess(&s->workloads[workload].batch_size, task->batch_size);

		p.outside |= e > 0 ? HES_OUTSIDE_BATCH_SIZE : 0;
		p.setting = e * e;
	}
	if (type + 1 == s->n_types) {
		p.outside |= HES_OUTSIDE_TYPE;
		p.type_distance = type_distance(s, g);
	} else if (workload < s->n_workloads && !s->pairs[type * s->n_workloads + workload]) {
		p.outside |= HES_OUTSIDE_PAIR;
	}
	return p;
}

/* @return the squared excess. @param outside  takes a bit when there is one */
static double axis_excess(const struct range_type *t, enum range_axis axis, double x,
			  enum hes_outside what, uint32_t *outside)
{
	double e = excess(&t->range[axis], x);

	*outside |= e > 0 ? (uint32_t)what : 0;
	return e * e;
}

struct range_position range_position_of_setting(const struct range_position *task,
						const struct hes_gpu_type *g,
						const struct hes_setting *setting)
{
	struct range_position p = *task;

	p.setting += axis_excess(p.type, RANGE_CLOCK, clock_axis(g, setting), HES_OUTSIDE_CLOCK,
				 &p.outside);
	p.setting +=
		axis_excess(p.type, RANGE_SHARE, setting->sm_pct, HES_OUTSIDE_SHARE, &p.outside);
	return p;
}

struct range_distance range_distance_with(const struct range_position *p,
					  const struct hes_setting *setting,
					  const struct hes_load *co_runners)
{
	struct range_distance d = { .outside = p->outside,
				    .task = p->task,
				    .type = p->type_distance };

	d.crowd = axis_excess(p->type, RANGE_JOBS, co_runners->jobs + 1.0, HES_OUTSIDE_CO_RUN,
			      &d.outside);
	d.crowd +=
		axis_excess(p->type, RANGE_SHARE_SUM, co_runners->sm_pct + (double)setting->sm_pct,
			    HES_OUTSIDE_CO_RUN, &d.outside);
	if (co_runners->unseen_distance > 0) {
		d.outside |= HES_OUTSIDE_CO_RUNNER;
		d.co_runner = sqrt(co_runners->unseen_distance);
	}
	d.setting = p->setting > 0 ? sqrt(p->setting) : 0;
	d.crowd = d.crowd > 0 ? sqrt(d.crowd) : 0;
	return d;
}

struct range_distance range_distance_of(const struct training_range *s, const struct query *q)
{
	const struct range_position task = range_position_of_job(s, q->gpu, q->task);
	const struct range_position p = range_position_of_setting(&task, q->gpu, q->setting);

	return range_distance_with(&p, q->setting, q->co_runners);
}

double range_unseen_distance(const struct training_range *s, const struct hes_gpu_type *g,
			     const struct hes_profile *solo)
{
	const struct query q = { .gpu = g, .task = solo };
	double d;

	if (has_workload(s, solo->workload) ||
	    hes_texts_find(s->co_runner_names[0], sizeof(*s->co_runner_names), s->n_co_runner_names,
			   solo->workload) < s->n_co_runner_names)
		return 0;
	d = task_distance(s, &q);
	return fmax(d * d, LEAST_UNSEEN * LEAST_UNSEEN);
}

double range_share_sum(const struct training_range *s, const char *gpu_type)
{
	return s->types[hes_texts_find(s->types[0].name, sizeof(*s->types), s->n_types - 1,
				       gpu_type)]
		.range[RANGE_SHARE_SUM]
		.high;
}

bool range_has_clock(const struct training_range *s, const struct hes_gpu_type *g,
		     uint32_t clock_mhz)
{
	const struct hes_setting setting = { .clock_mhz = clock_mhz };
	const size_t at =
		hes_texts_find(s->types[0].name, sizeof(*s->types), s->n_types - 1, g->name);
	const struct limits *r = &s->types[at].range[RANGE_CLOCK];
	const double clock = clock_axis(g, &setting);

	return at == s->n_types - 1 || (clock >= r->low && clock <= r->high);
}

static void limits_io(struct model_io *io, struct limits *r)
{
	model_io_f64(io, &r->low, 0, 1e9);
	model_io_f64(io, &r->high, r->low, 1e9);
}

/* Names are sorted; the last type has none. */
static void types_io(struct model_io *io, struct training_range *s)
{
	s->types = model_io_array(io, s->types, &s->n_types, sizeof(*s->types), 8);
	model_io_check(io, s->n_types > 1);
	for (size_t i = 0; i < s->n_types && !io->rc; i++) {
		struct range_type *t = &s->types[i];

		model_io_text(io, t->name, HES_NAME_MAX);
		model_io_check(io, (t->name[0] == '\0') == (i + 1 == s->n_types) &&
					   (!i || !t->name[0] || strcmp(t[-1].name, t->name) < 0));
		for (size_t k = 0; k < RANGE_AXES; k++)
			limits_io(io, &t->range[k]);
		for (size_t k = 0; k < RANGE_TYPE_FEATURES; k++)
			model_io_f64(io, &t->place[k], -100, 100);
	}
}

static void workloads_io(struct model_io *io, struct training_range *s)
{
	s->workloads = model_io_array(io, s->workloads, &s->n_workloads, sizeof(*s->workloads), 8);
	model_io_check(io, s->n_workloads > 0);
	for (size_t i = 0; i < s->n_workloads && !io->rc; i++) {
		struct range_workload *w = &s->workloads[i];

		model_io_text(io, w->name, HES_NAME_MAX);
		model_io_check(io, w->name[0] && (!i || strcmp(w[-1].name, w->name) < 0));
		limits_io(io, &w->batch_size);
	}
}

static void tasks_io(struct model_io *io, struct training_range *s)
{
	for (size_t k = 0; k < RANGE_TASK_FEATURES; k++)
		model_io_f64(io, &s->spread[k], 1e-3, MAX_PLACE);
	s->tasks = model_io_array(io, s->tasks, &s->n_tasks, sizeof(*s->tasks), 8);
	model_io_check(io, s->n_tasks > 0 && s->n_tasks <= RANGE_MAX_TASKS);
	for (size_t i = 0; i < s->n_tasks && !io->rc; i++)
		for (size_t k = 0; k < RANGE_TASK_FEATURES; k++)
			model_io_f64(io, &s->tasks[i].place[k], -1e9, 1e9);
}

static void pairs_io(struct model_io *io, struct training_range *s)
{
	size_t n = (s->n_types - 1) * s->n_workloads;

	if (io->rc)
		return;
	s->pairs = model_io_array(io, s->pairs, &n, sizeof(*s->pairs), 1);
	model_io_check(io, n == (s->n_types - 1) * s->n_workloads);
	for (size_t i = 0; i < n && !io->rc; i++) {
		uint64_t sampled = s->pairs[i];

		model_io_u64(io, &sampled, 1);
		model_io_check(io, sampled <= 1);
		s->pairs[i] = sampled == 1;
	}
}

static void co_runner_names_io(struct model_io *io, struct training_range *s)
{
	char(*v)[HES_NAME_MAX] = model_io_array(io, s->co_runner_names, &s->n_co_runner_names,
						sizeof(*s->co_runner_names), 2);

	s->co_runner_names = v;
	for (size_t i = 0; i < s->n_co_runner_names && !io->rc; i++) {
		model_io_text(io, v[i], HES_NAME_MAX);
		model_io_check(io, v[i][0] && (!i || strcmp(v[i - 1], v[i]) < 0));
	}
}

void range_io(struct model_io *io, struct training_range *s)
{
	model_io_part(io, "what was sampled");
	types_io(io, s);
	workloads_io(io, s);
	tasks_io(io, s);
	pairs_io(io, s);
	co_runner_names_io(io, s);
}
