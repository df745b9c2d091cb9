/*
 * test_trace_data.c - the readers on the logs themselves, and how near the
 * generator comes to the log it was fitted to. Skips without the data
 * (HES_DATA, or ../shared/data next to the sources).
 */
#include <zlib.h>

#include "heshare/trace.h"
#include "unit_test.h"

#define HELIOS  "helios_venus/venus_gpu_jobs.csv.gz"
#define PHILLY  "philly_trace/philly.csv.gz"
#define ALIBABA "alibaba_2023_openb/openb_pod_list_default.csv.gz"
#define MISO    "miso_a100/trace_100_jobs.csv"

static const char *data_path(const char *name)
{
	static char path[4096];
	const char *dir = getenv("HES_DATA"), *root = getenv("HES_SOURCE_ROOT");

	if (dir && dir[0])
		snprintf(path, sizeof(path), "%s/%s", dir, name);
	else
		snprintf(path, sizeof(path), "%s/../shared/data/%s", root ? root : ".", name);
	if (access(path, R_OK) != 0)
		skip();
	return path;
}

static struct hes_trace *open_log(const char *name, const char *format)
{
	struct hes_trace *t;
	struct hes_err err;

	if (hes_trace_open(data_path(name), NULL, &t, &err))
		fail_msg("%s", err.msg);
	assert_string_equal(hes_trace_format_name(t), format);
	return t;
}

static struct hes_trace_summary summary_of(const char *name, const char *format)
{
	struct hes_trace *t = open_log(name, format);
	struct hes_trace_summary s;
	struct hes_err err;

	if (hes_trace_summarise(t, &s, &err))
		fail_msg("%s", err.msg);
	hes_trace_close(t);
	return s;
}

/* Rows below the header, counted without the reader. */
static uint64_t rows_of(const char *name)
{
	gzFile gz = gzopen(data_path(name), "r");
	char line[4096];
	uint64_t n = 0;

	assert_non_null(gz);
	while (gzgets(gz, line, sizeof(line)))
		n += line[0] != '\n' && line[0] != '\r';
	gzclose(gz);
	return n - 1;
}

static uint64_t skipped_rows(const struct hes_trace_summary *s)
{
	uint64_t n = 0;

	for (size_t i = 0; i < HES_TRACE_SKIPS; i++)
		n += s->skipped[i];
	return n;
}

/* Index of the median in hes_trace_quantiles. */
static size_t median(void)
{
	size_t i = 0;

	while (hes_trace_quantiles[i] != 0.5)
		i++;
	return i;
}

/*
 * The whole Venus log has 125,303 GPU jobs with a median of 204 s (Helios' own summary);
 * copies that end after 97 days have 50,255 with a median of 213 s.
 */
TEST(helios_has_its_jobs_and_their_median)
{
	struct hes_trace_summary s = summary_of(HELIOS, "helios");

	assert_int_equal(s.jobs, rows_of(HELIOS));
	assert_int_equal(skipped_rows(&s), 0);
	assert_int_equal(s.runtime_us[median()], (s.jobs == 125303 ? 204 : 213) * INT64_C(1000000));
	assert_true(s.jobs == 125303 || s.jobs == 50255);
}

TEST(philly_has_its_jobs)
{
	struct hes_trace_summary s = summary_of(PHILLY, "philly");

	assert_int_equal(s.jobs + skipped_rows(&s), rows_of(PHILLY));
	assert_int_equal(s.jobs, 82247);
	assert_int_equal(s.by_gpus[1], 76627);
	assert_int_equal(s.runtime_us[median()], 1144000000);
}

/* 8152 pods: 1088 without a GPU, 861 never scheduled. */
TEST(alibaba_has_the_pods_that_ran_on_gpus)
{
	struct hes_trace_summary s = summary_of(ALIBABA, "alibaba");

	assert_int_equal(s.jobs + skipped_rows(&s), rows_of(ALIBABA));
	assert_int_equal(s.skipped[HES_SKIP_NO_GPU], 1088);
	assert_int_equal(s.skipped[HES_SKIP_RUNTIME], 861);
	assert_int_equal(s.jobs, 6203);
	assert_true(s.by_gpus[0] > 2000); /* parts of a GPU */
}

