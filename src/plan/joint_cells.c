/*
 * joint_cells.c - the joint search of a fleet: whole, or, where it is large, cell by cell; see joint_search.h.
 *
 * Boards are dealt to cells by type, so that each cell is a small fleet of the same mix, and jobs go where
 * an exact assignment of them all has them. Each cell is searched by itself (joint_search.c), and what they
 * found is put together (joint_join.c).
 */
#include "plan/joint_cells.h"

#include <errno.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "assign/exact.h"
#include "base/rng.h"

#define JOBS       256  /* of a cell, about: with fewer, less fits together; more take longer to come as far */
#define LEAST_GPUS 8    /* of a cell */
#define A_JOB      2400 /* evaluations by default, where that is more than one search of all jobs would make, */
#define DEEP       50   /* but fewer where a GPU has more jobs than that: each takes longer */
#define MOST_WORK  500000 /* of one search: jobs, times 100 more than there are GPUs */
#define MOST_A_GPU 300  /* jobs, in cells, */
#define MOST_DEEP  30000 /* in all: five minutes of two processors; or so many that */
#define MOST_SHALLOW 1.5e6 /* they come to this times those of a GPU: likewise */
#define WEIGHTS    4    /* at which all jobs are assigned, */
#define GAP        1e-2 /* to see which cell each goes to */
#define LEFT       1e-6 /* of the clock's time for the cells at least: parts are of it */

struct fleet {
	const struct hes_problem       *p;
	const struct hes_joint_options *o;
	struct joint_cell              *cells;
	size_t                          n;
	uint32_t                       *jobs, *gpus;    /* of all, cell by cell */
	uint64_t                        evaluations;
	double                          begun;          /* part of the clock's time that was spent before the cells */
	size_t                          threads, turns; /* cells at a time, and how often */
	size_t                          done;
};

/* A cell's part of the clock's time. */
struct slice {
	const struct hes_joint_options *o;
	double                          from, to;
};

/* An even number: two processors have as much to do. @return 0, 1: all is one */
static size_t count_cells(size_t n_jobs, size_t n_gpus)
{
	const size_t by_jobs = n_jobs / JOBS, by_gpus = n_gpus / LEAST_GPUS;

	return (by_jobs < by_gpus ? by_jobs : by_gpus) / 2 * 2;
}

size_t hes_joint_most_jobs(size_t n_gpus)
{
	const double in_cells = fmin(MOST_A_GPU * (double)n_gpus, fmax(MOST_DEEP, sqrt(MOST_SHALLOW * (double)n_gpus)));

	return count_cells((size_t)in_cells, n_gpus) > 1 ? (size_t)in_cells : MOST_WORK / (n_gpus + 100);
}

struct dealt {
	uint32_t type, gpu;
	double   wait_us;
};

static int by_type_and_wait(const void *a, const void *b)
{
	const struct dealt *x = a, *y = b;

	if (x->type != y->type)
		return x->type < y->type ? -1 : 1;
	if (x->wait_us != y->wait_us)
		return x->wait_us < y->wait_us ? -1 : 1;
	return x->gpu < y->gpu ? -1 : x->gpu > y->gpu;
}

/* @param cell_of  [k], out */
static int deal_gpus(const struct hes_problem *p, size_t n_cells, uint32_t *cell_of)
{
	struct dealt *order = calloc(p->k + 1, sizeof(*order));

	if (!order)
		return -ENOMEM;
	for (size_t g = 0; g < p->k; g++)
		order[g] = (struct dealt){ p->gpus[g].type, (uint32_t)g, p->gpus[g].wait_us };
	qsort(order, p->k, sizeof(*order), by_type_and_wait);
	for (size_t i = 0; i < p->k; i++)
		cell_of[order[i].gpu] = (uint32_t)(i % n_cells);
	free(order);
	return 0;
}

/* Of an exact front, the assignment at which a part of energy is worth as large a part of time, or nearly. */
static const struct hes_assignment *middle_of(const struct hes_assign_front *front)
{
	const struct hes_assignment *best = &front->v[0];

	for (size_t i = 1; i < front->n; i++)
		if (front->v[i].at.energy_mj * front->v[i].at.jct_us < best->at.energy_mj * best->at.jct_us)
			best = &front->v[i];
	return best;
}

