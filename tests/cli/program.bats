#!/usr/bin/env bats
bats_require_minimum_version 1.5.0

# The frame of the program: help, wrong usage, exit statuses, manual pages, completion.

setup() {
	cd "$BATS_TEST_TMPDIR"
}

commands() {
	"$HESHARE" help | sed -n 's/^  \([a-z]*\) .*/\1/p'
}

# Commands, and those behind one: "fair run".
all_commands() {
	local name
	for name in $(commands | grep -vxE 'help|completion|man'); do
		echo "$name"
		"$HESHARE" help "$name" | sed -n "/^actions:/,/^\$/s/^  \([a-z]*\) .*/$name \1/p"
	done
}

@test "without a command the usage goes to standard error, exit status 2" {
	run -2 --separate-stderr "$HESHARE"
	[ -z "$output" ]
	[[ "$stderr" == "usage: heshare COMMAND"* ]]
}

@test "the version is the project's" {
	run -0 "$HESHARE" --version
	[ "$output" = "heshare $HES_VERSION" ]
}

@test "the source of a release has the version that the program prints" {
	git -C "$HES_SOURCE_ROOT" rev-parse -q --verify HEAD >/dev/null 2>&1 || skip "not a git repository"
	cd "$BATS_TEST_TMPDIR"
	git clone -q "$HES_SOURCE_ROOT" tree
	git -C tree config user.name tester
	git -C tree config user.email tester@localhost
	# What is not released yet has no version.
	sed -i "0,/^## \\[.*\\].*/s//## [Unreleased]/" tree/CHANGELOG.md
	run -1 tree/tools/dist.sh --source out
	[[ "$output" == *"the first section is [Unreleased]; the version of meson.build is $HES_VERSION" ]]
	sed -i "s/^## \\[Unreleased\\]/## [$HES_VERSION] - 2030-01-31/" tree/CHANGELOG.md
	git -C tree commit -qam "a release"
	run -0 tree/tools/dist.sh --source out
	(cd out && sha256sum -c --quiet SHA256SUMS)
	tar -xf out/heshare-"$HES_VERSION".tar.gz
	printf '#include "heshare/version.h"\n#include <stdio.h>\nint main(void) { puts("heshare " HES_VERSION); }\n' >v.c
	gcc -I heshare-"$HES_VERSION"/include -o v v.c
	[ "$(./v)" = "$("$HESHARE" --version)" ]
	[ "$(meson introspect --projectinfo heshare-"$HES_VERSION"/meson.build | jq -r .version)" = "$HES_VERSION" ]
}

@test "a misspelt command is answered with the right one" {
	run -2 "$HESHARE" gpu
	[ "$output" = 'heshare: no command "gpu" (did you mean gpus?); see heshare help' ]
	for word in version --verison -V; do
		run -2 "$HESHARE" "$word"
		[ "$output" = "heshare: no command \"$word\" (did you mean --version?); see heshare help" ]
	done
}

@test "help, man and --help know every command" {
	[ "$(all_commands | wc -l)" -ge 29 ]
	while read -r name; do
		# shellcheck disable=SC2086
		run -0 "$HESHARE" $name --help
		[[ "$output" == "usage: heshare $name"* ]]
		[ "$output" = "$("$HESHARE" help $name)" ]
		run -0 "$HESHARE" man $name
		[[ "$output" == ".TH HESHARE"* ]]
		[ -f "$HES_BUILD_ROOT/src/cli/heshare-${name// /-}.1" ]
	done < <(all_commands)
}

@test "help explains help, completion and man, which are no commands" {
	for word in help completion man; do
		run -0 "$HESHARE" help "$word"
		[[ "$output" == "usage: heshare $word "* ]]
		[ "$("$HESHARE" "$word" --help)" = "$output" ]
	done
	[[ "$("$HESHARE" help completion)" == *"source <(heshare completion bash)"* ]]
	run -2 "$HESHARE" hlp
	[[ "$output" == *'(did you mean help?)'* ]]
}

@test "help and the page of the program are available by its name" {
	for word in help man; do
		[ "$("$HESHARE" $word heshare)" = "$("$HESHARE" $word)" ]
	done
}

@test "help and man of no command say so, exit status 2" {
	for word in help man; do
		run -2 "$HESHARE" $word nothing
		[[ "$output" == 'heshare: no command "nothing"'* ]]
	done
}

