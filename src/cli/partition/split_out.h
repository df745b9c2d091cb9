/*
 * split_out.h - show splits, groups of a fleet and a split that was run as text and JSON.
 */
#ifndef HES_CLI_PARTITION_SPLIT_OUT_H
#define HES_CLI_PARTITION_SPLIT_OUT_H

#include <jansson.h>

#include "app/partition_fleet.h"
#include "app/partition_run.h"

/** @param script  also the commands that apply the chosen split */
int partition_print(const struct partition_answer *a, bool all, bool script, struct hes_err *err);
json_t *partition_json(const struct partition_answer *a);

/** Jobs on the GPUs of a fleet. */
void partition_fleet_print(const struct partition_fleet *f);
json_t *partition_fleet_json(const struct partition_fleet *f);

/** A split that was carried out, next to what was predicted. */
void partition_run_print(const struct partition_run *r, const struct hes_run_report *report);
json_t *partition_run_json(const struct partition_run *r, const struct hes_run_report *report);

#endif
