/*
 * to_jobs.c - jobs from rows of a trace; see trace.h.
 *
 * Four steps, each with a random stream of its own: pick rows, set run
 * times, set arrivals, choose what runs.
 */
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/rng.h"
#include "trace/rows.h"
#include "trace/source.h"

enum stream { STREAM_PICK, STREAM_ARRIVALS, STREAM_CHOICES };

void hes_trace_options_defaults(struct hes_trace_options *d)
{
	*d = (struct hes_trace_options){
		.seed = 1,
		.n_jobs = 60,
		.min_runtime_us = 120000000,
		.max_runtime_us = 6082000000,
		.arrivals = HES_ARRIVALS_POISSON,
		.gap_s = 60,
		.first_gap_s = 30,
		.speedup = 1,
		.mix = HES_MIX_ALL,
	};
}

/* With the seed alone, one seed would draw the same workloads and arrivals from every trace. */
static uint64_t seed_of(const struct hes_trace_options *d, const struct rows *rows)
{
	uint64_t hash = HES_HASH_START;

	for (size_t i = 0; i < rows->n; i++) {
		const uint64_t times[2] = { htole64((uint64_t)rows->v[i].arrival_us),
					    htole64((uint64_t)rows->v[i].runtime_us) };

		hash = hes_hash_bytes(hash, times, sizeof(times));
	}
	return d->seed ^ hash;
}

static struct hes_rng stream_of(uint64_t seed, enum stream s)
{
	struct hes_rng r;

	hes_rng_seed(&r, seed);
	return hes_rng_fork(&r, s);
}

/* The workloads and batch sizes that a job may get. Sorted, so that the result depends on the set
 * of choices and the random stream, never on their order in a file. */

/* Choices of one workload, by rising batch size. */
struct choice_group {
	size_t first, n;
};

struct choices {
	struct hes_choice *v; /* owned copy */
	struct choice_group *groups;
	size_t n_groups;
};

static void choices_finish(struct choices *m)
{
	free(m->v);
	free(m->groups);
	*m = (struct choices){ 0 };
}

static int by_name_and_batch(const void *a, const void *b)
{
	const struct hes_choice *x = a, *y = b;
	int c = strcmp(x->workload, y->workload);

	return c ? c : (x->batch_size > y->batch_size) - (x->batch_size < y->batch_size);
}

static int choice_check(const struct hes_choice *c, const struct hes_choice *before,
			struct hes_err *err)
{
	if (!(isfinite(c->iteration_us) && c->iteration_us > 0))
		return hes_fail(err, -EINVAL,
				"%s at batch size %u: iteration time %g us; it must be above 0",
				c->workload, c->batch_size, c->iteration_us);
	if (before && by_name_and_batch(before, c) == 0)
		return hes_fail(err, -EEXIST, "%s at batch size %u is given twice", c->workload,
				c->batch_size);
	return 0;
}

static int choices_group(struct choices *m, size_t n, struct hes_err *err)
{
	for (size_t i = 0; i < n; i++) {
		const struct hes_choice *before = i ? &m->v[i - 1] : NULL;
		int rc = choice_check(&m->v[i], before, err);

		if (rc)
			return rc;
		if (!before || strcmp(before->workload, m->v[i].workload) != 0)
			m->groups[m->n_groups++] = (struct choice_group){ i, 0 };
		m->groups[m->n_groups - 1].n++;
	}
	return 0;
}

/* @return 0; -EINVAL nothing left of the mix, or an iteration time that is not positive; -EEXIST;
 * -ENOMEM */
static int choices_init(struct choices *m, const struct hes_choice *choices, size_t n, unsigned mix,
			struct hes_err *err)
{
	size_t kept = 0;
	int rc;

