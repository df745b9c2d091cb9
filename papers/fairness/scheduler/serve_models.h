/*
 * serve_models.h - the models that the program serves, and where they run.
 */
#ifndef SERVE_MODELS_H
#define SERVE_MODELS_H

#include "fair_scheduler.h"

#define N_MODELS 3

struct model {
	const char *name;
	double weight;
	double power_w;  /* of its tenant, from measurements of the model alone: heshare measure */
	unsigned size;   /* CPU: edge of its matrices; GPU: thousands of steps of each thread */
	unsigned batch;  /* in the lab */
	unsigned blocks; /* of a kernel launch on a real GPU */
};

/** The GPU for the models: a kernel for each. */
struct serve_cuda;

/**
 * Open the first GPU and load code for it: a PTX kernel, or the workloads of the virtual GPU lab
 * where the GPU takes no PTX.
 * @return 0 or a negative errno
 */
int serve_cuda_open(const struct model *models, struct serve_cuda **out, struct hes_err *err);

/** @param g may be NULL */
void serve_cuda_close(struct serve_cuda *g);

/** The launch that answers one request of a model. It belongs to @g. */
const struct hes_fair_kernel *serve_cuda_kernel(const struct serve_cuda *g, size_t model);

const char *serve_cuda_describe(const struct serve_cuda *g);

#endif
