/*
 * joint_cells.c - hes_joint_search(): a fleet searched whole or, where it is large, cell by cell; see joint_search.h.
 *
 * Boards are dealt to cells by type, so that each cell is a small fleet, as far as boards go round of the same mix, and
 * jobs go where an exact assignment of them all has them. Each cell is searched by itself (joint_search.c), and what they
 * found is put together (joint_join.c).
 */
#include "plan/joint/joint_cells.h"

#include <errno.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "plan/assign/exact.h"
#include "base/rng.h"

/* A cell has so many jobs and boards at least. With fewer jobs, fewer fit together; with more, a search takes longer to come as far. */
#define CELL_JOBS 256
#define CELL_GPUS 8

/* Evaluations of all cells by default, unless one search of all jobs would make more. Jobs beyond so many a GPU do not count: queues are long enough. */
#define EVALUATIONS_A_JOB 2400
#define COUNTED_A_GPU     50

/* One search takes some minutes where jobs times 100 more than there are GPUs come to this. */
#define WHOLE_WORK 500000.0

/* Cells take two processors five minutes, about, with min(A_GPU k, max(JOBS, sqrt(SQUARED k))) jobs on k GPUs: the deeper queues are, the longer each job. */
#define MOST_A_GPU   300.0
#define MOST_JOBS    30000.0
#define MOST_SQUARED 1.5e6

/* Of the assignment of all jobs, which is to tell no more than the cell that each goes to: weights, and the gap left on its hull. */
#define WEIGHTS 4
#define GAP     1e-2

#define LEAST_SLICE 1e-6 /* of the clock's time, for a cell that begins when it is over */

struct fleet {
	const struct hes_problem       *p;
	const struct hes_joint_options *o;
	struct joint_cell              *cells;
	size_t                          n;
	uint32_t                       *jobs, *gpus;   /* of all, cell by cell */
	uint64_t                        evaluations;
	size_t                          begun, done;   /* cells; under the lock joint_cells */
	int                             rc;            /* of the first that failed, likewise */
};

/* A cell's part of the clock's time. */
struct slice {
	const struct hes_joint_options *o;
	double                          from, to;
};

/* In parts of what one search may take. */
static double work_of(double n_jobs, double n_gpus)
{
	return n_jobs * (n_gpus + 100) / WHOLE_WORK;
}

/* An even number, for processors come in twos, fours, ... @return 0, 1: all are one */
static size_t most_cells(size_t n_jobs, size_t n_gpus)
{
	const size_t by_jobs = n_jobs / CELL_JOBS, by_gpus = n_gpus / CELL_GPUS;

	return (by_jobs < by_gpus ? by_jobs : by_gpus) / 2 * 2;
}

/* How many boards there are of the type that has fewest. */
static size_t scarcest(const struct hes_problem *p)
{
	size_t least = p->k;

	for (uint32_t t = 0; t < p->n_types; t++) {
		size_t n = 0;

		for (size_t g = 0; g < p->k; g++)
			n += p->gpus[g].type == t;
		least = n < least ? n : least;
	}
	return least;
}

/* No more than there are boards of each type, for jobs do not leave their cell: unless cells became too large. */
static size_t count_cells(const struct hes_problem *p)
{
	const size_t most = most_cells(p->n, p->k), each_type = scarcest(p) / 2 * 2;
	size_t cells = each_type > 1 ? each_type : 1;

	while (cells < most && work_of((double)p->n / (double)cells, (double)p->k / (double)cells) > 1)
		cells = cells / 2 * 2 + 2;
	return cells < most ? cells : most;
}

double hes_joint_effort(size_t n_jobs, size_t n_gpus)
{
	const double n = (double)n_jobs, k = (double)n_gpus, whole = work_of(n, k);

	if (most_cells(n_jobs, n_gpus) > 1)
		return n / fmin(MOST_A_GPU * k, fmax(MOST_JOBS, sqrt(MOST_SQUARED * k)));
	return n_jobs < 2 * CELL_JOBS ? fmin(whole, 1) : whole;
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

/* Of an exact front, the end that is wanted, or the assignment at which a part of energy is worth as large a part of time, or nearly. */
static const struct hes_assignment *wanted_of(const struct hes_assign_front *front, enum hes_joint_wanted wanted)
{
	const struct hes_assignment *best = &front->v[0];

	if (wanted == HES_JOINT_FRUGAL)
		return best;
	if (wanted == HES_JOINT_QUICK)
		return &front->v[front->n - 1];
	for (size_t i = 1; i < front->n; i++)
		if (front->v[i].at.energy_mj * front->v[i].at.jct_us < best->at.energy_mj * best->at.jct_us)
			best = &front->v[i];
	return best;
}

/*
 * An assignment of all jobs. Until when boards are taken is left out: so those of a type are alike, which is what makes
 * it quick, and cells have as many that are free early as others. @param gpu_of  [n], out
 */
static int assign_jobs(const struct hes_problem *p, enum hes_joint_wanted wanted, uint32_t *gpu_of)
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
	memcpy(gpu_of, wanted_of(&found.front, wanted)->gpu_of, p->n * sizeof(*gpu_of));
	free(found.front.v);
	free(found.halfplanes);
	return 0;
}

