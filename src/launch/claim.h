/*
 * claim.h - one program at a time has a GPU, among all programs of this machine that claim it.
 *
 * A claim is an abstract local socket, which ends with its process: no file remains, and none can
 * be put in its place. Claims work within a network namespace: they do not separate containers with
 * their own namespaces.
 */
#ifndef HES_LAUNCH_CLAIM_H
#define HES_LAUNCH_CLAIM_H

#include <stddef.h>

#include "heshare/err.h"

struct hes_claim {
	char uuid[80];
	int fd;
};

/** All zero: no claims. */
struct hes_claims {
	struct hes_claim *v;
	size_t n, room;
};

/**
 * Claim a GPU; harmless if we have it. Waits a second for a program that is ending.
 * @return 0; -EBUSY another program has it; -ENOMEM, -EMFILE
 */
int hes_claim_gpu(struct hes_claims *c, const char *uuid, struct hes_err *err);
/** Release all claims. */
void hes_claims_free(struct hes_claims *c);

#endif
