/*
 * plan_json.h - read plans from JSON, in a file or in memory.
 */
#ifndef HES_CORE_PLAN_JSON_H
#define HES_CORE_PLAN_JSON_H

#include <jansson.h>

#include "heshare/plan.h"

/** @param out  json_decref() it; set on success. @return 0; -EINVAL no JSON; what reading a file
 * can end in */
int hes_plan_parse(const char *path, json_t **out, struct hes_err *err);

/** hes_plan_load() from a document that is parsed. @param name  of the document, in errors */
int hes_plan_read(const json_t *doc, const char *name, const struct hes_fleet *f,
		  const struct hes_jobs *jobs, struct hes_plan *out, struct hes_err *err);

/** The member that has the type of GPU @o; older plans call it "type". */
const char *hes_plan_gpu_type_key(const json_t *o);

#endif
