/*
 * boards.c - show and choose boards; see boards.h.
 */
#include "cli/boards.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

#define MIB (1024 * 1024)

/* What a board lacks, and what that means. */
static const struct {
	enum hes_device_can can;
	const char *name, *without;
} abilities[] = {
	{ HES_CAN_READ_POWER, "read_power", "power cannot be read" },
	{ HES_CAN_READ_ENERGY, "read_energy", "no energy counter: joules come from power alone" },
	{ HES_CAN_READ_CLOCK, "read_clock", "clocks cannot be read: locks cannot be verified" },
	{ HES_CAN_READ_REASONS, "read_reasons", "throttling cannot be seen" },
	{ HES_CAN_LOCK_CLOCK, "lock_clock", "clocks cannot be locked: plan for the default clock" },
	{ HES_CAN_LIMIT_POWER, "limit_power", "the power limit cannot be set" },
};
#define N_ABILITIES (sizeof(abilities) / sizeof(abilities[0]))

static json_t *number_or_null(bool there, double v)
{
	return there ? json_real(v) : json_null();
}

static json_t *board_json(size_t i, const struct hes_device_info *b, const struct hes_reading *r)
{
	json_t *can = json_array();

	for (size_t k = 0; k < N_ABILITIES; k++)
		if (b->can & abilities[k].can)
			json_array_append_new(can, json_string(abilities[k].name));
	return json_pack("{s:I, s:s, s:s, s:s, s:o, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "index", (json_int_t)i,
			 "name", b->name, "uuid", b->uuid, "bus", b->bus,
			 "type", *b->type ? json_string(b->type) : json_null(),
			 "memory_mib", (json_int_t)(b->memory_bytes / MIB),
			 "memory_used_mib", number_or_null(r->has & HES_HAS_MEMORY, (double)r->memory_used_bytes / MIB),
			 "power_w", number_or_null(r->has & HES_HAS_POWER, r->power_mw * 1e-3),
			 "power_limit_w", number_or_null(b->power_limit_mw, b->power_limit_mw * 1e-3),
			 "clock_mhz", number_or_null(r->has & HES_HAS_CLOCK, r->clock_mhz),
			 "temperature_c", number_or_null(r->has & HES_HAS_TEMPERATURE, r->temperature_c),
			 "busy_pct", number_or_null(r->has & HES_HAS_UTILISATION, r->busy_pct), "can", can);
}

/* A reading that did not come is a dash. */
static void cell(bool there, int width, double v)
{
	if (there)
		printf(" %*.0f", width, v);
	else
		printf(" %*s", width, "-");
}

static void board_row(size_t i, const struct hes_device_info *b, const struct hes_reading *r)
{
	printf("%3zu  %-24s %-13s %7llu", i, b->name, *b->type ? b->type : "-", (unsigned long long)(b->memory_bytes / MIB));
	cell(r->has & HES_HAS_MEMORY, 8, (double)r->memory_used_bytes / MIB);
	cell(r->has & HES_HAS_POWER, 5, r->power_mw * 1e-3);
	cell(b->power_limit_mw, 5, b->power_limit_mw * 1e-3);
	cell(r->has & HES_HAS_CLOCK, 5, r->clock_mhz);
	cell(r->has & HES_HAS_TEMPERATURE, 4, r->temperature_c);
	cell(r->has & HES_HAS_UTILISATION, 6, r->busy_pct);
	printf("  %s\n", b->uuid);
	for (size_t k = 0; k < N_ABILITIES; k++)
		if (!(b->can & abilities[k].can))
			printf("     %s\n", abilities[k].without);
}

/* A board that is lost is told where the others are listed, and fails the command. */
static int show(const struct hes_devices *d, bool json)
{
	json_t *doc = json ? json_array() : NULL;
	int status = 0;

	if (!json)
		printf("GPU  %-24s %-13s     MiB     used     W limit   MHz    C busy %%  UUID\n", "name", "type");
	for (size_t i = 0; i < hes_devices_count(d); i++) {
		struct hes_device_info b;
		struct hes_reading r;
		struct hes_err err;

		if (hes_device_info(d, i, &b, &err) || hes_device_read(d, i, HES_HAS_ALL, &r, &err))
			status = cli_fail("gpus", &err);
		else if (json)
			json_array_append_new(doc, board_json(i, &b, &r));
		else
			board_row(i, &b, &r);
	}
	if (json && cli_print_json(doc))
		status = 1;
	return status;
}

int boards_list(bool json)
{
	struct hes_devices *d;
	struct hes_err err;
	int rc = hes_devices_open(&d, &err);

	if (rc == -ENODEV)
		return rc;
	if (rc)
		return cli_fail("gpus", &err);
	rc = show(d, json);
	hes_devices_close(d);
	return rc;
}

static int choose(const struct hes_devices *d, const char *name, size_t *chosen, size_t *n, struct hes_err *err)
{
	long i = hes_devices_find(d, name);

	if (i < 0)
		return hes_fail(err, -ENOENT, "--gpus: no GPU \"%s\"; there are %zu, from 0 on: see heshare gpus", name,
				hes_devices_count(d));
	for (size_t k = 0; k < *n; k++)
		if (chosen[k] == (size_t)i)
			return hes_fail(err, -EEXIST, "--gpus: GPU %ld is named twice", i);
	chosen[(*n)++] = (size_t)i;
	return 0;
}

int boards_choose(const struct hes_devices *d, const char *list, size_t **out, size_t *n, struct hes_err *err)
{
	size_t *chosen = calloc(hes_devices_count(d) + 1, sizeof(*chosen)), many = 0;
	char *text = strdup(list ? list : ""), *at = text, *name;
	int rc = 0;

	if (!chosen || !text)
		rc = hes_fail(err, -ENOMEM, "no memory for a list of GPUs");
	for (size_t i = 0; !rc && !list && i < hes_devices_count(d); i++)
		chosen[many++] = i;
	while (!rc && list && (name = strsep(&at, ",")))
		rc = choose(d, name, chosen, &many, err);
	free(text);
	if (rc) {
		free(chosen);
		return rc;
	}
	*out = chosen;
	*n = many;
	return 0;
}
