/*
 * agenda.h - when each GPU changes next.
 *
 * A binary heap by time and then GPU, so that equal times come out in one
 * order. A GPU has at most one entry: only the starts and ends of its own jobs
 * change its state. Putting a GPU again moves its entry.
 */
#ifndef HES_SIM_AGENDA_H
#define HES_SIM_AGENDA_H

#include <stddef.h>
#include <stdint.h>

struct sim_event {
	int64_t at_us;
	uint32_t gpu;
};

struct sim_agenda {
	struct sim_event *heap; /* owned; room for one a GPU */
	size_t n;
	uint32_t *where; /* owned; one a GPU: its place in the heap from 1; 0: not there */
};

/** @return 0 or -ENOMEM */
int sim_agenda_init(struct sim_agenda *a, size_t n_gpus);
void sim_agenda_finish(struct sim_agenda *a);

void sim_agenda_put(struct sim_agenda *a, int64_t at_us, uint32_t gpu);
/** The earliest, NULL when there is none. */
const struct sim_event *sim_agenda_peek(const struct sim_agenda *a);
struct sim_event sim_agenda_pop(struct sim_agenda *a);

#endif
