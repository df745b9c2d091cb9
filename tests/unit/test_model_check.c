/*
 * test_model_check.c - the published measurements, where they are: every target is met, and
 * networks left out are predicted at least as well as by the simple rules.
 */
#include <sys/stat.h>

#include "heshare/model.h"
#include "measured/check.h"
#include "unit_test.h"

static const char *data_directory(char *path, size_t size)
{
	const char *dir = getenv("HES_DATA");
	struct stat st;

	if (!dir || !dir[0]) {
		snprintf(path, size, "%s/../shared/data",
			 getenv("HES_SOURCE_ROOT") ? getenv("HES_SOURCE_ROOT") : ".");
		dir = path;
	}
	return stat(dir, &st) == 0 ? dir : NULL;
}

/* For networks left out, in median and mean. */
static void as_good_as(const struct hes_check *c, enum hes_series_id model_row,
		       enum hes_series_id rule)
{
	const struct hes_check_row *m = &c->rows[model_row], *r = &c->rows[rule];

	assert_true(m->n == r->n);
	if (m->median > r->median || m->mean > r->mean)
		fail_msg("%s: median %.4f, mean %.4f; %s: %.4f, %.4f", m->series->what, m->median,
			 m->mean, r->series->what, r->median, r->mean);
}

/* A target that is there by mistake would be met, or fail, unnoticed. */
TEST(targets_of_tails_and_signs_are_set_where_they_are_meant)
{
	for (int i = 0; i < HES_SERIES_COUNT; i++) {
		const struct hes_series *s = &hes_series[i];
		const double sign = i == HES_SERIES_ZEUS_LOW_V100 ||
						    i == HES_SERIES_ZEUS_LOW_P100 ||
						    i == HES_SERIES_ZEUS_LOW_A40 ||
						    i == HES_SERIES_ZEUS_LOW_DERIVED
					    ? .8
					    : 0;

		if (s->target_p90 != (i == HES_SERIES_IGNITER_SOLO ? .08 : 0) ||
		    s->target_sign != sign)
			fail_msg("%s, %s: %g, %g", s->set ? s->set : "GPU", s->what, s->target_p90,
				 s->target_sign);
	}
	assert_true(hes_series[HES_SERIES_ZEUS_LOW_TIME].target == .10);
}

TEST(published_measurements_are_met)
{
	struct hes_observations o = { 0 };
	struct hes_model *model;
	struct hes_catalogue types;
	struct hes_check table;
	struct hes_err err;
	char path[1024];
	const char *dir = data_directory(path, sizeof(path));

	if (!dir)
		skip();
	assert_int_equal(hes_model_load(NULL, &model, &err), 0);
	assert_int_equal(hes_catalogue_load(NULL, &types, &err), 0);
	assert_int_equal(hes_model_derive(model, &types, &err), 0);
	assert_int_equal(hes_observe(model, &types, dir, false, &o, &err), 0);
	assert_int_equal(hes_model_check(model, &o, &table, &err), 0);
	assert_int_equal(table.n, HES_SERIES_PUBLISHED);
	for (size_t i = 0; i < table.n; i++)
		if (!table.rows[i].met)
			fail_msg("%s, %s: median error %.4f, p90 %.4f", table.rows[i].set,
				 table.rows[i].series->what, table.rows[i].median,
				 table.rows[i].p90);
	as_good_as(&table, HES_SERIES_IGNITER_HELD, HES_SERIES_IGNITER_CONSTANT);
	as_good_as(&table, HES_SERIES_IGNITER_HELD, HES_SERIES_IGNITER_LINE);
	as_good_as(&table, HES_SERIES_PARVA_HELD, HES_SERIES_PARVA_SIBLING);
	as_good_as(&table, HES_SERIES_TALLY_PAIRS, HES_SERIES_TALLY_SLICES);
	assert_true(table.rows[HES_SERIES_IGNITER_HELD].rank > 0.6);
	hes_check_free(&table);
	hes_observations_free(&o);
	hes_model_free(model);
	hes_catalogue_free(&types);
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