@test "wrong usage of every command is one sentence, exit status 2" {
	while read -r name; do
		# shellcheck disable=SC2086
		run -2 --separate-stderr "$HESHARE" $name --no-such-option
		[ -z "$output" ]
		[ "${#stderr_lines[@]}" -eq 1 ]
		[[ "$stderr" == "heshare $name: no option --no-such-option"* ]]
	done < <(all_commands)
}

@test "an option that the others leave without an effect is wrong usage" {
	while read -r said arguments; do
		run -2 "$HESHARE" $arguments
		echo "$arguments: $output"
		[ "${#lines[@]}" -eq 1 ]
		[[ "$output" == "heshare ${arguments%% *}: ${said//_/ }" ]]
	done <<-'END'
		--shares_has_no_effect_with_--modelled profile --modelled -o d --shares 5
		--batch_has_no_effect_with_--modelled profile -b 3 --modelled -o d
		--seed_goes_with_--jobs_or_--modelled profile x --seed 3 -- true
		--noise_goes_with_--modelled profile x --noise 3 -- true
		--gpu_has_no_effect_with_--list model --list --gpu T4
		--yaml_has_no_effect_with_--types gpus --yaml --types
		--yaml_has_no_effect_with_--json gpus --yaml --json
		--output_has_no_effect_with_--stats trace helios-like --stats -o x.csv
		--jobs_has_no_effect_with_--list trace --list --jobs 3
		--restart_has_no_effect_with_--resume run x.csv --restart --resume
		--restart_has_no_effect_with_--resume-if-begun run x.csv --resume-if-begun --restart
		--program_goes_with_--gpus plan x.csv --program x
	END
	# Each name in the tables is an option of the command.
	run -0 grep -rhoE '\.with(out)? = "[a-z,-]+"' "$HES_SOURCE_ROOT/src/cli"
	for name in $(sed 's/.*"\(.*\)"/\1/; s/,/ /g' <<<"$output"); do
		grep -rqE "name = \"$name\"" "$HES_SOURCE_ROOT/src/cli"
	done
}

# On a machine without GPUs, store and jobs: the option is looked at first.
@test "a value that an option cannot have is wrong usage, exit status 2, whatever is there" {
	while read -r option arguments; do
		run "$HESHARE" $arguments
		echo "$arguments: $status: $output"
		[ "$status" -eq 2 ]
		[ "${#lines[@]}" -eq 1 ]
		[[ "$output" == "heshare "*": $option: "* ]]
	done <<-'END'
		--launcher run none.json --launcher pbs
		--launcher run none.csv --launcher rsh -- true
		--batch profile x --batch 0 -- true
		--shares profile x --shares 0..10 -- true
		--clocks profile x --clocks fast -- true
		--repeats profile x --repeats 5..1 -- true
		--types profile --modelled -o d --types K80
		--split partition a/8 b/4 --split 30,80
		--split partition a/8 b/4 --split 30
		--split partition a/8 b/4 --split 0,50 --modelled
		--clocks partition a/8 b/4 --clocks x
		--floor partition a/8 b/4 --floor x
		--floor partition a/8 b/4 --floor c=0.5
		--gpu partition a/8 b/4 --gpu K80
		--gpu predict resnet34 --gpu K80
		--co-runners predict resnet34 --co-runners vgg16
		--gpu model resnet50 --gpu K80
		--prefer run none.csv --prefer cheap -- true
		--prefer plan none.csv --prefer cheap
		--budget plan none.csv --budget soon
		--prefer pilot none.csv --prefer cheap -- true
		--time pilot none.csv --time soon -- true
		--when profiles import none.csv --when soon
		--workloads trace helios-like --workloads nets
		--reference trace helios-like --reference K80
		--gap trace helios-like --gap 0
	END
	for arguments in "nope" "resnet50 --gpu T4 --clock 9999"; do
		# shellcheck disable=SC2086
		run -2 "$HESHARE" model $arguments
	done
}

@test "a flag refuses a value, an option without its value is refused" {
	run -2 "$HESHARE" gpus --json=yes
	[ "$output" = 'heshare gpus: --json takes no value, but "yes" was given' ]
	run -2 "$HESHARE" gpus --fleet
	[ "$output" = 'heshare gpus: --fleet needs a value: FILE' ]
}

@test "an operand too many is named" {
	run -2 "$HESHARE" gpus extra
	[[ "$output" == 'heshare gpus: unexpected "extra"; usage: heshare gpus'* ]]
}

