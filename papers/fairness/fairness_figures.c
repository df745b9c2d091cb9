/*
 * fairness_figures.c - the figures of "Energy Time Fairness" (Liang et al., SEC 2023), each by
 * replays through heshare's run queue.
 *
 * usage: fairness_figures PROFILES [FOLDER]. PROFILES is freq_time_power.csv of the authors;
 * pictures and claims.csv go to FOLDER. Exit status: 0; 1 a limit was not held, or the run failed;
 * 2 wrong usage; 77 no profiles.
 */
#include <errno.h>
#include <limits.h>
#include <unistd.h>

#include "base/file.h"
#include "fairness_study.h"

#define SKIP    77
#define SECONDS 12 /* 60 intervals: what each rounds off stays below a slice */

static int (*const figures[])(struct study *, struct hes_err *) = {
	figure_1, figure_2, figure_3, equations, figure_5,  implied_ratios, figure_6,
	figure_7, figure_8, figure_9, figure_10, figure_11, mirror,
};

static int run(struct study *s, struct hes_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]) && !rc; i++)
		rc = figures[i](s, err);
	study_verdict(s, "4", STUDY_INPUT, "a drawing of their scheduler");
	if (!rc)
		printf("\n%zu of %zu limits held\n", s->limits - s->broken, s->limits);
	return rc ? rc : study_summary(s, err);
}

static int run_into(struct study *s, struct hes_err *err)
{
	struct hes_file csv;
	char path[PATH_MAX];
	int rc = hes_folder_create(s->folder, err);

	if (rc)
		return rc;
	snprintf(path, sizeof(path), "%s/claims.csv", s->folder);
	rc = hes_file_create(&csv, path, err);
	if (rc)
		return rc;
	s->csv = csv.f;
	fputs("figure,what,paper,ours,difference,held\n", csv.f);
	rc = run(s, err);
	if (!rc)
		return hes_file_commit(&csv, err);
	hes_file_abort(&csv);
	return rc;
}

int main(int argc, char **argv)
{
	struct study s = { .seconds = SECONDS };
	struct hes_err err;
	int rc;

	if (argc < 2 || argc > 3) {
		fputs("usage: fairness_figures PROFILES [FOLDER]; PROFILES is "
		      "etf_jetson_tx2/freq_time_power.csv\n",
		      stderr);
		return 2;
	}
	if (access(argv[1], R_OK) != 0) {
		printf("fairness: skipped, there are no profiles at %s (papers/fairness/README.md "
		       "says where they come from)\n",
		       argv[1]);
		return SKIP;
	}
	s.folder = argc > 2 ? argv[2] : NULL;
	rc = tx2_load(argv[1], &s.tx2, &err);
	if (!rc) {
		puts("Energy Time Fairness (Liang et al., SEC 2023). All numbers of ours are "
		     "replays through the run queue: intervals of 200 ms,\n"
		     "1000 quanta. A1 and A2 always have requests. One slice is the greatest mean "
		     "turn of a tenant.");
		rc = s.folder ? run_into(&s, &err) : run(&s, &err);
	}
	if (rc)
		fprintf(stderr, "fairness_figures: %s\n", err.msg);
	return rc || s.broken;
}
