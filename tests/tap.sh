#!/usr/bin/env bash
# tap.sh COMMAND... - run a program that prints TAP so that Meson counts each case.
#
# cmocka 1.1 prints a skipped case as "not ok N # SKIP"; TAP says "ok". Other
# lines become comments, and what explains a failure is repeated on standard
# error, which Meson shows. nohup and a shell's "&" ignore signals that tests send.
# Plans read the store: every test has an empty one at the usual place.
set -o pipefail
XDG_DATA_HOME=$(mktemp -d) || exit
export XDG_DATA_HOME
unset HESHARE_STORE
trap 'rm -rf "$XDG_DATA_HOME"' EXIT
CMOCKA_MESSAGE_OUTPUT=TAP env --default-signal "$@" | awk '
	/^not ok [0-9]+ # SKIP/ { sub(/^not /, "") }
	!/^(ok|not ok|1\.\.|#|Bail out!)/ { $0 = "# " $0 }
	{ print }
	/^#/ && !/^# (not )?ok - / { print > "/dev/stderr" }'
