/*
 * visible_gpus.c - which GPUs this process may use; see visible_gpus.h.
 *
 * CUDA_VISIBLE_DEVICES counts first: Slurm sets it so that it fits what the job can see, and users
 * set it by hand. Slurm's own variables have the numbers of the whole node. In a job that Slurm
 * confines to its GPUs, NVML shows only these.
 */
#include "cli/inputs/visible_gpus.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const variables[] = { "CUDA_VISIBLE_DEVICES", "SLURM_STEP_GPUS",
					 "SLURM_JOB_GPUS" };

static size_t count_names(const char *list)
{
	size_t n = *list != '\0';

	for (const char *c = list; *c; c++)
		n += *c == ',';
	return n;
}

/* @return 0; -ENODEV a Slurm job without GPUs */
static int keep_visible(struct hes_devices *d, struct hes_err *err)
{
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		const char *list = getenv(variables[i]);
		int rc;

		if (!list)
			continue;
		if (i && count_names(list) == hes_devices_count(d))
			return 0;
		rc = hes_devices_keep(d, variables[i], list, err);
		if (!rc && !hes_devices_count(d))
			rc = hes_fail(err, -ENODEV, "no GPU may be used: %s is \"%.40s\"",
				      variables[i], list);
		return rc;
	}
	if (getenv("SLURM_JOB_ID"))
		return hes_fail(err, -ENODEV,
				"Slurm job %.20s has no GPU on this node: ask for some, for "
				"example by --gres=gpu:1; where Slurm does not "
				"manage GPUs, name them in CUDA_VISIBLE_DEVICES",
				getenv("SLURM_JOB_ID"));
	return 0;
}

int cli_devices_open(const struct hes_catalogue *c, struct hes_devices **out, struct hes_err *err)
{
	struct hes_devices *d = NULL;
	int rc = hes_devices_open(c, &d, err);

	if (!rc && !hes_devices_count(d))
		rc = hes_fail(err, -ENODEV,
			      "no NVIDIA GPUs: the driver has none; to do: lspci | grep -i nvidia "
			      "shows whether the machine has one, sudo dmesg why the driver does "
			      "not take it; in a container or a Slurm job, ask for GPUs");
	if (!rc)
		rc = keep_visible(d, err);
	if (rc)
		hes_devices_close(d);
	else
		*out = d;
	return rc;
}
