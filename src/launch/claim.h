/*
 * claim.h - GPUs that are ours alone: of all programs on this machine that claim a GPU one has it at a time.
 *
 * A claim is a name in the kernel's list of local sockets (those without a file), which ends with the process that
 * has it, however that ends: no file is left and none can be put in its place. It reaches as far as the
 * network namespace: containers with namespaces of their own are not kept apart.
 */
#ifndef HES_LAUNCH_CLAIM_H
#define HES_LAUNCH_CLAIM_H

#include <stddef.h>

#include "heshare/err.h"

struct hes_claim {
	char uuid[80];
	int  fd;
};

/** Zero is none. */
struct hes_claims {
	struct hes_claim *v;
	size_t            n, room;
};

/**
 * Claim a GPU; harmless if we have it. Waits a moment for one who is just ending.
 * @return 0; -EBUSY somebody else has it; -ENOMEM, -EMFILE
 */
int hes_claim_gpu(struct hes_claims *c, const char *uuid, struct hes_err *err);
/** Let all go. */
void hes_claims_free(struct hes_claims *c);

#endif
