#!/usr/bin/env bats
bats_require_minimum_version 1.5.0

# tools/check-layers.py on a small tree that is right, then wrong in one way at a time.

check() {
	run "$@" python3 "$HES_SOURCE_ROOT/tools/check-layers.py" "$BATS_TEST_TMPDIR"
}

setup() {
	cd "$BATS_TEST_TMPDIR"
	mkdir -p include/heshare src/{base,core,model,sim,cli}
	# The real layer table.
	grep -E '^\| [0-9] \|' "$HES_SOURCE_ROOT/ARCHITECTURE.md" >ARCHITECTURE.md
	echo '#include <stdint.h>' >include/heshare/job.h
	echo '#include <stdio.h>' >src/base/num.c
	echo '#include "heshare/job.h"' >src/core/job.c
	touch src/model/physics.h src/model/physics.c
	printf '#include "model/physics.h"\n#include "heshare/job.h"\n' >src/sim/replayer.c
	printf '#include "model/physics.h"\nint main(void) { printf("x"); exit(0); }\n' \
		>src/cli/main.c
}

@test "a tree that keeps the rules passes without a word" {
	check -0
	[ -z "$output" ]
}

@test "an include of a higher or a sibling folder is reported with its line" {
	printf '\n#include "core/x.h"\n' >>src/base/num.c
	printf '\n#include "heshare/predict.h"\n' >>src/sim/replayer.c
	check -1
	[ "${lines[0]}" = \
		'src/base/num.c:3: base includes "core/x.h" of core; base may use libc alone' ]
	[ "${lines[1]}" = 'src/sim/replayer.c:4: sim includes "heshare/predict.h" of predict; sim may use base, core, model' ]
	[ "${#lines[@]}" -eq 2 ]
}

@test "a sub-folder has its own row or belongs to the folder above it" {
	mkdir -p src/plan/assign src/cli/group
	touch src/plan/assign/lap.h src/cli/group/group.h
	printf '#include "plan/assign/lap.h"\n' >src/plan/planner.c
	printf '#include "cli/group/group.h"\n#include "plan/assign/lap.h"\n' >src/cli/group/group.c
	check -0
	printf '#include "plan/planner.h"\n' >src/plan/assign/lap.c
	check -1
	[ "${lines[0]}" = 'src/plan/assign/lap.c:1: plan/assign includes "plan/planner.h" of plan; plan/assign may use base, core' ]
}

@test "a header without a module is reported" {
	echo '#include "heshare/novel.h"' >>src/core/job.c
	echo '#include "job_private.h"' >>src/core/job.c
	check -1
	[[ "${lines[0]}" == \
		'src/core/job.c:2: includes "heshare/novel.h", which belongs to no folder'* ]]
	[[ "${lines[1]}" == \
		'src/core/job.c:3: includes "job_private.h", which belongs to no folder'* ]]
}

@test "a public header may not show a private one" {
	echo '#include "core/secret.h"' >>include/heshare/job.h
	check -1
	[[ "$output" == \
		'include/heshare/job.h:2: a public header includes the private "core/secret.h"'* ]]
}

@test "the library neither prints nor ends the process, comments and words aside" {
	printf '/* exit(1) would be wrong */\nstatic const char s[] = "printf(x)";\nvoid f(void) { exit(1); }\n' >src/core/job.c
	check -1
	[ "${#lines[@]}" -eq 1 ]
	[[ "$output" == 'src/core/job.c:3: core uses exit;'* ]]
	: >src/core/job.c
	mkdir src/{app,cluster}
	printf 'void f(FILE *f) { fprintf(f, "a"); fputs("b", stderr); }\n' >src/app/plan.c
	printf 'void f(FILE *f) { fputs("b", f); getenv("A"); }\nchar *g(void) { return environ[0]; }\n' >src/cluster/part.c
	printf 'char *g(void) { return environ[0]; }\n' >src/cluster/launcher.c
	check -1
	[[ "${lines[0]}" == 'src/app/plan.c:1: app uses stderr;'* ]]
	[[ "${lines[1]}" == 'src/cluster/part.c:1: cluster uses getenv;'* ]]
	[[ "${lines[2]}" == 'src/cluster/part.c:2: cluster uses environ;'* ]]
	[ "${#lines[@]}" -eq 3 ]
}