TEST(misos_hundred_jobs_last_120_to_6082_seconds)
{
	struct hes_trace_summary s = summary_of(MISO, "miso");

	assert_int_equal(s.jobs, 100);
	assert_int_equal(s.runtime_us[0], 120000000);
	assert_int_equal(s.runtime_us[HES_TRACE_QUANTILES - 1] / 1000000, 6082);
	assert_true(s.mean_runtime_s > 770 && s.mean_runtime_s < 771);
}

/* --- the generator against its log --- */

struct sample {
	int64_t *v;
	size_t n;
};

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

enum measure { RUNTIME, RUNTIME_OF_ONE_GPU, GAP };

/* Sorted. Gaps: from @start_us on, for the log begins with days of hardly a job. */
static struct sample sample_of(struct hes_trace *t, enum measure what, int64_t start_us)
{
	struct sample s = { malloc(200000 * sizeof(*s.v)), 0 };
	struct hes_trace_row row;
	struct hes_err err;

	assert_non_null(s.v);
	while (hes_trace_next(t, &row, &err) == 1 && s.n < 200000) {
		if (what == GAP && row.arrival_us >= start_us)
			s.v[s.n++] = row.arrival_us;
		if (what == RUNTIME || (what == RUNTIME_OF_ONE_GPU && row.gpu_milli == 1000))
			s.v[s.n++] = row.runtime_us;
	}
	hes_trace_close(t);
	qsort(s.v, s.n, sizeof(*s.v), by_value);
	if (what == GAP) {
		s.n--;
		for (size_t i = 0; i < s.n; i++)
			s.v[i] = s.v[i + 1] - s.v[i];
		qsort(s.v, s.n, sizeof(*s.v), by_value);
	}
	return s;
}

/* Largest difference of the two distribution functions. */
static double ks_distance(const struct sample *a, const struct sample *b)
{
	double worst = 0;

	for (size_t i = 0, k = 0; i < a->n && k < b->n;) {
		int64_t x = a->v[i] < b->v[k] ? a->v[i] : b->v[k];
		double d;

		while (i < a->n && a->v[i] == x)
			i++;
		while (k < b->n && b->v[k] == x)
			k++;
		d = (double)i / (double)a->n - (double)k / (double)b->n;
		worst = d > worst ? d : -d > worst ? -d : worst;
	}
	return worst;
}

static void assert_near(const char *name, enum measure what, double limit)
{
	struct hes_trace *t;
	struct hes_err err;
	struct sample log = sample_of(open_log(HELIOS, "helios"), what,
				      INT64_C(13) * 86400 * 1000000),
		      made;
	double d;

	assert_int_equal(hes_trace_generate(NULL, 1, 100000, &t, &err), 0);
	made = sample_of(t, what, 0);
	d = ks_distance(&log, &made);
	print_message("%s: Kolmogorov-Smirnov distance %.4f of %zu generated to %zu logged\n", name,
		      d, made.n, log.n);
	assert_true(d < limit);
	free(log.v);
	free(made.v);
}

static void need_the_fitted_log(void)
{
	if (rows_of(HELIOS) != 50255) /* what data/traces/helios_like.yaml says it was fitted to */
		skip();
}

TEST(generated_run_times_follow_helios)
{
	need_the_fitted_log();
	assert_near("run time", RUNTIME, 0.01);
	assert_near("run time of single-GPU jobs", RUNTIME_OF_ONE_GPU, 0.012);
}

TEST(generated_gaps_between_arrivals_follow_helios)
{
	need_the_fitted_log();
	assert_near("gap between arrivals", GAP, 0.03);
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
