/*
 * point.c - measured points as CSV; see point.h.
 */
#include "heshare/point.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "core/row.h"

#define AT(member) offsetof(struct hes_point, member)

static const struct hes_row_column columns[] = {
	{ "workload", HES_ROW_TEXT, AT(workload), 0, 0, HES_ROW_NEEDED },
	{ "gpu_type", HES_ROW_TEXT, AT(gpu_type), 0, 0, HES_ROW_NEEDED },
	{ "batch_size", HES_ROW_U32, AT(batch_size), 1, 65536, HES_ROW_NEEDED },
	{ "sm_pct", HES_ROW_U32, AT(sm_pct), 1, 100, HES_ROW_NEEDED },
	{ "clock_mhz", HES_ROW_U32, AT(clock_mhz), 0, 10000, HES_ROW_NEEDED },
	{ "co_runners", HES_ROW_LINE, AT(co_runners), 0, HES_CO_RUN_TEXT_MAX - 1, HES_ROW_NEEDED },
	{ "command", HES_ROW_LINE, AT(command), 0, HES_POINT_COMMAND - 1, HES_ROW_NEEDED },
	{ "iteration_us", HES_ROW_REAL, AT(iteration_us), 1e-3, 1e12, HES_ROW_NEEDED },
	{ "cv", HES_ROW_REAL, AT(cv), 0, 1e6, HES_ROW_NEEDED },
	{ "windows", HES_ROW_U32, AT(windows), 1, 1000000, HES_ROW_NEEDED },
	{ "seconds", HES_ROW_REAL, AT(seconds), 0, 1e9, HES_ROW_NEEDED },
	{ "memory_mib", HES_ROW_MAYBE, AT(memory_mib), 0, 16777216, HES_ROW_OPTIONAL },
	{ "power_mw", HES_ROW_U32, AT(power_mw), 1, 10000000, HES_ROW_NEEDED },
	{ "power_cv", HES_ROW_MAYBE, AT(power_cv), 0, 1e6, HES_ROW_OPTIONAL },
	{ "held_mhz", HES_ROW_MAYBE, AT(held_mhz), 0, 10000, HES_ROW_OPTIONAL },
	{ "capped", HES_ROW_MAYBE, AT(capped), 0, 1, HES_ROW_OPTIONAL },
	{ "busy", HES_ROW_MAYBE, AT(busy), 0, 1, HES_ROW_OPTIONAL },
	{ "memory_busy", HES_ROW_MAYBE, AT(memory_busy), 0, 1, HES_ROW_OPTIONAL },
	{ "sm_active", HES_ROW_MAYBE, AT(sm_active), 0, 1, HES_ROW_OPTIONAL },
	{ "sm_occupancy", HES_ROW_MAYBE, AT(sm_occupancy), 0, 1, HES_ROW_OPTIONAL },
	{ "dram_active", HES_ROW_MAYBE, AT(dram_active), 0, 1, HES_ROW_OPTIONAL },
	{ "fp32_active", HES_ROW_MAYBE, AT(fp32_active), 0, 1, HES_ROW_OPTIONAL },
	{ "tensor_active", HES_ROW_MAYBE, AT(tensor_active), 0, 1, HES_ROW_OPTIONAL },
	{ "pcie_tx_mibs", HES_ROW_MAYBE, AT(pcie_tx_mibs), 0, 1e9, HES_ROW_OPTIONAL },
	{ "pcie_rx_mibs", HES_ROW_MAYBE, AT(pcie_rx_mibs), 0, 1e9, HES_ROW_OPTIONAL },
	{ "time_se", HES_ROW_MAYBE, AT(time_se), 0, 1e6, HES_ROW_LATER },
	{ "temperature_c", HES_ROW_MAYBE, AT(temperature_c), -100, 200, HES_ROW_LATER },
	{ "first_use_s", HES_ROW_MAYBE, AT(first_use_s), 0, 1e7, HES_ROW_LATER },
	{ "start_s", HES_ROW_MAYBE, AT(start_s), 0, 1e7, HES_ROW_LATER },
	{ "run_s", HES_ROW_MAYBE, AT(run_s), 0, 1e9, HES_ROW_LATER },
	{ "progress", HES_ROW_LINE, AT(progress), 0, HES_JOB_PROGRESS, HES_ROW_LATER },
};

const struct hes_row_table hes_point_table = {
	"points",
	columns,
	sizeof(columns) / sizeof(columns[0]),
	sizeof(struct hes_point),
};