@test "options may be joined to their values and end at --" {
	printf 'name: x\nnodes:\n  - name: a\n    gpus: [ { type: T4, count: 1 } ]\n' >f.yaml
	for args in "-f f.yaml" "-ff.yaml" "--fleet f.yaml" "--fleet=f.yaml" "--fleet=f.yaml --"; do
		# shellcheck disable=SC2086
		run -0 "$HESHARE" gpus $args
		[[ "${lines[1]}" == "a/0 "* ]]
	done
}

@test "output that cannot be written is a failure" {
	for args in "gpus --types" "gpus --types --json" "help" "man" "--version" \
		"completion bash"; do
		# shellcheck disable=SC2086
		run -1 bash -c '"$HESHARE" '"$args"' >/dev/full'
		[[ "$output" == heshare*"cannot write"* ]]
	done
}

@test "a reader that goes away ends a command without a word" {
	export HESHARE_STORE=$PWD/none.db
	for arguments in status "status --json" "gpus --types" "gpus --types --json" \
		"trace helios-like" "man plan"; do
		for ignored in : "trap '' PIPE"; do
			# The command starts when nobody reads any more.
			bash -c "{ (trap '' PIPE; while echo; do sleep 0.02; done) 2>/dev/null; $ignored
				\"$HESHARE\" $arguments; echo \$? >status; } 2>err | true"
			echo "$arguments: $(cat status err)"
			[ "$(cat status)" -eq 141 ]
			[ "$(grep -cv 'dropped\|kept\|clamped\|run times\|invented\|^  \|helios-like' err)" -eq 0 ]
		done
	done
}

@test "output that cannot be written gives one error" {
	for args in "trace helios-like -n 3" "trace --list --json"; do
		# shellcheck disable=SC2086
		run -1 bash -c '"$HESHARE" '"$args"' >/dev/full'
		[ "${#lines[@]}" -eq 1 ]
	done
}

@test "a file that cannot be written is named before any work" {
	for args in "measure --json -o no/x -- touch ran" "measure --csv no/x -- touch ran" \
		"plan none.csv -o no/x" "plan none.csv --front no/x" "simulate none.csv --csv no/x" \
		"simulate none.csv --per-job no/x" "simulate none.csv --report no/x" "train -o no/x" \
		"trace none.csv -o no/x" "model --add-workload a -o no/x"; do
		# shellcheck disable=SC2086
		run -1 "$HESHARE" $args
		[ "$output" = "heshare ${args%% *}: no/x: cannot create: No such file or directory" ]
	done
	[ ! -e ran ] && [ ! -e x ]
}

@test "a missing file is named, exit status 1" {
	run -1 "$HESHARE" gpus --fleet none.yaml
	[ "$output" = "heshare gpus: none.yaml: No such file or directory" ]
}

@test "manual pages are without a warning of groff" {
	command -v groff >/dev/null || skip "no groff"
	while read -r name; do
		# shellcheck disable=SC2086
		"$HESHARE" man $name >page.1
		run -0 groff -man -ww -Tutf8 -z page.1
		[ -z "$output" ]
	done < <(echo; all_commands)
}

@test "the README lists every command and no other" {
	[ "$(sed -n 's/^    heshare \([a-z]*\)  .*/\1/p' "$HES_SOURCE_ROOT/README.md" | sort)" = \
	  "$(commands | grep -vxE 'help|completion|man' | sort)" ]
}

# complete WORD...: what bash offers for the last word
complete_words() {
	PATH="$(dirname "$HESHARE"):$PATH" bash --norc -c '
		source <("$HESHARE" completion bash)
		compopt() { :; } # only known while a real completion runs
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
		_heshare
		printf "%s\n" "${COMPREPLY[@]}"' bash "$@"
}

