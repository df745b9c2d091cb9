/*
 * duty.h - what a guard has to undo, as a line of text and as a list.
 */
#ifndef HES_LAUNCH_DUTY_H
#define HES_LAUNCH_DUTY_H

#include <stdbool.h>
#include <stddef.h>

#include "launch/guard.h"

#define HES_DUTY_LINE_MAX 1600

/** Duties, each once, in the order they came. Zero is empty. */
struct hes_duties {
	struct hes_duty *d;
	size_t           n, room;
};

/** @return 0; -EINVAL a name with a line break or an empty one; -ENAMETOOLONG */
int hes_duty_format(const struct hes_duty *d, char out[HES_DUTY_LINE_MAX], struct hes_err *err);
/** @return 0; -EINVAL not a duty */
int hes_duty_parse(const char *line, struct hes_duty *out, struct hes_err *err);

/** @return its index, -1: it is not there */
long hes_duties_find(const struct hes_duties *l, const struct hes_duty *d);
/** What is there stays as it is: the first power limit is the one to set back. @return 0; -ENOMEM */
int  hes_duties_add(struct hes_duties *l, const struct hes_duty *d, struct hes_err *err);
void hes_duties_remove(struct hes_duties *l, size_t i);
void hes_duties_free(struct hes_duties *l);

/** What is on the list of @g now. */
const struct hes_duties *hes_guard_duties(const struct hes_guard *g);

#endif
