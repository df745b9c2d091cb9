/*
 * report_sample.h - a made-up replay that looks like a real one: batches of
 * jobs with shares and clocks on every GPU, ten policies around it.
 */
#ifndef HES_TESTS_REPORT_SAMPLE_H
#define HES_TESTS_REPORT_SAMPLE_H

#include "heshare/report.h"

struct sample {
	struct hes_catalogue catalogue;
	struct hes_fleet fleet;
	struct hes_jobs jobs;
	struct hes_plan plan;
	struct hes_replay replay;
	struct hes_front front;
	struct hes_report_policy policies[10];
	struct hes_report report;
};

/** @fleet is a fleet file's text. */
void sample_init(struct sample *s, const char *fleet, size_t n_jobs, uint64_t seed);
void sample_finish(struct sample *s);

/** The fleet of data/fleets/heshare.yaml. */
extern const char sample_fleet[];

#endif
