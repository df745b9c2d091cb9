/*
 * undo_check.h - whether what a list names may be undone. `restore` kills what a list names, and a list is a file: only
 * what carries heshare's own name or mark is accepted, and never what this process belongs to.
 */
#ifndef HES_LAUNCH_UNDO_CHECK_H
#define HES_LAUNCH_UNDO_CHECK_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "launch/guard.h"

#define HES_ANCESTORS_MAX 64

/** What duties are judged by. */
struct hes_undo_facts {
	struct hes_process above[HES_ANCESTORS_MAX]; /* this process, its parent and so on */
	size_t n_above;
	char   cgroup[HES_CGROUP_MAX];  /* folder of our own cgroup; "": not known */
	char   mark[HES_MARK_MAX];      /* of the job that we belong to; "": none */
	char   folder[PATH_MAX];        /* that the list is in, without links */
	uid_t  uid;
};

/** Collect them: from /proc and our environment. @param folder  descriptor of the folder that the list is in */
void hes_undo_facts_get(struct hes_undo_facts *out, int folder);

/**
 * Whether @d may be on a list. Pure.
 * @return 0; -EPERM, @err says what it names that is not heshare's
 */
int hes_undo_check(const struct hes_undo *d, const struct hes_undo_facts *f, struct hes_err *err);

/** Whether @path is the name of a job's cgroup as hes_cgroup_make writes it; @mark: that job's, NULL: any. Pure. */
bool hes_cgroup_is_named(const char *path, const char *mark);

/**
 * Whether all of a cgroup may be killed in which processes @pids run. Pure.
 * @return false: one of them is of another PID namespace (0), the first process, or one of @f->above
 */
bool hes_cgroup_may_be_killed(const pid_t *pids, size_t n, const struct hes_undo_facts *f);

#endif