	*m = (struct choices){ calloc(n + 1, sizeof(*m->v)), calloc(n + 1, sizeof(*m->groups)), 0 };
	if (!m->v || !m->groups) {
		choices_finish(m);
		return hes_fail(err, -ENOMEM, "out of memory for %zu choices", n);
	}
	for (size_t i = 0; i < n; i++)
		if (choices[i].mix & mix)
			m->v[kept++] = choices[i];
	qsort(m->v, kept, sizeof(*m->v), by_name_and_batch);
	rc = kept ? choices_group(m, kept, err)
		  : hes_fail(err, -EINVAL, "no workload left to choose from: none is of this mix");
	if (rc)
		choices_finish(m);
	return rc;
}

/* How far apart two batch sizes are, as a ratio of at least 1. */
static double ratio(uint32_t a, uint32_t b)
{
	return a > b ? (double)a / b : (double)b / a;
}

/*
 * @param workload  taken if it is among the choices; "": any
 * @param batch     the nearest one is taken, by ratio; 0: any
 */
static const struct hes_choice *choices_choose(const struct choices *m, const char *workload,
					       uint32_t batch, struct hes_rng *rng)
{
	const struct choice_group *g = &m->groups[hes_rng_below(rng, m->n_groups)];
	const struct hes_choice *best = NULL, *random;

	for (size_t i = 0; workload[0] && i < m->n_groups; i++)
		if (strcmp(m->v[m->groups[i].first].workload, workload) == 0)
			g = &m->groups[i];
	random = &m->v[g->first + hes_rng_below(rng, g->n)];
	if (!batch || strcmp(random->workload, workload) != 0)
		return random;
	for (size_t i = g->first; i < g->first + g->n; i++)
		if (!best || ratio(m->v[i].batch_size, batch) < ratio(best->batch_size, batch))
			best = &m->v[i];
	return best;
}

struct reading {
	const struct hes_trace_options *d;
	struct hes_trace_account account;
};

static bool wanted(const struct hes_trace_row *r, void *ctx)
{
	struct reading *reading = ctx;
	const struct hes_trace_options *d = reading->d;
	const bool several = r->gpu_milli > 1000 && !d->any_gpus;
	const bool timed = !several && r->runtime_us > 0;
	const bool shorter = timed && r->runtime_us < d->min_runtime_us;
	const bool longer = timed && r->runtime_us > d->max_runtime_us;
	const bool want = !several && !(d->drop_outside && (shorter || longer));

	reading->account.rows++;
	reading->account.several_gpus += several;
	reading->account.shorter += shorter;
	reading->account.longer += longer;
	reading->account.kept += want;
	return want;
}

static int by_arrival(const void *a, const void *b, void *rows)
{
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	int64_t x = ((const struct rows *)rows)->v[i].arrival_us;
	int64_t y = ((const struct rows *)rows)->v[k].arrival_us;

	return x != y ? (x > y) - (x < y) : (i > k) - (i < k);
}

static int by_id(const void *a, const void *b, void *rows)
{
	const struct hes_trace_row *v = ((const struct rows *)rows)->v;

	return strcmp(v[*(const uint32_t *)a].id, v[*(const uint32_t *)b].id);
}

/* Ids of the log must differ among the picked rows; reorders @picked. */
static int check_ids(const struct hes_trace *t, struct rows *rows, uint32_t *picked, size_t n,
		     struct hes_err *err)
{
	qsort_r(picked, n, sizeof(*picked), by_id, rows);
	for (size_t i = 1; i < n; i++) {
		const char *id = rows->v[picked[i]].id;

		if (id[0] && strcmp(id, rows->v[picked[i - 1]].id) == 0)
			return hes_fail(err, -EEXIST,
					"%s: \"%s\" is the id of several jobs; ids must differ",
					hes_trace_name(t), id);
	}
	return 0;
}

