#!/usr/bin/env bats
bats_require_minimum_version 1.5.0
load open_build

# The arbiter in the lab: heshare fair serve, top, set and profile, with tenants that speak its
# protocol (lab/fair_client.py).

setup() {
	[ -n "${HES_LAB:-}" ] || skip "this build has no lab"
	place=$(mktemp -d /tmp/heshare-fair.XXXXXX)
	chmod 755 "$place"
	cd "$place"
	export PATH=$(dirname "$HESHARE"):$PATH HESHARE_STORE=$place/store.db \
		HESHARE_FAIR_SOCKET=$place/run/fair.sock
	export CLIENT=$HES_SOURCE_ROOT/tests/lab/fair_client.py
	unset LD_LIBRARY_PATH
	printf 'name: one\nnodes:\n  - name: a\n    gpus: [ { type: T4, count: 1 }, { type: A100-SXM-80, count: 1 } ]\n' >one.yaml
	cat >begin.sh <<-'END'
		serve() { # OPTION...: in the background, and it serves
			rm -f serve.log
			heshare fair serve --gpus 0 "$@" 2>serve.log &
			arbiter=$!
			for _ in $(seq 6000); do
				grep -qs shared serve.log && return
				sleep 0.02
			done
			cat serve.log
			exit 9
		}
		client() { python3 "$CLIENT" "$HESHARE_FAIR_SOCKET" "$@"; }
		await() { # WORD COMMAND...: until the command prints the word
			local word=$1
			shift
			for _ in $(seq 6000); do
				"$@" | grep -q -- "$word" && return
				sleep 0.02
			done
			echo "never $word: $*"
			exit 9
		}
		lock() { vgpu-look | awk 'NR == 2 { print "lock=" $3 }'; }
	END
}

teardown() {
	cd /
	[ -z "${place:-}" ] || rm -rf "$place"
}

# [SPEED]: a script in the lab, after begin.sh. What it starts ends with the lab.
in_lab() {
	{ cat begin.sh; cat; } >script.sh
	run --separate-stderr timeout -k 5 500 "$HES_LAB" --speed "${1:-1}" --fleet one.yaml -- \
		bash script.sh
}

@test "two tenants have the GPU by their weights, and what they used is in the store" {
	in_lab 3 <<-'END'
		serve --profile-for 0
		client work light 3 1 >light.json & client work heavy 3 2 >heavy.json
		wait %2
		heshare fair top --json >top.json
		kill $arbiter; wait $arbiter
		heshare fair history --json --kwh-price 0.5 --carbon 360 >history.json
		heshare fair history
		heshare fair history --kwh-price 0.3 --carbon 380
	END
	[ "$status" -eq 0 ]
	jq -e '.gpus[0] | .policy == "etf" and .phi == 0.7 and .used_s / .wanted_s > 0.5' top.json
	jq -e '.gpus[0].tenants | map({(.tenant): .time_s}) | add | .heavy / .light | . > 1.5 and . < 2.6' top.json
	jq -e -s '.[0].leases > 5 and .[1].leases > 5 and .[0].held_s + .[1].held_s > 1.5' \
		light.json heavy.json
	grep -q "GPU 0: tenant heavy of user $(id -u), process [0-9]* connected" serve.log
	grep -q "tenant heavy of user $(id -u), process [0-9]* disconnected" serve.log
	jq -e --slurpfile top top.json '[.days[] | select(.tenant == "light" or .tenant == "heavy")] | length >= 2
		and ((map(.time_s) | add) / ($top[0].gpus[0].tenants | map(.time_s) | add) | . > 0.999 and . < 1.001)
		and all(.gpu_type == "T4" and .energy_j > 0 and (.cost / .kwh | . > 0.499 and . < 0.501) and (.co2_g * 1e4 / .energy_j | . > 0.99 and . < 1.01))' history.json
	[[ "${lines[0]}" =~ ^"day, UTC".*"uid".*"tenant".*"GPU time".*"energy".*"kWh"$ ]]
	[[ "$output" == *"cost"*"CO2 g"* ]]
	# Little is not nothing.
	[ "$(grep -c " 0\.0*\( \|$\)" <<<"$output")" = 0 ]
}

