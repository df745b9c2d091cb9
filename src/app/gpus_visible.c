/*
 * gpus_visible.c - which GPUs this process may use; see gpus_visible.h.
 *
 * CUDA_VISIBLE_DEVICES counts first: Slurm sets it so that it fits what the job can see, and users
 * set it by hand. Slurm's own variables have the numbers of the whole node. In a job that Slurm
 * confines to its GPUs, NVML shows only these.
 *
 * An index in CUDA_VISIBLE_DEVICES is CUDA's, which counts the fastest GPU first unless
 * CUDA_DEVICE_ORDER is PCI_BUS_ID. Where it may differ from NVML's, a query of CUDA
 * decides, and UUIDs replace the indices also in the environment: what is started from here gets
 * the same GPUs.
 */
#include "app/gpus_visible.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/texts.h"
#include "gpu/spawn.h"

#define UUIDS_SHOWN         300 /* bytes of an error */
#define CUDA_ORDER_UUID_MAX 44
#define ANSWER_MAX_BYTES    16384
#define MOST_GPUS           (ANSWER_MAX_BYTES / CUDA_ORDER_UUID_MAX)
#define UUID_LENGTH         40    /* "GPU-" and 32 digits in five groups */
#define WAIT_MS             60000 /* CUDA starts slowly on a machine with many GPUs */

#define CUDA_VARIABLE "CUDA_VISIBLE_DEVICES"

static const char *const variables[] = { CUDA_VARIABLE, "SLURM_STEP_GPUS", "SLURM_JOB_GPUS" };

static size_t count_names(const char *list)
{
	size_t n = *list != '\0';

	for (const char *c = list; *c; c++)
		n += *c == ',';
	return n;
}

/* @return the highest index in a list; -1: there is none */
static long highest_index(const char *list)
{
	long highest = -1;

	for (const char *at = list; at; at = strchr(at, ',')) {
		char *end;
		long i;

		at += *at == ',';
		i = strtol(at, &end, 10);
		end += strspn(end, " ");
		if (end > at && (!*end || *end == ',') && i > highest)
			highest = i;
	}
	return highest;
}

/* Whether CUDA's index may be another than NVML's: GPUs of several types of which CUDA counts the
 * fastest first, or one that cannot be used, which CUDA may not count. */
static bool index_may_differ(const struct app *app, const struct hes_devices *d, long index)
{
	const char *order = app_variable(app, "CUDA_DEVICE_ORDER");
	const bool by_pci = order && strcmp(order, "PCI_BUS_ID") == 0;
	char first[sizeof(((struct hes_device_info *)0)->name)] = "";

	for (size_t i = 0; i < hes_devices_count(d); i++) {
		struct hes_device_info info;

		if (hes_device_info(d, i, &info, NULL)) {
			if ((long)i <= index)
				return true;
			continue;
		}
		if (!by_pci && *first && strcmp(first, info.name) != 0)
			return true;
		strcpy(first, info.name);
	}
	return false;
}

/* "GPU-... (Tesla T4), ..." */
static void list_uuids(const struct hes_devices *d, char *out, size_t size)
{
	*out = '\0';
	for (size_t i = 0; i < hes_devices_count(d); i++) {
		struct hes_device_info info;

		if (hes_device_info(d, i, &info, NULL))
			continue;
		if (strlen(out) + sizeof(info.uuid) + sizeof(info.name) > size) {
			hes_text_add(out, size, ", ", "...");
			return;
		}
		hes_text_add(out, size, ", ", "%s (%s)", info.uuid, info.name);
	}
}

/* A list with CUDA's UUIDs in place of its indices; free() @out. CUDA may not count a GPU that
 * cannot be used: the others are used without it. */
static int list_of_uuids(const struct app *app, const struct hes_devices *d, const char *list,
			 char (*uuids)[CUDA_ORDER_UUID_MAX], size_t n, char **out,
			 struct hes_err *err)
{
	char *made = calloc(1, (count_names(list) + 1) * CUDA_ORDER_UUID_MAX + strlen(list) + 1),
	     *text = strdup(list), *rest = text, *name;
	int rc = made && text ? 0 : hes_fail(err, -ENOMEM, "no memory for a list of GPUs");
	struct hes_err why, sick = { .msg = "" };

	while (!rc && (name = strsep(&rest, ","))) {
		const long i = highest_index(name);

		if (i < (long)n) {
			strcat(strcat(made, *made ? "," : ""), i < 0 ? name : uuids[i]);
			continue;
		}
		hes_fail(&why, -ENOENT,
			 CUDA_VARIABLE " names GPU %ld, and CUDA shows %zu, from 0 on%s%.300s", i,
			 n, hes_devices_check(d, &sick) ? "; " : "", sick.msg);
		if (sick.code)
			app_say(app, "left out: %s", why.msg);
		if (!sick.code || (!rest && !*made))
			rc = hes_fail(err, why.code, "%s", why.msg);
	}
	free(text);
	if (rc)
		free(made);
	else
		*out = made;
	return rc;
}