/* Where boards wait for nobody: so those of a type are alike, and what they wait was dealt evenly. @param gpu_of  [n], out */
static int assign_jobs(const struct hes_problem *p, uint32_t *gpu_of)
{
	const struct hes_exact_options o = { .tolerance = GAP, .weights = WEIGHTS };
	struct hes_assign_gpu *gpus = calloc(p->k + 1, sizeof(*gpus));
	struct hes_exact_front found;
	struct hes_assign a;
	int rc = -ENOMEM;

	for (size_t g = 0; g < p->k && gpus; g++)
		gpus[g].type = p->gpus[g].type;
	if (gpus)
		rc = hes_assign_init(&a, p->n, p->k, p->n_types, p->cost, gpus);
	if (!rc) {
		rc = hes_exact_run(&a, &o, &found);
		hes_assign_finish(&a);
	}
	free(gpus);
	if (rc)
		return rc;
	memcpy(gpu_of, middle_of(&found.front)->gpu_of, p->n * sizeof(*gpu_of));
	free(found.front.v);
	free(found.halfplanes);
	return 0;
}

/* What each cell has, in rising order. */
static void fill(struct fleet *f, const uint32_t *gpu_of, const uint32_t *cell_of)
{
	uint32_t *jobs = f->jobs, *gpus = f->gpus;

	for (size_t i = 0; i < f->p->n; i++)
		f->cells[cell_of[gpu_of[i]]].n++;
	for (size_t g = 0; g < f->p->k; g++)
		f->cells[cell_of[g]].k++;
	for (struct joint_cell *c = f->cells; c < f->cells + f->n; c++) {
		c->jobs = jobs;
		c->gpus = gpus;
		jobs += c->n;
		gpus += c->k;
		c->n = c->k = 0;
	}
	for (uint32_t i = 0; i < f->p->n; i++) {
		struct joint_cell *c = &f->cells[cell_of[gpu_of[i]]];

		c->jobs[c->n++] = i;
	}
	for (uint32_t g = 0; g < f->p->k; g++) {
		struct joint_cell *c = &f->cells[cell_of[g]];

		c->gpus[c->k++] = g;
	}
}

static int cut(struct fleet *f)
{
	uint32_t *gpu_of = calloc(f->p->n + 1, sizeof(*gpu_of)), *cell_of = calloc(f->p->k + 1, sizeof(*cell_of));
	int rc = -ENOMEM;

	f->cells = calloc(f->n, sizeof(*f->cells));
	f->jobs = calloc(f->p->n + 1, sizeof(*f->jobs));
	f->gpus = calloc(f->p->k + 1, sizeof(*f->gpus));
	if (gpu_of && cell_of && f->cells && f->jobs && f->gpus)
		rc = deal_gpus(f->p, f->n, cell_of);
	if (!rc)
		rc = assign_jobs(f->p, gpu_of);
	if (!rc)
		fill(f, gpu_of, cell_of);
	free(gpu_of);
	free(cell_of);
	return rc;
}

static double slice_spent(void *ctx)
{
	const struct slice *s = ctx;

	return (s->o->spent(s->o->spent_ctx) - s->from) / (s->to - s->from);
}

static double sum_of(const struct hes_problem *p, uint32_t (*of)(const struct hes_gpu_type *type))
{
	double sum = 0;

	for (size_t g = 0; g < p->k; g++)
		sum += of(p->types[p->gpus[g].type]);
	return sum;
}

static uint32_t idle_mw(const struct hes_gpu_type *type)
{
	return type->idle_power_mw;
}

static uint32_t most_mw(const struct hes_gpu_type *type)
{
	return type->power_limit_mw;
}

/* A cell's part of the power cap: what its boards draw idle, and of the rest as large a part as they can draw. */
static double cap_of(const struct fleet *f, const struct hes_problem *cell)
{
	const double idle = sum_of(f->p, idle_mw), own_idle = sum_of(cell, idle_mw);
	const double part = (sum_of(cell, most_mw) - own_idle) / (sum_of(f->p, most_mw) - idle);

	return f->o->power_cap_mw > 0 ? own_idle + part * (f->o->power_cap_mw - idle) : 0;
}