#define ITERATIONS "{iterations}"

/* @return length of @number at @c, where no longer word or number has it; 0: it is not there */
static size_t number_at(const char *command, const char *c, const char *number)
{
	const size_t n = strlen(number);
	const bool begins = c == command || (!isalnum((unsigned char)c[-1]) && c[-1] != '.');

	return begins && n && strncmp(c, number, n) == 0 && !isalnum((unsigned char)c[n]) &&
			       c[n] != '.'
		       ? n
		       : 0;
}

static size_t count_number(const char *command, const char *number)
{
	size_t found = 0;

	for (const char *c = command; *c; c++)
		found += number_at(command, c, number) > 0;
	return found;
}

void hes_point_command(const char *command, uint64_t iterations, char out[HES_POINT_COMMAND])
{
	char number[24] = "";
	size_t at = 0, n, skip;

	snprintf(number, sizeof(number), "%" PRIu64, iterations);
	if (iterations < 2 || count_number(command, number) > 1)
		number[0] = '\0';
	for (const char *c = command; *c; c += skip) {
		const size_t digits = number_at(command, c, number);
		const char *put = digits ? ITERATIONS : c;

		n = digits ? strlen(ITERATIONS) : hes_utf8_character(c, strnlen(c, 4));
		skip = digits ? digits : n ? n : 1;
		if (!n || (!digits && hes_utf8_is_control(c))) {
			put = n ? " " : "?";
			n = 1;
		}
		if (at + n >= HES_POINT_COMMAND)
			break;
		memcpy(out + at, put, n);
		at += n;
	}
	out[at] = '\0';
}

/* Leave out "exec", and words with the number of iterations, with @options also the option before
 * such a word. */
static void command_bare(const char *command, bool options, char out[HES_POINT_COMMAND + 1])
{
	size_t at = 0, last = 0;

	command += strncmp(command, "exec ", 5) == 0 ? 5 : 0;
	while (*(command += strspn(command, " "))) {
		const size_t n = strcspn(command, " ");
		const char *number = strstr(command, ITERATIONS);

		if (number && number < command + n) {
			if (options && number == command && out[last] == '-')
				at = last;
		} else {
			last = at;
			memcpy(out + at, command, n);
			at += n;
			out[at++] = ' ';
		}
		command += n;
	}
	out[at] = '\0';
}

bool hes_point_same_command(const char *a, const char *b)
{
	char bare_a[HES_POINT_COMMAND + 1] = "", bare_b[HES_POINT_COMMAND + 1] = "";
	bool same = false;

	for (int options = 0; options < 2 && !same; options++) {
		command_bare(a, options, bare_a);
		command_bare(b, options, bare_b);
		same = strcmp(bare_a, bare_b) == 0;
	}
	return same;
}

int hes_points_load(const char *path, struct hes_points *out, struct hes_err *err)
{
	void *rows;
	size_t n;
	int rc = hes_rows_load(&hes_point_table, path, &rows, &n, err);

	if (!rc)
		*out = (struct hes_points){ rows, n };
	return rc;
}

bool hes_point_profile(const struct hes_point *p, struct hes_profile *out)
{
	const double sm = isnan(p->sm_active) ? p->busy : p->sm_active,
		     dram = isnan(p->dram_active) ? p->memory_busy : p->dram_active;

	if (isnan(sm) || isnan(dram))
		return false;
	*out = (struct hes_profile){
		.batch_size = p->batch_size,
		.memory_mib = isnan(p->memory_mib) ? 0 : (uint32_t)p->memory_mib,
		.clock_mhz = isnan(p->held_mhz) ? 0 : (uint32_t)lround(p->held_mhz),
		.iteration_us = p->iteration_us,
		.busy = isnan(p->busy) ? 0 : fmax(p->busy, fmin(sm, 1)),
		.sm_util = fmin(sm, 1),
		.dram_util = fmin(dram, 1),
		.power_mw = p->power_mw,
		.time_se = isnan(p->time_se) ? 0 : p->time_se,
		.start_s = isnan(p->start_s) ? 0 : p->start_s,
	};
	strcpy(out->workload, p->workload);
	strcpy(out->gpu_type, p->gpu_type);
	return true;
}

void hes_points_free(struct hes_points *p)
{
	free(p->v);
	*p = (struct hes_points){ 0 };
}
