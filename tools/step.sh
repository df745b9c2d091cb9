#!/bin/sh
# step.sh LOG SENTENCE COMMAND... - run a command with its output in a file: one line says what it
# does and how long it took. If it fails, the end of the output and the name of the file follow.
set -u
log=$1
printf '%s ...' "$2"
shift 2
mkdir -p "$(dirname "$log")"
began=$(date +%s)
"$@" >"$log" 2>&1 </dev/null
status=$?
if [ "$status" -eq 0 ]; then
	echo " $(($(date +%s) - began)) s"
else
	echo " failed with exit status $status:"
	tail -n 30 "$log"
	echo "All of its output: $log"
fi
exit "$status"
