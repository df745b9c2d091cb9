/*
 * fault_spec.h - faults by name: "GPU:KIND[:SECONDS]".
 *
 * GPU is an index or "all". SECONDS are virtual; without them a fault lasts for good. "GPU:clear"
 * ends all faults of a GPU.
 */
#ifndef VGPU_FAULT_SPEC_H
#define VGPU_FAULT_SPEC_H

#include "state.h"

/** @return 0; -EINVAL the text is wrong; -ESRCH, -errno */
int vgpu_fault_inject(struct vgpu_lab *lab, const char *spec, struct hes_err *err);

/** @return name and description of fault @i, for help; NULL past the last */
const char *vgpu_fault_describe(size_t i, const char **what);

#endif
