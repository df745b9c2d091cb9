/*
 * run_files.h - the files of jobs in the folder of a run: the output of a job, and the status that
 * the wrapper of an attempt writes at its end (wrap.c), and the count of launches that its programs
 * make (interpose/launches.h).
 */
#ifndef HES_RUN_RUN_FILES_H
#define HES_RUN_RUN_FILES_H

#include "heshare/journal.h"
#include "launch/job_files.h"
#include "launch/launch.h"

#define RUN_FILE_NAME_MAX (3 * HES_NAME_MAX + 32)
/* The line in a file of output before each attempt but the first. */
#define RUN_OUTPUT_NEXT "[heshare: the next attempt]"

/** What the wrapper of a job wrote at its end. */
struct run_status {
	int code; /* exit status */
	int64_t wall_us, boot_us;
	unsigned left; /* processes that the job left running and that were killed */
};

void run_output_name(const char *job, char out[RUN_FILE_NAME_MAX]);

/**
 * Open the output of a job to append to.
 * @param owner  NULL: this process
 * @param from   bytes of earlier attempts
 * @return a descriptor; -ESTALE the run's folder was removed: no file can ever be made; -errno
 */
int run_output_open(const struct hes_job_folder *folder, const char *job,
		    const struct hes_owner *owner, uint64_t *from, struct hes_err *err);

/** Read the last bytes of a job's output behind @from. @return 0; -errno: @text is empty */
int run_output_last(const struct hes_job_folder *folder, const char *job, uint64_t from, char *text,
		    size_t size, struct hes_err *err);

/**
 * Reserve room for the status of an attempt before it starts, so that it can be written even when
 * the disk is full. The wrapper gets the descriptor of this new file, so it needs no right to the
 * folder. @return as run_output_open()
 */
int run_status_reserve(const struct hes_job_folder *folder, const char *job, uint32_t number,
		       struct hes_err *err);

/** @return 0; -1 there is none, and @out is untouched */
int run_status_read(const struct hes_job_folder *folder, const char *job, uint32_t number,
		    struct run_status *out);

/**
 * Make the file that counts the launches of an attempt. What it says is the job's word.
 * @param path  for the job
 * @return a descriptor to read it by; -errno: launches are not counted
 */
int run_launches_make(const struct hes_job_folder *folder, const char *job, uint32_t number,
		      const struct hes_owner *owner, char path[PATH_MAX]);
/** @return whether there is a count */
bool run_launches_read(int fd, uint64_t *out);

/** Remove status and count of launches. */
void run_status_remove(const struct hes_job_folder *folder, const char *job, uint32_t number);

#endif
