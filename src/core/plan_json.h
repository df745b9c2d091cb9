/*
 * plan_json.h - read a plan file as JSON.
 */
#ifndef HES_CORE_PLAN_JSON_H
#define HES_CORE_PLAN_JSON_H

#include <jansson.h>

#include "heshare/err.h"

/** @param out  json_decref() it; set on success. @return 0; -EINVAL no JSON; what reading a file can end in */
int hes_plan_parse(const char *path, json_t **out, struct hes_err *err);

#endif
