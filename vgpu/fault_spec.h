/*
 * fault_spec.h - faults by name: "GPU:KIND[:SECONDS]".
 *
 * GPU is a GPU's index or "all"; without seconds (virtual) a fault lasts.
 * "GPU:clear" ends all faults of a GPU; "GPU:mps-death" kills its MPS servers.
 */
#ifndef VGPU_FAULT_SPEC_H
#define VGPU_FAULT_SPEC_H

#include "state.h"

/** @return 0; -EINVAL with what is wrong and what there is */
int vgpu_fault_inject(struct vgpu_lab *lab, const char *spec, struct hes_err *err);

/** @return name and description of fault @i, for help; NULL past the last */
const char *vgpu_fault_describe(size_t i, const char **what);

#endif
