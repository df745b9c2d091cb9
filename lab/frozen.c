/*
 * frozen.c - the freezer of cgroups; see frozen.h.
 *
 * A process goes on by leaving its cgroup, which stays frozen. So no other thaw is lost.
 */
#include "frozen.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PATH_ROOM (FROZEN_FOLDER_MAX + 32)

/* @return whether a line of the file has @mark; it is in @line */
static bool find_line(const char *path, const char *mark, char *line, size_t size)
{
	FILE *f = fopen(path, "re");
	bool found = false;

	while (f && !found && fgets(line, (int)size, f))
		found = strstr(line, mark) != NULL;
	if (f)
		fclose(f);
	line[found ? strcspn(line, "\n") : 0] = '\0';
	return found;
}

static bool folder_is_frozen(const char *folder)
{
	char path[PATH_ROOM], line[64];

	snprintf(path, sizeof(path), "%s/cgroup.events", folder);
	return find_line(path, "frozen 1", line, sizeof(line));
}

bool frozen_folder(pid_t pid, char out[FROZEN_FOLDER_MAX])
{
	char path[32], own[FROZEN_FOLDER_MAX], mount[2048], root[512], at[512];
	size_t n;

	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	if (!find_line(path, "0::/", own, sizeof(own)) ||
	    !find_line("/proc/self/mountinfo", " - cgroup2 ", mount, sizeof(mount)) ||
	    sscanf(mount, "%*d %*d %*s %511s %511s", root, at) != 2)
		return false;
	/* The mount may show only the part below root. */
	n = strcmp(root, "/") ? strlen(root) : 0;
	if (strncmp(own + 3, root, n) != 0)
		return false;
	/* The root cgroup is "/": leave no "/" at the end. */
	n += strcmp(own + 3 + n, "/") ? 0 : 1;
	return snprintf(out, FROZEN_FOLDER_MAX, "%s%s", at, own + 3 + n) < FROZEN_FOLDER_MAX;
}

bool frozen_in(pid_t pid, char folder[FROZEN_FOLDER_MAX])
{
	return frozen_folder(pid, folder) && folder_is_frozen(folder);
}

static bool move_to(const char *folder, pid_t pid)
{
	char path[PATH_ROOM], number[16];
	int n = snprintf(number, sizeof(number), "%d", (int)pid), fd;
	bool moved;

	snprintf(path, sizeof(path), "%s/cgroup.procs", folder);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	moved = fd >= 0 && write(fd, number, (size_t)n) == n;
	if (fd >= 0)
		close(fd);
	return moved;
}

bool frozen_leave(pid_t pid, const char *folder)
{
	char above[FROZEN_FOLDER_MAX];

	snprintf(above, sizeof(above), "%s", folder);
	while (strrchr(above, '/') && folder_is_frozen(above))
		*strrchr(above, '/') = '\0';
	return move_to(above, pid);
}

void frozen_return(pid_t pid, const char *folder)
{
	move_to(folder, pid);
}
