/* test_report.c - reports and figures. With a file name as argument, leaves the sample report there to look at. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "report_sample.h"

static int show(const char *path)
{
	struct hes_err err;
	struct sample s;
	int rc;

	sample_init(&s, sample_fleet, 60, 7);
	rc = hes_report_write(path, &s.report, &err);
	if (rc)
		fprintf(stderr, "%s\n", err.msg);
	sample_finish(&s);
	return rc ? 1 : 0;
}

int main(int argc, char **argv)
{
	if (argc == 2)
		return show(argv[1]);
	return 0;
}
