/*
 * set.c - `heshare fair set`: change phi, or the weight of a tenant or user, of a running arbiter;
 * see fair.h.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "arbiter/server.h"
#include "base/num.h"
#include "base/utf8.h"
#include "base/visible.h"
#include "cli/cli.h"
#include "cli/fair/fair.h"
#include "app/fair_client.h"
#include "app/gpus_chosen.h"
#include "app/gpus_visible.h"
#include "heshare/device.h"

struct set_opts {
	double phi;
	const char *phi_given, *tenant, *weight, *user, *gpus, *socket; /* NULL: not given */
};

#define AT(member) .offset = offsetof(struct set_opts, member)

/* clang-format off */
static const struct opt set_opts[] = {
	{ .name = "phi", .kind = OPT_DOUBLE, AT(phi), .given = offsetof(struct set_opts, phi_given),
	  .arg = "PHI", .max = 1,
	  .help = "guaranteed part of the fair share of time (policy etf) or energy (etf-energy)" },
	{ .name = "tenant", .kind = OPT_TEXT, AT(tenant), .arg = "NAME",
	  .help = "the tenant whose weight is set" },
	{ .name = "weight", .kind = OPT_TEXT, AT(weight), .arg = "W",
	  .help = "weight of the tenant among those of its user; without --tenant, weight of the "
		  "user" },
	{ .name = "user", .kind = OPT_TEXT, AT(user), .arg = "USER",
	  .help = "user name or number: whose weight is set, or whose tenant, if several users "
		  "have one of this name" },
	{ .name = "gpus", .letter = 'g', .kind = OPT_TEXT, AT(gpus), .arg = "GPU",
	  .help = "one GPU of the arbiter: index, UUID or PCI address; without it, all" },
	FAIR_SOCKET_OPT(offsetof(struct set_opts, socket)),
	{ 0 }
};
/* clang-format on */

/* A UUID is taken as it is; an index is looked up on this machine. */
static int gpu_parse(const char *name, uint8_t out[16], struct hes_err *err)
{
	struct hes_device_info info;
	struct hes_devices *d;
	long i;
	int rc;

	if (arbiter_parse_uuid(name, out))
		return 0;
	rc = app_devices_open(cli_app(), NULL, &d, err);
	if (rc)
		return rc;
	i = gpus_find(d, "--gpus", name, err);
	rc = i < 0 ? (int)i : hes_device_info(d, (size_t)i, &info, err);
	hes_devices_close(d);
	if (!rc && !arbiter_parse_uuid(info.uuid, out))
		rc = hes_fail(err, -EIO, "the driver's UUID \"%.60s\" is none", info.uuid);
	return rc;
}

static int message_make(const struct set_opts *o, struct fair_set *s, struct hes_err *err)
{
	s->phi = o->phi_given ? o->phi : NAN;
	s->weight = NAN;
	s->uid = FAIR_ANY_USER;
	if (!o->phi_given && !o->tenant && !o->user && !o->weight)
		return hes_fail(err, -EINVAL,
				"--phi PHI is missing, or --weight W with --tenant NAME or --user "
				"USER: nothing is set");
	if (!(o->tenant || o->user) != !o->weight)
		return hes_fail(err, -EINVAL,
				"--weight W goes with --tenant NAME or --user USER, and they with "
				"it");
	if (o->gpus && o->user && !o->tenant)
		return hes_fail(err, -EINVAL,
				"--gpus: the weight of a user is that on all GPUs; leave it out");
	if (o->tenant && hes_check_name("--tenant", o->tenant, sizeof(s->tenant) - 1, err))
		return -EINVAL;
	if (o->tenant)
		memcpy(s->tenant, o->tenant, strlen(o->tenant));
	if (o->weight && hes_parse_double("--weight", o->weight, HES_FAIR_MIN_NUMBER,
					  HES_FAIR_MAX_NUMBER, &s->weight, err))
		return err->code;
	if (o->user && fair_user_parse("--user", o->user, &s->uid, err))
		return err->code;
	return o->gpus ? gpu_parse(o->gpus, s->gpu, err) : 0;
}

static int message_exchange(const char *path, union fair_message *m, size_t length,
			    struct hes_err *err)
{
	int fd = fair_client_open(path, err), rc;

	if (fd < 0)
		return fd;
	rc = fair_client_send(fd, m, length, err);
	if (!rc)
		rc = fair_client_receive(fd, m, err);
	close(fd);
	return rc;
}

static int set_run(const struct call *call, struct hes_err *err)
{
	const struct set_opts *o = call->opts;
	char path[FAIR_SOCKET_MAX];
	union fair_message m;
	size_t length = fair_wire_begin(&m, FAIR_SET);
	int rc = message_make(o, &m.set, err);

	if (!rc)
		rc = fair_socket_find(cli_app(), o->socket, path, err);
	if (!rc)
		rc = message_exchange(path, &m, length, err);
	if (rc)
		return rc;
	hes_visible_put(stdout, 0, m.answer.text);
	putchar('\n');
	return 0;
}

const struct command cmd_fair_set = {
	.name = "fair set",
	.args = "",
	.summary = "change phi, or the weight of a tenant or user",
	.text = "Changes phi, or the weight of a tenant or user, of an arbiter that serves, "
		"and prints what was set. For root and the arbiter's user.",
	.example = "  heshare fair set --tenant train --weight 2\n"
		   "  heshare fair set --user alice --weight 2",
	.opts = set_opts,
	.opts_size = sizeof(struct set_opts),
	.run = set_run,
};
