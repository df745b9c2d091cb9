/*
 * undo_check.h - whether an undo entry may be carried out.
 *
 * `heshare restore` kills the processes that an undo file names, and anybody could write such a
 * file. So an entry is accepted only if it carries heshare's own name or mark, and never if it
 * names this process or an ancestor.
 */
#ifndef HES_LAUNCH_UNDO_CHECK_H
#define HES_LAUNCH_UNDO_CHECK_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "launch/guard.h"

#define HES_ANCESTORS_MAX 64

/** The facts by which entries are checked. */
struct hes_undo_facts {
	struct hes_process above[HES_ANCESTORS_MAX]; /* this process, its parent and so on */
	size_t n_above;
	char cgroup[HES_CGROUP_MAX]; /* folder of our own cgroup; "": not known */
	char mark[HES_MARK_MAX];     /* of the job that we run in; "": none */
	char folder[PATH_MAX];       /* of the undo file, without links */
	uid_t uid;
};

/** Collect the facts from /proc and our environment. @param folder  descriptor of the folder of the
 * undo file */
void hes_undo_facts_get(struct hes_undo_facts *out, int folder);

/**
 * Whether @d may be carried out. Pure.
 * @return 0; -EPERM, @err says what does not belong to heshare
 */
int hes_undo_check(const struct hes_undo *d, const struct hes_undo_facts *f, struct hes_err *err);

/** Whether @path has the form of a job's cgroup (hes_cgroup_make); @mark: of this job, NULL: of any
 * job. Pure. */
bool hes_cgroup_is_named(const char *path, const char *mark);

/**
 * Whether a cgroup with the processes @pids may be killed. Pure.
 * @return false: it holds a process of another PID namespace (0), process 1, or one of @f->above
 */
bool hes_cgroup_may_be_killed(const pid_t *pids, size_t n, const struct hes_undo_facts *f);

#endif