@test "bash completes commands, options, choices and files" {
	touch "a file.yaml" another.yaml
	[ "$(complete_words heshare gp)" = gpus ]
	[ "$(complete_words heshare gpus --fl)" = --fleet ]
	[ "$(complete_words heshare completion z)" = zsh ]
	[ "$(complete_words heshare help gp)" = gpus ]
	[ "$(complete_words heshare help fair se)" = $'serve\nset' ]
	[ "$(complete_words heshare help gpus '')" = "" ]
	[ "$(complete_words heshare gpus --fleet 'a ')" = "a file.yaml" ]
	[ "$(complete_words heshare gpus --fleet = an)" = another.yaml ]
	[ "$(complete_words heshare profiles forg)" = forget ]
	[ "$(complete_words heshare fair run --te)" = --tenant ]
	[ "$(complete_words heshare fair top --te)" = "" ]
	[ "$(complete_words heshare fair serve --policy en)" = energy ]
	[ "$(complete_words heshare profiles import an)" = another.yaml ]
	# Nothing where there is no operand, or none with this option; no file for the number of a run.
	for words in gpus "model --list" "trace --list" status add; do
		# shellcheck disable=SC2086
		[ "$(HESHARE_STORE=none.db complete_words heshare $words '')" = "" ]
	done
	[ "$(complete_words heshare add 1 an)" = another.yaml ]
	[ "$(complete_words heshare add --no)" = --no-wait ]
}

# What options take, by the sentences that refuse anything else.
policies() {
	"$HESHARE" plan --policy no jobs 2>&1 | sed 's/.*known: //; s/, /\n/g'
}

@test "bash completes the values of options from the program's own tables" {
	[ "$(complete_words heshare plan --policy '' | grep -v :)" = "$(policies; echo list)" ]
	[ "$(complete_words heshare plan -p jo)" = $'joint\njoint:balanced\njoint:energy\njoint:jct\njoint:fleet' ]
	[ "$(complete_words heshare plan --prefer = e)" = energy ]
	[ "$(complete_words heshare predict --gpu A100-SXM-8)" = A100-SXM-80 ]
	[ "$(complete_words heshare model re | sort)" = \
	  "$("$HESHARE" model --list --json | jq -r '.workloads[].workload | select(startswith("re"))' | sort)" ]
	[ "$(complete_words heshare model resnet1)" = $'resnet152\nresnet101\nresnet18\nresnet18-jetson' ]
	touch resnet5.csv
	[ "$(complete_words heshare predict resnet5.)" = resnet5.csv ]
	[ "$(complete_words heshare model --gpu '')" = "$("$HESHARE" gpus --types --json | jq -r '.gpu_types[].gpu_type')" ]
	[ "$(complete_words heshare trace --format '')" = "$("$HESHARE" trace --list --json | jq -r '.formats[] | select(.kind == "log").name')" ]
	for name in $(policies); do
		"$HESHARE" simulate no-jobs --policy "$name" 2>&1 | grep -q no-jobs
		[ "$(complete_words heshare simulate --policy "$name" | head -1)" = "$name" ]
	done
}

@test "bash completes the last of several values, and after a colon" {
	[ "$(complete_words heshare simulate --policy exclusive,sch)" = exclusive,sched-only ]
	[ "$(complete_words heshare simulate --policy = exclusive,sch)" = exclusive,sched-only ]
	# As bash parts "heshare:jct,joint:en" into words.
	[ "$(complete_words heshare simulate --policy heshare : jct,joint : en)" = energy ]
	[ "$(complete_words heshare simulate --policy = heshare :)" = $'balanced\nenergy\njct\nfleet' ]
	mkdir a:b
	touch a:b/c
	[ "$(complete_words heshare gpus --fleet a : b/)" = b/c ]
}

@test "help tells the values that an option takes, where they are few" {
	run -0 "$HESHARE" simulate --help
	[[ "$(tr -s ' \n' ' ' <<<"$output")" == *": balanced, energy, jct, fleet"* ]]
	# Not again where the help explains each of them.
	run -0 "$HESHARE" man plan
	[[ "$output" == *"(fleet)"*"without it, balanced."* ]]
	[[ "$output" != *"balanced, energy, jct"* ]]
}

@test "options for heshare's own use are in no help, man page or completion" {
	for name in run restore; do
		run ! grep -e 'internal' -e '--wrap' -e '--guard' <("$HESHARE" "$name" --help
		"$HESHARE" man "$name")
	done
	run ! grep -e '--wrap' -e '--guard' <("$HESHARE" --complete run --; "$HESHARE" --complete restore --)
	run -2 "$HESHARE" run --wra plan.json
	[[ "$output" != *"did you mean"* ]]
}

@test "more than a dozen options are grouped under headings, in help and manual page" {
	grouped=0
	for name in $(commands | grep -vxE 'help|completion|man'); do
		"$HESHARE" "$name" --help | sed '/^example:/,/^$/d' >help
		[ "$(grep -cE '^  (-., |    )--' help)" -gt 12 ] || continue
		grouped=$((grouped + 1))
		[ "$(grep -c '^[a-zA-Z ]*:$' help)" -ge 3 ]
		cmp <(grep '^[a-zA-Z ]*:$' help) <("$HESHARE" man "$name" |
			sed -n 's/^\.SS \(.*\)/\1:/p')
	done
	[ "$grouped" -ge 7 ]
}

