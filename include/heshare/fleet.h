/*
 * fleet.h - the GPUs that a plan may use: name, node and type of each.
 */
#ifndef HESHARE_FLEET_H
#define HESHARE_FLEET_H

#include "heshare/gpu_type.h"

struct hes_gpu {
	char name[HES_NAME_MAX]; /* unique in the fleet: "node1/0" */
	char node[HES_NAME_MAX];
	const struct hes_gpu_type *type; /* owned by the catalogue, or one of the fleet's limited */
	char uuid[HES_UUID_MAX];         /* of a GPU that is there; "": any of the type */
};

struct hes_fleet {
	char name[HES_NAME_MAX];
	struct hes_gpu *gpus;
	size_t n;
	struct hes_gpu_type *limited; /* types with the power limits that its file states */
	size_t n_limited;
};

#define HES_MAX_GPUS 100000

/**
 * Read a fleet file (docs/formats/fleet.md).
 * @param c    must outlive the fleet
 * @param out  written on success only; hes_fleet_free it
 * @return 0; -EINVAL, -ERANGE with file, field and value, or the line of a YAML error; -ENOENT
 * unknown GPU type; -EEXIST two nodes with the same name; -EFBIG above 64 MiB; -ENOMEM; -errno of
 * reading the file
 */
int hes_fleet_load(const char *path, const struct hes_catalogue *c, struct hes_fleet *out,
		   struct hes_err *err);
/** The same from @len bytes of memory; @name stands for the file in errors. @return as
 * hes_fleet_load(), without the errors of reading */
int hes_fleet_parse(const char *name, const char *text, size_t len, const struct hes_catalogue *c,
		    struct hes_fleet *out, struct hes_err *err);
/** Free what a fleet holds and clear it. */
void hes_fleet_free(struct hes_fleet *f);

/** The type with another power limit: one of limited, which has room for it. @param limit_w  0: as
 * it is. @return @g if it has that limit */
const struct hes_gpu_type *hes_fleet_limit(struct hes_fleet *f, const struct hes_gpu_type *g,
					   double limit_w);

/**
 * A fleet whose GPUs have the one power limit of their type, hes_gpu_type_static_limit_mw().
 * @param out  written only on success; hes_fleet_free it. @return 0; -ENOMEM
 */
int hes_fleet_lower(const struct hes_fleet *f, struct hes_fleet *out);

/** @return index of the GPU called @name, or -1 */
long hes_fleet_find(const struct hes_fleet *f, const char *name);

/** Distinct types in the order of first appearance. @return how many were written, at most @max */
size_t hes_fleet_types(const struct hes_fleet *f, const struct hes_gpu_type **out, size_t max);

#endif