/* The boards of cells that have no jobs go to those that have, in turn. @param cell_of  [k]; @return how many have */
static size_t close_empty(const struct hes_problem *p, size_t n_cells, const uint32_t *gpu_of, uint32_t *cell_of)
{
	uint32_t *number_of = calloc(n_cells, sizeof(*number_of)), full = 0, next = 0;

	if (!number_of)
		return 0;
	for (size_t i = 0; i < p->n; i++)
		number_of[cell_of[gpu_of[i]]] = 1;
	for (size_t i = 0; i < n_cells; i++)
		number_of[i] = number_of[i] ? full++ : UINT32_MAX;
	for (size_t g = 0; g < p->k; g++)
		cell_of[g] = number_of[cell_of[g]] != UINT32_MAX ? number_of[cell_of[g]] : next++ % full;
	free(number_of);
	return full;
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
		rc = assign_jobs(f->p, f->o->wanted, gpu_of);
	if (!rc) {
		f->n = close_empty(f->p, f->n, gpu_of, cell_of);
		rc = f->n ? 0 : -ENOMEM;
	}
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
	const double idle = sum_of(f->p, idle_mw), own_idle = sum_of(cell, idle_mw), spare = sum_of(f->p, most_mw) - idle;
	const double part = spare > 0 ? (sum_of(cell, most_mw) - own_idle) / spare : 0;

	return f->o->power_cap_mw > 0 ? own_idle + part * (f->o->power_cap_mw - idle) : 0;
}

static uint64_t seed_of(const struct fleet *f, size_t number)
{
	struct hes_rng all, own;

	hes_rng_seed(&all, f->o->seed);
	own = hes_rng_fork(&all, number);
	return hes_rng_u64(&own);
}

static int search_cell(const struct fleet *f, size_t number, struct slice *slice)
{
	struct joint_cell *c = &f->cells[number];
	const double part_of_jobs = (double)c->n / (double)f->p->n;
	struct hes_joint_options o = {
		.seed = seed_of(f, number), .wanted = f->o->wanted, .evaluations = (uint64_t)(part_of_jobs * (double)f->evaluations) + 1,
		.threads = 1, .for_cell = true, .spent = f->o->spent ? slice_spent : NULL, .spent_ctx = slice,
	};
	struct hes_problem part;
	struct hes_joint *found;
	int rc = hes_problem_part(&part, f->p, c->jobs, c->n, c->gpus, c->k);

	if (rc)
		return rc;
	o.power_cap_mw = cap_of(f, &part);
	rc = hes_joint_search_whole(&part, &o, &found);
	if (!rc) {
		rc = joint_cell_keep(c, found);
		hes_joint_free(found);
	}
	hes_problem_finish(&part);
	return rc;
}

/* Of the clock's time that is left each cell has as much as those still to begin, @threads at a time: the last ones all. @return false one has failed */
static bool begin(struct fleet *f, size_t threads, struct slice *out)
{
	bool goes_on;

#pragma omp critical(joint_cells)
	{
		const size_t turns = (f->n - f->begun++ + threads - 1) / threads;
		const double now = f->o->spent ? f->o->spent(f->o->spent_ctx) : 0;

		*out = (struct slice){ f->o, now, now + fmax((1 - now) / (double)turns, LEAST_SLICE) };
		goes_on = !f->rc;
	}
	return goes_on;
}

static void end(struct fleet *f, int rc)
{
#pragma omp critical(joint_cells)
	{
		f->rc = f->rc ? f->rc : rc;
		f->done++;
		if (f->o->progress)
			f->o->progress(f->o->progress_ctx, f->done, f->n);
	}
}

static int search_cells(struct fleet *f)
{
	const size_t threads = f->o->threads ? f->o->threads : (size_t)omp_get_max_threads();

#pragma omp parallel for schedule(dynamic) num_threads((int)threads)
	for (size_t i = 0; i < f->n; i++) {
		struct slice slice;

		end(f, begin(f, (size_t)omp_get_num_threads(), &slice) ? search_cell(f, i, &slice) : 0);
	}
	return f->rc;
}

static uint64_t evaluations_of(const struct hes_problem *p)
{
	const uint64_t whole = hes_joint_evaluations(p->n), n = p->n < COUNTED_A_GPU * p->k ? p->n : COUNTED_A_GPU * p->k;
	const uint64_t in_cells = EVALUATIONS_A_JOB * n;

	return whole > in_cells ? whole : in_cells;
}

static int search_fleet(const struct hes_problem *p, const struct hes_joint_options *o, size_t n, struct hes_joint *j)
{
	struct fleet f = { .p = p, .o = o, .n = n, .evaluations = o->evaluations ? o->evaluations : evaluations_of(p) };
	int rc = cut(&f);

	if (!rc)
		rc = search_cells(&f);
	if (!rc)
		rc = joint_cells_join(f.cells, f.n, j);
	for (size_t i = 0; i < n && f.cells; i++)
		joint_cell_finish(&f.cells[i]);
	free(f.cells);
	free(f.jobs);
	free(f.gpus);
	return rc;
}

int hes_joint_search(const struct hes_problem *p, const struct hes_joint_options *o, struct hes_joint **out)
{
	const size_t n = count_cells(p);
	struct hes_joint_options whole = *o;
	struct hes_joint *j;
	int rc;

	if (n < 2) {
		if (!o->evaluations && most_cells(p->n, p->k) > 1)
			whole.evaluations = evaluations_of(p);
		return hes_joint_search_whole(p, &whole, out);
	}
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