@test "a clock in the simulator is reported" {
	echo 'long f(void) { return time(0); }' >>src/sim/replayer.c
	check -1
	[[ "$output" == 'src/sim/replayer.c:3: sim uses time;'* ]]
}

@test "a name used twice and a file that is too long are reported" {
	touch src/sim/num.c
	seq 781 | sed 's/.*/int x&;/' >src/model/physics.c
	check -1
	[[ "$output" == *'num.c is also the name of src/base/num.c'* ]]
	[[ "$output" == *'src/model/physics.c:780: 781 lines'* ]]
}

@test "a file that ARCHITECTURE.md names and that is gone is reported" {
	echo 'See `src/sim/replayer.c` and `src/sim/gone.c`.' >>ARCHITECTURE.md
	check -1
	[[ "$output" == "ARCHITECTURE.md:"*"names src/sim/gone.c, which is not there"* ]]
	[ "${#lines[@]}" -eq 1 ]
}

@test "a wrong table of layers in the documents is reported" {
	sed -i 's/^\(| [0-9] | `src\/sim` .*\)model |$/\1model, predict |/' ARCHITECTURE.md
	check -1
	[[ "$output" == "ARCHITECTURE.md:"*"the layer table's row of src/sim differs"* ]]
}

@test "the lab may use the physics and NVML's layout, nothing else, and nobody the lab" {
	mkdir lab
	touch lab/state.h
	printf '#include "state.h"\n#include "model/physics.h"\n#include "gpu/nvml_abi.h"\n#include "heshare/job.h"\n' >lab/lab.c
	check -0
	printf '#include "gpu/nvml.h"\n#include "heshare/predict.h"\n' >lab/lab.c
	echo '#include "lab/state.h"' >src/sim/watcher.c
	check -1
	[[ "${lines[0]}" == \
		'src/sim/watcher.c:1: includes "lab/state.h", which belongs to no folder'* ]]
	[ "${lines[1]}" = 'lab/lab.c:1: the lab includes "gpu/nvml.h"; it may use base, core, model and gpu/dcgm_abi.h, gpu/nvml_abi.h' ]
	[[ "${lines[2]}" == 'lab/lab.c:2: the lab includes "heshare/predict.h"'* ]]
}

@test "a paper's program may use the project and its own folder, and nothing may use it" {
	mkdir -p papers/{first,second}
	printf '#include "heshare/job.h"\n#include "model/physics.h"\n#include "study.h"\n' \
		>papers/first/study.c
	touch papers/first/study.h
	check -0
	echo '#include "study.h"' >papers/second/other.c
	echo '#include "papers/first/study.h"' >src/core/job.c
	check -1
	[[ "${lines[0]}" == \
		'src/core/job.c:1: includes "papers/first/study.h", which belongs to no folder'* ]]
	[ "${lines[1]}" = 'papers/second/other.c:1: a paper includes "study.h"; it may use include, src and files of its own folder' ]
	[ "${#lines[@]}" -eq 2 ]
}

# tools/check-words.py on a small tree with a list of its own.
@test "a word that the list replaced is found in a name, a help text and a document" {
	mkdir -p docs tools
	printf '%s\n' '| old | new | allowed |' '|---|---|---|' \
		'| `gadget`, `gadgets` | GPU | `--gadget`, `"gadget"` |' >tools/words.md
	printf '%s\n' 'static int open_gadget(void);' '{ "gadget", COLUMN },' 'int gadgetry;' \
		>src/core/job.c
	printf '%s\n' '"--gadget NAME  which Gadgets to use\n"' >src/cli/main.c
	printf '%s\n' 'The option `gadget`.' '    gadget' 'A gadget is a GPU.' >docs/guide.md
	run -1 python3 "$HES_SOURCE_ROOT/tools/check-words.py" .
	[ "${lines[0]}" = 'docs/guide.md:1: "gadget"; write: GPU' ]
	[ "${lines[1]}" = 'docs/guide.md:2: "gadget"; write: GPU' ]
	[ "${lines[2]}" = 'docs/guide.md:3: "gadget"; write: GPU' ]
	[ "${lines[3]}" = 'src/cli/main.c:1: "Gadgets"; write: GPU' ]
	[ "${lines[4]}" = 'src/core/job.c:1: "gadget"; write: GPU' ]
	[ "${#lines[@]}" -eq 5 ]
	rm docs/guide.md src/core/job.c src/cli/main.c
	run -0 python3 "$HES_SOURCE_ROOT/tools/check-words.py" .
	[ -z "$output" ]
}