@test "people see a table, and what they set" {
	in_lab <<-'END'
		serve --profile-for 0
		client work alice 60 >/dev/null &
		await alice heshare fair top
		{ heshare fair set --phi 0.25 && heshare fair set --tenant alice --weight 3 --gpus 0; } >set || exit 8
		heshare fair top
		heshare fair set --user "$(id -u)" --weight 2 >>set
		heshare fair top | grep -A 1 "^ *uid"
		heshare fair set --tenant nobody --weight 3
		echo "rc=$?"
		heshare fair set --user no-such-user --weight 3
		echo "rc=$?"
		heshare fair set --phi 1 --gpus 1
		echo "rc=$?"
	END
	[ "$status" -eq 0 ]
	[[ "${lines[0]}" == GPU-*"Tesla T4  policy etf, phi 0.25 "* ]]
	[[ "$output" =~ "tenant".*"weight".*"energy %".*"total J" ]]
	[[ "${lines[4]}" =~ ^"  alice "*.*" running "*3" " ]]
	[[ "${lines[-4]}" =~ ^" "*"$(id -u) "\ *"1 "\ *"2 " ]]
	[ "${lines[*]: -3}" = "rc=2 rc=2 rc=2" ]
	[ "$stderr" = 'heshare fair set: --tenant: there is no tenant "nobody"
heshare fair set: --user: there is no user "no-such-user"
heshare fair set: --gpus: the arbiter does not share this GPU' ]
	[ "$(cat set)" = "phi is 0.25
tenant alice has weight 3
user $(id -u) has weight 2" ]
	grep -q "process [0-9]* of user $(id -u) changed settings: phi is 0.25" serve.log
	grep -q "process [0-9]* of user $(id -u) changed settings: tenant alice has weight 3" serve.log
	grep -q "process [0-9]* of user $(id -u) changed settings: user $(id -u) has weight 2" serve.log
}

@test "one arbiter a socket; that of one that was killed is replaced" {
	in_lab <<-'END'
		serve
		heshare fair serve --gpus 0
		echo "rc=$?"
		rm "$HESHARE_FAIR_SOCKET.lock"
		heshare fair serve --gpus 0
		kill -KILL $arbiter
		wait $arbiter
		[ -S "$HESHARE_FAIR_SOCKET" ] || exit 8
		heshare fair top
		serve
		client work a 0.3
		kill -TERM $arbiter
		wait $arbiter
		echo "rc=$?"
		[ -e "$HESHARE_FAIR_SOCKET" ] || echo gone
		if [ "$(id -u)" = 0 ]; then
			python3 -c 'import os, socket
		socket.socket(socket.AF_UNIX).bind(p := os.environ["HESHARE_FAIR_SOCKET"])
		os.chown(p, 65534, -1)'
			heshare fair serve --gpus 0
			rm "$HESHARE_FAIR_SOCKET"
		fi
		echo x >"$HESHARE_FAIR_SOCKET"
		heshare fair serve --gpus 0
		chmod o+w run
		heshare fair serve --gpus 0
		# As in /tmp.
		chmod +t run
		heshare fair serve --gpus 0
	END
	[ "$status" -eq 1 ]
	[ "${lines[0]}" = "rc=1" ]
	jq -e '.welcome and .leases >= 1' <<<"${lines[1]}"
	[ "${lines[2]} ${lines[3]}" = "rc=0 gone" ]
	[ "${stderr_lines[0]}" = "heshare fair serve: $place/run/fair.sock: another arbiter serves there; end it first, or choose another --socket" ]
	[[ "$stderr" == *"heshare fair top: $place/run/fair.sock: no arbiter answers there (Connection refused: the arbiter that made this socket has ended; heshare fair serve replaces it); "* ]]
	[ "${stderr_lines[1]}" = "heshare fair serve: $place/run/fair.sock: another program serves there; end it first, or choose another --socket" ]
	[ "$(id -u)" != 0 ] || [[ "$stderr" == *"heshare fair serve: $place/run/fair.sock: a socket of user 65534; remove it, or choose another --socket"* ]]
	[ "$(grep -cFx "heshare fair serve: $place/run/fair.sock: not a socket; remove it, or choose another --socket" <<<"$stderr")" = 2 ]
	[[ "$stderr" == *"heshare fair serve: $place/run/fair.sock: others could replace the socket; choose another --socket: $place/run: others may write it (mode 0757)"* ]]
	grep -qx x run/fair.sock
}

@test "a GPU has one master: an arbiter, a run or a profile" {
	printf 'id,command\nwaits,until [ -e go ]; do sleep 0.05; done\n' >jobs.csv
	in_lab 10 <<-'END'
		serve
		heshare run jobs.csv --gpus 0; echo "run $?"
		heshare profile a --gpus 0 -- true; echo "profile $?"
		heshare fair serve --gpus 0 --socket "$PWD/other/fair.sock"; echo "serve $?"
		heshare run jobs.csv --gpus 1 >run.log 2>&1 & job=$!
		until [ -e jobs.run/waits.log ]; do sleep 0.05; done
		heshare fair serve --gpus 1 --socket "$PWD/other/fair.sock"; echo "serve $?"
		: >go
		wait $job; echo "run $?"
		kill $arbiter; wait $arbiter
		heshare run jobs.csv --gpus 0 >run.log 2>&1; echo "run $?"
	END
	[ "$status" -eq 0 ]
	[ "${lines[*]}" = "run 1 profile 1 serve 1 serve 1 run 0 run 0" ]
	[ "$(grep -c "GPU GPU-[^ ]* is in use by another run, profile or heshare fair serve on this machine; it has one at a time" <<<"$stderr")" = 4 ]
}

@test "a tenant's clock is set in its leases, and set back whatever happens to the arbiter" {
	in_lab <<-'END'
		serve --profile-for 0
		client work slow 60 1 600 >/dev/null &
		await lock=600-600 lock
		kill -KILL $arbiter
		await lock=- lock
		echo killed
		serve --profile-for 0
		client work slow 60 1 900 >/dev/null &
		await lock=900-900 lock
		kill -TERM $arbiter
		wait $arbiter
		echo "rc=$?"
		lock
		serve --no-clocks
		client work slow 0.3 1 900
		lock
	END
	[ "$status" -eq 0 ]
	[ "${lines[0]} ${lines[1]} ${lines[2]}" = "killed rc=0 lock=-" ]
	jq -e '.leases >= 1' <<<"${lines[3]}"
	[ "${lines[4]}" = "lock=-" ]
}

@test "a clock that the GPU does not have is refused with its range" {
	in_lab <<-'END'
		serve --profile-for 0
		client work slow 2 1 5
		client work slow 2 1 20000
		client work slow 0.3 1 600
	END
	[ "$status" -eq 0 ]
	jq -e '.refused == "clock: Tesla T4 does not run at 5 MHz; it has 300 to 1590 MHz" and .leases == 0' <<<"${lines[0]}"
	jq -e '.refused == "clock: Tesla T4 does not run at 20000 MHz; it has 300 to 1590 MHz"' <<<"${lines[1]}"
	jq -e '.refused == "" and .leases >= 1' <<<"${lines[2]}"
}

@test "a clock that cannot be unlocked for a while is unlocked after it, and clocks are set on" {
	in_lab <<-'END'
		serve --profile-for 0
		python3 "$CLIENT" "$HESHARE_FAIR_SOCKET" work slow 60 1 600 >/dev/null & slow=$!
		await lock=600-600 lock
		vgpu-fault 0:no-permission
		kill -KILL $slow; wait $slow
		await "will be tried again" cat serve.log
		lock
		vgpu-fault 0:clear
		await lock=- lock
		client work slow 60 1 900 >/dev/null &
		await lock=900-900 lock
		echo set
	END
	[ "$status" -eq 0 ]
	[ "${lines[*]}" = "lock=600-600 set" ]
	[ "$(grep -c "a clock could not be set, and will be tried again" serve.log)" -eq 1 ]
}

@test "without the right to set clocks tenants run on, and that is said once" {
	in_lab <<-'END'
		vgpu-fault 0:no-permission
		serve --profile-for 0 --interval 40ms
		client work slow 1 1 600 >slow.json &
		client work fast 1 1 900
		wait %2
	END
	[ "$status" -eq 0 ]
	jq -e '.leases > 5' <<<"${lines[0]}"
	[ "$(grep -c "clocks are not set" serve.log)" -eq 1 ]
}

@test "who may not connect is refused, and who may not change settings" {
	[ "$(id -u)" -eq 0 ] || skip "another user takes root"
	open_build "$place/build"
	cp "$CLIENT" build/
	CLIENT=$place/build/${CLIENT##*/}
	in_lab <<-'END'
		nobody() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
		serve
		nobody heshare fair top
		kill $arbiter; wait $arbiter
		serve --allow daemon
		nobody heshare fair top
		nobody heshare fair set --phi 1
		kill $arbiter; wait $arbiter
		serve --allow daemon,65534
		nobody heshare fair top >top.txt && echo seen
		nobody heshare fair set --phi 1
		FAIR_CLIENT_UID=65534 client work heavy 0.1 1.5 | jq -r .refused
		kill $arbiter; wait $arbiter
		serve --allow 65534 --max-weight 1.5 --profile-for 0
		FAIR_CLIENT_UID=65534 client work heavy 0.1 1.5 | jq -r .welcome
		client work heavy 0.1 | jq -r .welcome
		heshare fair set --tenant heavy --weight 3 2>&1
		heshare fair set --tenant heavy --weight 3 --user nobody >set
		heshare fair top --json | jq -c '.gpus[0].tenants | map([.uid, .weight]) | sort'
		heshare fair set --user nobody --weight 4 >set
		heshare fair top --json | jq -c '.gpus[0].users | map([.uid, .weight]) | sort'
		heshare fair top | grep -A 2 "^ *uid"
		kill $arbiter; wait $arbiter
		serve --allow @root
		setpriv --reuid 65534 --regid 65534 --groups 0 heshare fair top >top.txt && echo seen
		heshare fair serve --allow no-such-user
		echo "rc=$?"
	END
	[ "$status" -eq 0 ]
	[ "${lines[0]}" = seen ]
	[ "${lines[1]}" = "weight 1.5: user 65534 may ask for 1 at most; heshare fair serve --max-weight, or heshare fair set, allows more" ]
	[ "${lines[*]:2:2}" = "true true" ]
	[ "${lines[4]}" = \
		'heshare fair set: --user is missing: users 65534 and 0 have a tenant "heavy" each' ]
	[ "${lines[*]:5:2}" = "[[0,1],[65534,3]] [[0,1],[65534,4]]" ]
	[[ "${lines[7]}" =~ uid.*procs.*weight.*slice ]]
	[[ " ${lines[8]} ${lines[9]}" =~ " 65534 "\ *"0 "\ *"4 ".*" 0 "\ *"0 "\ *"1 " ]]
	[ "${lines[*]:10}" = "seen rc=2" ]
	[[ "${stderr_lines[0]}" == *"(Permission denied)"* ]]
	[ "${stderr_lines[1]}" = \
		"heshare fair top: this user may not use the arbiter; its --allow says who may" ]
	[ "${stderr_lines[2]}" = \
		"heshare fair set: this user may not use the arbiter; its --allow says who may" ]
	[ "${stderr_lines[3]}" = "heshare fair set: only user 0 and root may change settings" ]
	[[ "${stderr_lines[4]}" == *'there is no user "no-such-user"; a group is written @GROUP' ]]
}

@test "a user with 64 names has half of the time, also if none of them releases" {
	[ "$(id -u)" -eq 0 ] || skip "root becomes another user"
	in_lab <<-'END'
		serve --policy time --profile-for 0 --interval 64ms --patience 0.06 --allow 65534
		names() { # PREFIX: 64 tenants of user 65534
			FAIR_CLIENT_UID=65534 setsid python3 "$CLIENT" "$HESHARE_FAIR_SOCKET" names $1 64 1000 >/dev/null &
			names=$!
			await ${1}63 heshare fair top
		}
		part() { # of user 0, in three seconds
			heshare fair top --json >before.json
			sleep 3
			heshare fair top --json | jq --slurpfile before before.json '
				def of(f; $uid): [f.gpus[0].users[] | select(.uid == $uid) | .time_s] | add // 0;
				(of(.; 0) - of($before[0]; 0)) as $one | (of(.; 65534) - of($before[0]; 65534)) as $many
				| [($one / ($one + $many) | . > 0.48 and . < 0.52), ([.gpus[0].tenants[] | select(.uid == 65534)] | length)]' -c
		}
		client work one 1000 >/dev/null &
		names name
		part
		kill -KILL -- -$names
		FAIR_CLIENT_HOLDS=1 names other # each loses its lease once
		part
		heshare fair top --json | jq '[.gpus[0].tenants[].lost] | add > 10'
	END
	[ "$status" -eq 0 ]
	[ "$output" = "[true,64]
[true,128]
true" ]
}

@test "root sees and sets what it likes while all connections of others are taken" {
	[ "$(id -u)" -eq 0 ] || skip "root becomes other users"
	cat >idle.py <<-'END'
		import os, socket, sys, time
		taken = []
		for user in range(9):
		    os.seteuid(0)
		    os.seteuid(70000 + user)
		    for _ in range(58):
		        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
		        s.connect(os.environ["HESHARE_FAIR_SOCKET"])
		        taken.append(s)
		print(len(taken), flush=True)
		time.sleep(1000)
	END
	in_lab <<-'END'
		serve --allow 70000,70001,70002,70003,70004,70005,70006,70007,70008
		python3 idle.py >taken & idle=$!
		await 522 cat taken
		await "the arbiter has 512 connections, as many as it takes" cat serve.log
		heshare fair top --json | jq -c '.gpus | length'
		heshare fair set --phi 0.25 && heshare fair top --json | jq -c '.gpus[0].phi'
		client work a 0.1 | jq -r .refused
		kill -KILL $idle; wait $idle
		client work a 0.1 | jq -r .welcome
	END
	[ "$status" -eq 0 ]
	[ "$output" = "1
phi is 0.25
0.25
the arbiter has 512 connections, as many as it takes
true" ]
}

@test "wrong packets end their connection; a tenant that dies or hangs does not keep the GPU" {
	in_lab <<-'END'
		serve --profile-for 0 --patience 0.5
		client raw 00
		client raw 4653454801000200 4653454801000400
		client raw 4845534601000400
		for _ in 1 2; do client raw 00; done >/dev/null
		python3 "$CLIENT" "$HESHARE_FAIR_SOCKET" work hangs 60 >/dev/null & hangs=$!
		await hangs heshare fair top
		client work works 2 >works.json & works=$!
		await works heshare fair top
		kill -STOP $hangs
		wait $works
		jq -e '.leases > 0' works.json
		heshare fair top --json | jq -c '.gpus[0].tenants | map(select(.tenant == "hangs")) | .[0] | [.state, .lost]'
		kill -KILL $hangs; wait $hangs
		heshare fair top --json | jq -c '.gpus[0].tenants | map(select(.tenant == "hangs")) | .[0].processes'
		kill $arbiter; wait $arbiter
	END
	[ "$status" -eq 0 ]
	[ "${lines[*]}" = 'closed closed 101 closed true ["lost",1] 0' ]
	grep -q "process [0-9]* did not release the GPU in time, and others have it now" serve.log
	# What is repeated is printed once, and counted.
	[ "$(grep -c "was disconnected: a packet that is no message" serve.log)" = 1 ]
	[ "$(tail -n 1 serve.log)" = "heshare fair serve: 3 more events were not shown" ]
}

@test "a new tenant's power is measured and kept" {
	in_lab 4 <<-'END'
		serve --profile-for 1 --store powers.db
		CUDA_VISIBLE_DEVICES=$(heshare gpus --json | jq -r '.gpus[0].uuid') heshare fair run --tenant worker -- \
			vgpu-task --workload resnet50 --batch 16 --every 0.01 --iterations 100000000 >/dev/null & worker=$!
		await draws cat serve.log
		kill $worker; wait $worker
		kill $arbiter; wait $arbiter
	END
	[ "$status" -eq 0 ]
	grep -q "tenant worker of user $(id -u), process [0-9]* draws [0-9.]* W" serve.log
	python3 -c 'import sqlite3
tenant, gpu_type, clock, watts, seconds = sqlite3.connect("powers.db").execute(
    "SELECT tenant, gpu_type, clock_mhz, power_w, seconds FROM tenant_powers").fetchone()
assert (tenant, gpu_type, clock) == ("worker", "T4", 0) and watts > 20 and seconds > 0.2'
}

@test "events as JSON" {
	in_lab <<-'END'
		serve --json --profile-for 0 >events.json
		client work alice 0.1 >/dev/null
		kill $arbiter; wait $arbiter
		jq -r '[.event, .tenant, .gpu] | @csv' events.json
	END
	[ "$status" -eq 0 ]
	[ "$output" = $'"connected","alice",0\n"disconnected","alice",0' ]
}

@test "options that make no sense are refused with a sentence" {
	refused() { # SENTENCE ARGUMENT...
		local sentence=$1
		shift
		run -2 --separate-stderr "$HESHARE" fair "$@"
		[[ "$stderr" == *"$sentence"* ]] || { echo "$stderr"; return 1; }
	}
	refused '--interval: "200" is no time such as 200ms, 2s or 500us' serve --interval 200
	refused '--quantum: it is at least 1us, and no longer than --interval' serve --interval \
		1ms --quantum 2ms
	refused "--patience: 0 is outside 0.001 to 3600" serve --patience 0
	refused "--phi PHI is missing, or --weight W with --tenant NAME or --user USER: nothing is set" set
	for with in "--tenant a" "--user root" "--weight 2" "--phi 0.5 --user root"; do
		refused "--weight W goes with --tenant NAME or --user USER, and they with it" set $with
	done
	refused "--gpus: the weight of a user is that on all GPUs; leave it out" set --user root \
		--weight 2 --gpus 0
	refused '--user-weight: there is no user "no-such-user"' serve --user-weight no-such-user=1
	refused '--user-weight: "root" is not USER=W' serve --user-weight nobody=1,root
	refused "--user-weight: 0 is outside 1e-06 to 1e+06" serve --user-weight root=0
	refused '--user: there is no user "no-such-user"' set --tenant a --weight 1 --user \
		no-such-user
	refused "--max-weight: 0 is outside 1e-06 to 1e+06" serve --max-weight 0
	refused "--weight: 0 is outside 1e-06 to 1e+06" set --tenant a --weight 0
	refused "--tenant: control character 0x09 in byte 2" set --weight 1 --tenant "$(printf 'a\tb')"
	refused 'unexpected "now"; usage: heshare fair top' top now
}

@test "a process that no lease covers is named, and fairness is not known while it works" {
	in_lab 3 <<-'END'
		serve --profile-for 0 --interval 50ms
		client work held 60 >/dev/null & held=$!
		await held heshare fair top
		client forks parent >forks &
		await 0 cat forks
		vgpu-look | awk 'NR == 2 { print $NF " context" }'
		CUDA_VISIBLE_DEVICES=$(heshare gpus --json | jq -r '.gpus[0].uuid') \
			vgpu-task --workload mobilenetv2 --batch 1 --iterations 1000000 --every 0.01 >/dev/null & outside=$!
		await "not held: process $outside " heshare fair top
		heshare fair top | sed -n "s/$outside/PID/; /^not held\|^fairness/p"
		heshare fair top --json | jq -c --argjson pid $outside \
			'.gpus[0] | [.fairness, .fairness_recent.system, (.not_held | map([.pid == $pid, .name]))]'
		kill $outside
		wait $outside
		# One that launches nothing does not count.
		CUDA_VISIBLE_DEVICES=$(heshare gpus --json | jq -r '.gpus[0].uuid') \
			"$HES_CUDA_CLIENT" --spin 1000 --idle 600000000 --for 600 >/dev/null & idle=$!
		await "not held: process $idle " heshare fair top
		await "fairness now: time 1.000, energy 1.000, system 1.000; since tenants came: unknown, work ran without a lease" \
			heshare fair top
		heshare fair top --json | jq -c --argjson pid $idle '.gpus[0].not_held | map(.pid == $pid)'
		kill $idle
		wait $idle
		await "^\[\]" sh -c "heshare fair top --json | jq -c '.gpus[0].not_held'"
		await "fairness now: time 1.000, energy 1.000, system 1.000; since tenants came: unknown, work ran without a lease" \
			heshare fair top
		heshare fair top --json | jq -c '.gpus[0].not_held'
	END
	[ "$status" -eq 0 ]
	# The child that has no connection of its own is not among them.
	[ "$output" = "1 context
fairness now: unknown; since tenants came: unknown, work ran without a lease
not held: process PID (vgpu-task) of user $(id -u) has a context, and no lease covers it
[{\"time\":null,\"energy\":null,\"system\":null},null,[[true,\"vgpu-task\"]]]
[true]
[]" ]
}
