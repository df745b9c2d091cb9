/*
 * fleet.h - the GPUs there are: name, node and type of each.
 */
#ifndef HESHARE_FLEET_H
#define HESHARE_FLEET_H

#include "heshare/gpu_type.h"

struct hes_gpu {
	char name[HES_NAME_MAX];            /* unique in the fleet: "node1/0" */
	char node[HES_NAME_MAX];
	const struct hes_gpu_type *type;    /* owned by the catalogue */
};

struct hes_fleet {
	char            name[HES_NAME_MAX];
	struct hes_gpu *gpus;
	size_t          n;
};

#define HES_MAX_GPUS 100000

/**
 * Read a fleet file (docs/formats/fleet.md).
 * @param c  must outlive the fleet
 * @return 0; -EINVAL with file, line, field and value; -ENOENT unknown GPU type
 */
int  hes_fleet_load(const char *path, const struct hes_catalogue *c, struct hes_fleet *out,
		    struct hes_err *err);
/** The same from memory; @name stands for the file in errors. */
int  hes_fleet_parse(const char *name, const char *text, size_t len, const struct hes_catalogue *c,
		     struct hes_fleet *out, struct hes_err *err);
void hes_fleet_free(struct hes_fleet *f);

/** @return index of the GPU called @name, or -1 */
long hes_fleet_find(const struct hes_fleet *f, const char *name);

/** Distinct types in the order of first appearance. @return how many were written, at most @max */
size_t hes_fleet_types(const struct hes_fleet *f, const struct hes_gpu_type **out, size_t max);

#endif