@test "two files of a folder that lead to each other are a circle, and floors count calls that climb" {
	mkdir -p src/run
	echo 'int run_low(void);' >src/run/low.h
	printf '#include "run/low.h"\nint run_low(void)\n{\n\treturn 0;\n}\n' >src/run/low.c
	printf '#include "run/low.h"\nint run_high(void)\n{\n\treturn run_low();\n}\n' >src/run/high.c
	check -0
	python3 "$HES_SOURCE_ROOT/tools/check-layers.py" . --floors run >floors
	[ "$(cat floors)" = $' 2  high\n 1  low\n0 circles; 0 of 1 calls between files climb, 0.0 %' ]
	printf 'int run_high(void);\nint run_more(void)\n{\n\treturn run_high();\n}\n' >>src/run/low.c
	check -1
	[ "$output" = 'src/run/high.c:1: a circle of files: high, low; what both need belongs in a file below them, or what calls back in one above' ]
	[ "$(python3 "$HES_SOURCE_ROOT/tools/check-layers.py" . --floors run | tail -1)" = \
		'1 circles; 1 of 2 calls between files climb, 50.0 %' ]
	# The folders that compose stages have none either.
	for folder in app cluster; do
		mkdir -p src/$folder
		sed "s,run/,$folder/," src/run/low.c >src/$folder/low_$folder.c
		sed "s,run/low,$folder/low_$folder," src/run/high.c >src/$folder/high_$folder.c
		cp src/run/low.h src/$folder/low_$folder.h
		sed -i "s,$folder/low.h,$folder/low_$folder.h," src/$folder/low_$folder.c
	done
	check -1
	[[ "$output" == *"src/app/high_app.c:1: a circle of files: high_app, low_app"*"src/cluster/high_cluster.c:1: a circle of files: high_cluster, low_cluster"* ]]
}

@test "a name that begins with hes_ is not of a folder that composes stages" {
	mkdir -p src/app src/run
	printf 'int hes_jobs_add(void)\n{\n\treturn 0;\n}\n' >src/run/one.c
	check -0
	mv src/run/one.c src/app/one.c
	check -1
	[ "$output" = 'src/app/one.c:1: defines hes_jobs_add(); begin with the noun of the file, or with app_ or cli_' ]
}

@test "a state is set in the file that owns it" {
	mkdir -p src/run src/arbiter
	printf 'void run_x(struct place *p)\n{\n\tp->state = RUN_OVER; /* state = TASK_DONE */\n}\n' >src/run/run_task.c
	check -0
	mv src/run/run_task.c src/run/other.c
	check -1
	[ "$output" = 'src/run/other.c:3: sets a state that run_task.c owns; call a transition of run_task.h' ]
	rm src/run/other.c
	printf 'void lease_x(struct place *p)\n{\n\tp->state = FAIR_LOST;\n}\n' >src/arbiter/leases.c
	check -0
	mv src/arbiter/leases.c src/arbiter/loses.c
	check -1
	[ "$output" = 'src/arbiter/loses.c:3: sets a state that leases.c owns; call an event of leases.h' ]
}

@test "a step of make hides its output unless it fails, and then names the file" {
	run -0 "$HES_SOURCE_ROOT/tools/step.sh" logs/a.log "doing it" sh -c 'echo noise'
	[[ "$output" =~ ^"doing it ... "[0-9]+" s"$ ]]
	[ "$(cat logs/a.log)" = noise ]
	run -3 "$HES_SOURCE_ROOT/tools/step.sh" logs/b.log "doing it" sh -c 'echo why >&2; exit 3'
	[ "$output" = $'doing it ... failed with exit status 3:\nwhy\nAll of its output: logs/b.log' ]
}
