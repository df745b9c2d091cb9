/*
 * paper_model.c - the GPU model with the workloads of a file after its own; see paper_model.h.
 */
#include "paper_model.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/data.h"
#include "base/file.h"

#define MAX_FILE  (1 << 20)
#define WORKLOADS "\nworkloads:\n"
#define HELD_OUT  "\nheld_out:\n"

/* The parameters that are built in, with @more at the end of their workloads. */
static int load_with(const char *more, struct hes_model **out, struct hes_err *err)
{
	char path[] = "/tmp/heshare-model-XXXXXX";
	const char *physics = hes_data_find("physics.yaml", &(size_t){ 0 }),
		   *end = physics ? strstr(physics, HELD_OUT) : NULL;
	int fd = end ? mkstemp(path) : -1, rc = 0;

	if (fd < 0)
		return hes_fail(err, end ? -errno : -EINVAL, "%s: cannot make it: %s", path,
				end ? strerror(errno) : "no physics.yaml");
	if (dprintf(fd, "%.*s\n%s%s", (int)(end - physics), physics, more, end) < 0)
		rc = hes_fail(err, -EIO, "%s: cannot write it", path);
	close(fd);
	if (!rc)
		rc = hes_model_load(path, out, err);
	unlink(path);
	return rc;
}

int paper_model_load(const char *path, struct hes_model **out, struct hes_err *err)
{
	char *text;
	const char *entries;
	size_t len;
	int rc = hes_file_slurp(path, MAX_FILE, &text, &len, err);

	if (rc)
		return rc;
	entries = strstr(text, WORKLOADS);
	rc = entries ? load_with(entries + strlen(WORKLOADS), out, err)
		     : hes_fail(err, -EINVAL, "%s: no workloads", path);
	free(text);
	return rc;
}