/* The last line, which says why. */
static const char *last_line(char *text)
{
	size_t n = strlen(text);
	const char *last;

	while (n && text[n - 1] == '\n')
		text[--n] = '\0';
	last = strrchr(text, '\n');
	return last ? last + 1 : text;
}

/* CUDA's UUIDs in its order, by a process of its own, `gpus --cuda-order`: heshare never holds a
 * CUDA context. free() @out. @return 0; -EIO CUDA does not say; -errno */
static int ask_cuda_order(char (**out)[CUDA_ORDER_UUID_MAX], size_t *n, struct hes_err *err)
{
	char *argv[] = { "/proc/self/exe", "gpus", "--cuda-order", NULL };
	static const char *const none[] = { NULL };
	char *text = calloc(1, ANSWER_MAX_BYTES);
	char(*v)[CUDA_ORDER_UUID_MAX] = calloc(MOST_GPUS, sizeof(*v));
	int status = 0, rc = text && v ? 0 : hes_fail(err, -ENOMEM, "out of memory");
	size_t many = 0;

	if (!rc)
		rc = hes_spawn(argv, none, "", NULL, 0, WAIT_MS, text, ANSWER_MAX_BYTES, &status,
			       err);
	if (!rc && status)
		rc = hes_fail(err, -EIO, "CUDA does not say: %.200s", last_line(text));
	/* The driver may print lines of its own. */
	for (char *line = text; !rc && line && many < MOST_GPUS; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (sscanf(line, "%43[-GPUa-f0-9]", v[many]) == 1 &&
		    strncmp(v[many], "GPU-", 4) == 0 && strlen(v[many]) == UUID_LENGTH)
			many++;
	}
	free(text);
	if (rc) {
		free(v);
		return rc;
	}
	*out = v;
	*n = many;
	return 0;
}

/* Put UUIDs in place of indices that may not be NVML's. */
static int name_by_uuid(const struct app *app, const struct hes_devices *d, const char *list,
			struct hes_err *err)
{
	char(*uuids)[CUDA_ORDER_UUID_MAX] = NULL, known[UUIDS_SHOWN], *named = NULL;
	const long index = highest_index(list);
	struct hes_err why;
	size_t n = 0;
	int rc;

	if (index < 0 || !index_may_differ(app, d, index))
		return 0;
	rc = ask_cuda_order(&uuids, &n, &why);
	if (rc) {
		list_uuids(d, known, sizeof(known));
		return hes_fail(err, rc,
				CUDA_VARIABLE " is \"%.40s\", and CUDA may count GPUs in another "
					      "order than NVML; %s; name them by UUID: %s",
				list, why.msg, known);
	}
	rc = list_of_uuids(app, d, list, uuids, n, &named, err);
	free(uuids);
	if (!rc && app_set_variable(app, CUDA_VARIABLE, named))
		rc = hes_fail(err, -ENOMEM, "no memory for a list of GPUs");
	free(named);
	return rc;
}

/* @return 0; -ENODEV a Slurm job without GPUs */
static int keep_visible(const struct app *app, struct hes_devices *d, struct hes_err *err)
{
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		const char *list = app_variable(app, variables[i]);
		int rc;

		if (!list)
			continue;
		if (i && count_names(list) == hes_devices_count(d))
			return 0;
		rc = i ? 0 : name_by_uuid(app, d, list, err);
		list = app_variable(app, variables[i]); /* which may be new */
		if (!rc)
			rc = hes_devices_keep(d, variables[i], list, err);
		if (!rc && !hes_devices_count(d))
			rc = hes_fail(err, -ENODEV, "no GPU may be used: %s is \"%.40s\"",
				      variables[i], list);
		return rc;
	}
	if (app_variable(app, "SLURM_JOB_ID"))
		return hes_fail(err, -ENODEV,
				"Slurm job %.20s has no GPU on this node: ask for some, for "
				"example by --gres=gpu:1; where Slurm does not "
				"manage GPUs, name them in CUDA_VISIBLE_DEVICES",
				app_variable(app, "SLURM_JOB_ID"));
	return 0;
}

int app_devices_open(const struct app *app, const struct hes_catalogue *c, struct hes_devices **out,
		     struct hes_err *err)
{
	struct hes_devices *d = NULL;
	int rc = hes_devices_open(c, &d, err);

	if (!rc && !hes_devices_count(d))
		rc = hes_fail(err, -ENODEV,
			      "no NVIDIA GPUs: the driver has none; to do: lspci | grep -i nvidia "
			      "shows whether the machine has one, sudo dmesg why the driver does "
			      "not take it; in a container or a Slurm job, ask for GPUs");
	if (!rc)
		rc = keep_visible(app, d, err);
	if (rc)
		hes_devices_close(d);
	else
		*out = d;
	return rc;
}