/* Indices of @n rows at @out, which has room for all of them. */
static void pick(const struct hes_trace_options *d, uint64_t seed, struct rows *rows, size_t n,
		 uint32_t *out)
{
	struct hes_rng rng = stream_of(seed, STREAM_PICK);

	for (size_t i = 0; i < rows->n; i++)
		out[i] = (uint32_t)i;
	if (d->arrivals == HES_ARRIVALS_TRACE) {
		qsort_r(out, rows->n, sizeof(*out), by_arrival, rows);
		memmove(out, out + hes_rng_below(&rng, rows->n - n + 1), n * sizeof(*out));
	} else if (n < rows->n) {
		for (size_t i = 0; i < n; i++) {
			size_t k = i + (size_t)hes_rng_below(&rng, rows->n - i);
			uint32_t t = out[i];

			out[i] = out[k];
			out[k] = t;
		}
	}
}

static int64_t clamp(int64_t v, int64_t min, int64_t max)
{
	return v < min ? min : v > max ? max : v;
}

/* Whole milliseconds: finer arrivals only make files hard to read. */
static void set_arrivals(const struct hes_trace_options *d, uint64_t seed, const struct rows *rows,
			 const uint32_t *picked, struct hes_jobs *jobs)
{
	struct hes_rng rng = stream_of(seed, STREAM_ARRIVALS);
	size_t first_third = (jobs->n + 2) / 3;
	double t = 0;

	for (size_t i = 0; i < jobs->n; i++) {
		if (d->arrivals == HES_ARRIVALS_TRACE)
			t = (double)(rows->v[picked[i]].arrival_us -
				     rows->v[picked[0]].arrival_us) /
			    1e6 / d->speedup;
		else if (d->arrivals == HES_ARRIVALS_POISSON && i > 0)
			t += hes_rng_exponential(&rng, i < first_third ? d->first_gap_s : d->gap_s);
		jobs->v[i].arrival_us = llround(t * 1e3) * 1000;
	}
}

/* Count what the job has of its row. */
static void account_for(struct hes_trace_account *a, const struct hes_trace_options *d,
			const struct hes_trace_row *row, const struct hes_choice *c)
{
	const bool named = strcmp(row->workload, c->workload) == 0;

	a->jobs++;
	a->iterated += row->runtime_us == 0;
	a->raised += row->runtime_us > 0 && row->runtime_us < d->min_runtime_us;
	a->lowered += row->runtime_us > d->max_runtime_us;
	a->named += named && row->batch_size == c->batch_size;
	a->nearest += named && row->batch_size && row->batch_size != c->batch_size;
	a->named_alone += named && !row->batch_size;
	a->unknown += row->workload[0] && !named;
	if (row->workload[0] && !named && !a->unknown_workload[0])
		memcpy(a->unknown_workload, row->workload, sizeof(a->unknown_workload));
}

static int set_work(const struct hes_trace *t, const struct hes_trace_options *d, uint64_t seed,
		    const struct rows *rows, const uint32_t *picked, const struct choices *from,
		    struct hes_jobs *jobs, struct hes_trace_account *account, struct hes_err *err)
{
	struct hes_rng rng = stream_of(seed, STREAM_CHOICES);

	for (size_t i = 0; i < jobs->n; i++) {
		const struct hes_trace_row *row = &rows->v[picked[i]];
		const struct hes_choice *c =
			choices_choose(from, row->workload, row->batch_size, &rng);
		double runtime =
			(double)clamp(row->runtime_us, d->min_runtime_us, d->max_runtime_us);
		double iterations = row->runtime_us > 0 ? fmax(round(runtime / c->iteration_us), 1)
							: (double)row->iterations;
		struct hes_job *job = &jobs->v[i];

		if (iterations > (double)HES_MAX_ITERATIONS)
			return hes_fail(err, -ERANGE,
					"%s: a job of %g s would be %g iterations of %s; a job has "
					"at most %g",
					hes_trace_name(t), runtime / 1e6, iterations, c->workload,
					(double)HES_MAX_ITERATIONS);
		if (row->id[0])
			memcpy(job->id, row->id, sizeof(job->id));
		else
			snprintf(job->id, sizeof(job->id), "j%04zu", i + 1);
		memcpy(job->workload, c->workload, sizeof(job->workload));
		job->batch_size = c->batch_size;
		job->memory_mib = c->memory_mib;
		job->iterations = (uint64_t)iterations;
		job->weight = 1;
		account_for(account, d, row, c);
	}
	return 0;
}