static uint64_t seed_of(const struct fleet *f, size_t number)
{
	struct hes_rng all, own;

	hes_rng_seed(&all, f->o->seed);
	own = hes_rng_fork(&all, number);
	return hes_rng_u64(&own);
}

static int search_cell(struct fleet *f, size_t number)
{
	struct joint_cell *c = &f->cells[number];
	const double each = (1 - f->begun) / (double)f->turns, from = f->begun + each * (double)(number / f->threads);
	struct slice slice = { f->o, from, from + each };
	struct hes_joint_options o = {
		.seed = seed_of(f, number), .wanted = f->o->wanted, .evaluations = f->evaluations * c->n / f->p->n + 1, .threads = 1,
		.spent = f->o->spent ? slice_spent : NULL, .spent_ctx = &slice,
	};
	struct hes_problem part;
	struct hes_joint *found;
	int rc = hes_problem_part(&part, f->p, c->jobs, c->n, c->gpus, c->k);

	if (rc)
		return rc;
	o.power_cap_mw = cap_of(f, &part);
	rc = joint_search_whole(&part, &o, &found);
	if (!rc) {
		rc = joint_cell_keep(c, found);
		hes_joint_free(found);
	}
	hes_problem_finish(&part);
	return rc;
}

static void tell(struct fleet *f)
{
#pragma omp critical(joint_cells_tell)
	if (f->o->progress)
		f->o->progress(f->o->progress_ctx, ++f->done, f->n);
}

static int search_cells(struct fleet *f)
{
	int rc = 0;

	f->threads = f->o->threads ? f->o->threads : (size_t)omp_get_max_threads();
	f->turns = (f->n + f->threads - 1) / f->threads;
	f->begun = f->o->spent ? fmin(f->o->spent(f->o->spent_ctx), 1 - LEFT) : 0;
#pragma omp parallel for schedule(static, 1) num_threads((int)f->threads) reduction(min : rc)
	for (size_t i = 0; i < f->n; i++) {
		const int failed = f->cells[i].n ? search_cell(f, i) : 0;

		rc = failed < rc ? failed : rc;
		tell(f);
	}
	return rc;
}

static uint64_t evaluations_of(const struct hes_problem *p)
{
	const uint64_t whole = hes_joint_evaluations(p->n), in_cells = (uint64_t)(A_JOB * fmin((double)p->n, DEEP * (double)p->k));

	return whole > in_cells ? whole : in_cells;
}

static int search_fleet(const struct hes_problem *p, const struct hes_joint_options *o, size_t n, struct hes_joint *j)
{
	struct fleet f = { .p = p, .o = o, .n = n, .evaluations = o->evaluations ? o->evaluations : evaluations_of(p) };
	int rc = cut(&f);

	if (!rc)
		rc = search_cells(&f);
	if (!rc)
		rc = joint_cells_join(f.cells, n, j);
	for (size_t i = 0; i < n && f.cells; i++)
		joint_cell_finish(&f.cells[i]);
	free(f.cells);
	free(f.jobs);
	free(f.gpus);
	return rc;
}

int hes_joint_search(const struct hes_problem *p, const struct hes_joint_options *o, struct hes_joint **out)
{
	const size_t n = count_cells(p->n, p->k);
	struct hes_joint *j;
	int rc;

	if (n < 2)
		return joint_search_whole(p, o, out);
	j = calloc(1, sizeof(*j));
	if (!j)
		return -ENOMEM;
	*j = (struct hes_joint){ .p = p, .wanted = o->wanted, .archive = { .n = p->n, .k = p->k } };
	j->memos[0] = hes_rates_new(p->request->predictor, p->types, p->solo, p->n_kinds);
	j->n_memos = j->memos[0] ? 1 : 0;
	rc = j->memos[0] ? search_fleet(p, o, n, j) : -ENOMEM;
	if (rc)
		hes_joint_free(j);
	else
		*out = j;
	return rc;
}