@test "the help of a command behind another is of that alone" {
	[ "$("$HESHARE" fair run --help | wc -w)" -lt 200 ]
	run ! grep -- '--quantum' <("$HESHARE" fair run --help)
	run -0 "$HESHARE" fair --help
	for word in slices run serve top set history; do
		[[ "$output" == *"  $word "* ]]
	done
	run -2 "$HESHARE" help fair rum
	[ "$output" = 'heshare fair: nothing called "rum" (did you mean run?); there are slices, run, serve, top, set, history' ]
}

@test "a narrow terminal gets its lines between words; JSON and pipes stay as they are" {
	on_terminal() { script -qec "stty cols 60; $*" /dev/null </dev/null | tr -d '\r'; }
	for arguments in "plan --help" "plan --policy list"; do
		on_terminal "$HESHARE" $arguments | sed '/^example:/,/^$/d' >narrow
		[ "$(awk 'length > 60' narrow)" = "" ]
		cmp <(tr -s ' \n' '\n\n' <narrow) <("$HESHARE" $arguments |
			sed '/^example:/,/^$/d' | tr -s ' \n' '\n\n')
	done
	[ "$(grep -c '^    ' <(on_terminal "$HESHARE" plan --policy list))" -gt 8 ]
	on_terminal "$HESHARE" model resnet50 --co-runners vgg19:8:50 >narrow
	[ "$(awk 'length > 60' narrow)" = "" ]
	[ "$(grep -c '^workload ' narrow)" -eq 2 ] # columns that do not fit follow below
	cmp <(on_terminal "$HESHARE" trace --list --json) <("$HESHARE" trace --list --json)
}

@test "help keeps to 80 columns and to 25 words a sentence" {
	[ "$(env -u COLUMNS "$HESHARE" help | awk 'length > 80')" = "" ]
	while read -r name; do
		# shellcheck disable=SC2086
		env -u COLUMNS "$HESHARE" $name --help | sed '/^example:/,/^$/d' >help
		[ "$(awk 'length > 80' help)" = "" ]
		"$HES_SOURCE_ROOT/tools/count-sentences.py" --list - <help
	done < <(all_commands)
}

@test "keys typed at a real bash complete to what is meant" {
	python3 -c 'import pty; pty.openpty()' 2>/dev/null || skip "no pseudo-terminals"
	mkdir dir
	touch dir/fleet.yaml
	run -0 env PATH="$(dirname "$HESHARE"):$PATH" HISTFILE= TERM=dumb python3 "$HES_SOURCE_ROOT/tests/cli/type_at_shell.py" bash \
		'source <("$HESHARE" completion bash); heshare() { echo "got: $*."; }' \
		$'heshare gp\t--fl\tdi\tfl\t--js\t\nheshare sim\t--pol\texclusive,hes\t:en\t--pref\tjc\t'
	[[ "$output" == *"got: gpus --fleet dir/fleet.yaml --json."* ]]
	[[ "$output" == *"got: simulate --policy exclusive,heshare:energy --prefer jct."* ]]
}

@test "keys typed at a real zsh complete to what is meant" {
	python3 -c 'import pty; pty.openpty()' 2>/dev/null || skip "no pseudo-terminals"
	command -v zsh >/dev/null || skip "no zsh"
	run -0 env PATH="$(dirname "$HESHARE"):$PATH" HISTFILE= TERM=dumb python3 "$HES_SOURCE_ROOT/tests/cli/type_at_shell.py" zsh \
		'autoload -U compinit; compinit -u -D; source <("$HESHARE" completion zsh); heshare() { echo "got: $*."; }' \
		$'heshare model resnet15\t\nheshare plan --prefer\tjc\t\nheshare simul\t--pol\texclusive,heshare:en\t --pref\tjc\t'
	[[ "$output" == *"got: model resnet152."* ]]
	[[ "$output" == *"got: plan --prefer jct."* ]]
	[[ "$output" == *"got: simulate --policy exclusive,heshare:energy --prefer jct."* ]]
}