/* From the first row's arrival to the first picked one's. */
static int64_t origin_us(const struct rows *rows, const uint32_t *picked)
{
	int64_t first = rows->v[picked[0]].arrival_us;

	for (size_t i = 0; i < rows->n; i++)
		first = rows->v[i].arrival_us < first ? rows->v[i].arrival_us : first;
	return rows->v[picked[0]].arrival_us - first;
}

static int check(const struct hes_trace *t, const struct hes_trace_options *d,
		 const struct rows *rows, struct hes_err *err)
{
	const char *what = d->any_gpus ? "" : "single-GPU ";
	char none[64];

	snprintf(none, sizeof(none), "%sjob%s", what,
		 d->drop_outside ? " within the run-time limits" : "");
	if (rows->n == 0)
		return rows_none(t, none, -ERANGE, err);
	if (d->n_jobs > rows->n && !d->fewer)
		return hes_fail(err, -ERANGE,
				"%s: %zu jobs requested, but the trace has %zu %sjobs%s",
				hes_trace_name(t), d->n_jobs, rows->n, what,
				d->drop_outside ? " within the run-time limits" : "");
	return 0;
}

static int draw(const struct hes_trace *t, struct rows *rows, const struct choices *from,
		const struct hes_trace_options *d, struct hes_jobs *out,
		struct hes_trace_account *account, struct hes_err *err)
{
	const uint64_t seed = seed_of(d, rows);
	size_t n = d->n_jobs && d->n_jobs < rows->n ? d->n_jobs : rows->n;
	struct hes_jobs jobs = { .v = calloc(n, sizeof(*jobs.v)), .n = n };
	uint32_t *picked = malloc(rows->n * sizeof(*picked));
	int rc;

	if (!jobs.v || !picked) {
		free(jobs.v);
		free(picked);
		return hes_fail(err, -ENOMEM, "%s: out of memory for %zu jobs", hes_trace_name(t),
				n);
	}
	pick(d, seed, rows, n, picked);
	set_arrivals(d, seed, rows, picked, &jobs);
	account->origin_us = d->arrivals == HES_ARRIVALS_TRACE ? origin_us(rows, picked) : 0;
	rc = set_work(t, d, seed, rows, picked, from, &jobs, account, err);
	if (!rc)
		rc = check_ids(t, rows, picked, n, err);
	free(picked);
	if (rc)
		hes_jobs_free(&jobs);
	else
		*out = jobs;
	return rc;
}

int hes_trace_jobs(struct hes_trace *t, const struct hes_choice *choices, size_t n_choices,
		   const struct hes_trace_options *d, struct hes_jobs *out,
		   struct hes_trace_account *account, struct hes_err *err)
{
	struct reading reading = { .d = d };
	struct choices from;
	struct rows rows;
	int rc;

	if (d->arrivals == HES_ARRIVALS_TRACE && t->no_arrivals)
		return hes_fail(err, -EINVAL, "%s: this trace does not say when jobs arrived",
				hes_trace_name(t));
	rc = choices_init(&from, choices, n_choices, d->mix, err);
	if (rc)
		return rc;
	rc = rows_read(t, wanted, &reading, &rows, err);
	if (!rc)
		rc = check(t, d, &rows, err);
	if (!rc)
		rc = draw(t, &rows, &from, d, out, &reading.account, err);
	if (!rc && account) {
		*account = reading.account;
		memcpy(account->skipped, hes_trace_skipped(t), sizeof(account->skipped));
		for (size_t i = 0; i < HES_TRACE_SKIPS; i++)
			account->rows += account->skipped[i];
	}
	rows_free(&rows);
	choices_finish(&from);
	return rc;
}
