/*
 * measured_about.h - gpu.json of a folder that bench/gpu/measure wrote (bench/gpu/measured.md).
 *
 * Its tables are read by src/app/measured_points.c, and by tools/measured.
 */
#ifndef HES_MODEL_MEASURED_ABOUT_H
#define HES_MODEL_MEASURED_ABOUT_H

#include <jansson.h>
#include <stdbool.h>

#include "heshare/model.h"

#define HES_NETWORK_MAX 33 /* bytes of a network's name, so that its workload's fits */

struct hes_measured_about {
	json_t *doc; /* the whole file; json_decref it */
	enum hes_style style;
	const struct hes_gpu_type *type; /* of the catalogue */
};

/**
 * Read @dir/gpu.json.
 * @param tests  take a recording or a made-up GPU, too
 * @param out    written only on success
 * @return 0; -EINVAL no such document; -ENOENT no file, or a type that the catalogue does not
 * have; -errno of reading
 */
int hes_measured_about_load(const char *dir, const struct hes_catalogue *c, bool tests,
			    struct hes_measured_about *out, struct hes_err *err);

/** The workload that a network in "fp16", "fp32" or "tf32" is in bench/gpu/measure:
 * "resnet50-fp16", with graphs "resnet50-fp16-graphs". */
void hes_inference_name(char name[HES_NAME_MAX], const char *network, const char *precision,
			enum hes_style style);

#endif