@test "zsh and fish accept their completion" {
	"$HESHARE" completion zsh >c.zsh
	"$HESHARE" completion fish >c.fish
	[[ "$(head -1 c.zsh)" == "#compdef heshare" ]]
	if command -v zsh >/dev/null; then
		zsh -n c.zsh
	fi
	if command -v fish >/dev/null; then
		[[ "$(PATH="$(dirname "$HESHARE"):$PATH" HOME=$PWD fish --no-config -c 'source c.fish; complete -C "heshare gpus --fl"')" == --fleet* ]]
		[[ "$(PATH="$(dirname "$HESHARE"):$PATH" HOME=$PWD fish --no-config -c 'source c.fish; complete -C "heshare profiles forg"')" == forget* ]]
		[[ "$(PATH="$(dirname "$HESHARE"):$PATH" HOME=$PWD fish --no-config -c 'source c.fish; complete -C "heshare fair run --te"')" == --tenant* ]]
		[[ "$(PATH="$(dirname "$HESHARE"):$PATH" HOME=$PWD fish --no-config -c 'source c.fish; complete -C "heshare plan --prefer en"')" == energy* ]]
		[[ "$(PATH="$(dirname "$HESHARE"):$PATH" HOME=$PWD fish --no-config -c 'source c.fish; complete -C "heshare model resnet10"')" == resnet101* ]]
		[[ "$(PATH="$(dirname "$HESHARE"):$PATH" HOME=$PWD fish --no-config -c 'source c.fish; complete -C "heshare simulate --policy exclusive,mor"')" == exclusive,morak* ]]
	fi
	run -2 "$HESHARE" completion tcsh
	[[ "$output" == *'"tcsh" is not one of bash, zsh, fish'* ]]
	run -2 "$HESHARE" completion
	[[ "$output" == *"missing operand; usage: heshare completion bash|zsh|fish" ]]
}

@test "a file that is written does not become a standard stream that was closed" {
	run -1 bash -c '"$HESHARE" plan "$HES_SOURCE_ROOT/data/traces/demo.csv" --policy exclusive -o plan.json <&- >&- 2>&-'
	run -0 "$HESHARE" plan "$HES_SOURCE_ROOT/data/traces/demo.csv" --policy exclusive -o \
		expected.json
	cmp plan.json expected.json
	run -1 bash -c '"$HESHARE" gpus --types >&-'
	[[ "$output" == "heshare gpus: cannot write standard output: "* ]]
}

@test "what can name no GPU, or no co-runner, is wrong usage on any machine" {
	printf 'id,workload,batch_size,iterations\na,resnet18,4,100\n' >jobs.csv
	for list in x '' 0, 1,x 3-5 GPUS; do
		for command in "measure" "profile r" "plan jobs.csv" "fair serve" "run jobs.csv"; do
			run -2 --separate-stderr "$HESHARE" $command --gpus "$list" $([[ $command == plan* || $command == *serve ]] || echo -- true)
			[[ "$stderr" == *"--gpus: \""*"\" names no GPU; write all, or indices, UUIDs, PCI addresses with commas: see heshare gpus" ]]
		done
	done
	for name in / r/0 r/x /8 a,,b 'a+=x'; do
		run -2 --separate-stderr "$HESHARE" profile r --co-runners "$name" -- true
		[[ "$stderr" == "heshare profile: --co-runners: "* ]]
	done
	for modelled in "" --modelled; do
		run -2 "$HESHARE" partition resnet50:8 vgg16/8 $modelled
		[ "$output" = 'heshare partition: "resnet50:8": write resnet50/8' ]
	done
	# Well-formed: not found here.
	run -1 "$HESHARE" measure --gpus GPU-12345678,00000000:01:00.0,7 -- true
}

@test "commands and options that documents name are there" {
	printf 'Use `heshare run --gone`.\n\n    heshare go jobs.csv --gpus all\n    heshare plan a.csv \\\n        --other -- x --y | z --z\n' >bad.md
	run -1 python3 "$HES_SOURCE_ROOT/tests/tools/docs_commands.py" "$HESHARE" bad.md
	[ "$output" = "bad.md: heshare run has no option --gone
bad.md: no command: heshare go
bad.md: heshare plan has no option --other" ]
	cd "$HES_SOURCE_ROOT"
	python3 tests/tools/docs_commands.py "$HESHARE" {README,ARCHITECTURE,CONTRIBUTING,SECURITY}.md docs/*.md docs/formats/*.md papers/*.md papers/*/*.md bench/gpu/*.md
}
