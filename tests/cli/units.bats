#!/usr/bin/env bats
bats_require_minimum_version 1.5.0

# The units of systemd: their sandboxes, and what programs can do in them. A real systemd runs them
# in namespaces of its own (tests/systemd/boot.sh).

setup() {
	command -v systemd-analyze >/dev/null || skip "there is no systemd"
	cd "$BATS_TEST_TMPDIR"
	mkdir -p units mnt
	cp "$HES_BUILD_ROOT"/systemd/heshare-*.service units
	cp units/heshare-run@.service units/heshare-run@night.service
	program=$(sed -n 's|^ExecStart=\(.*/heshare\) .*|\1|p' units/heshare-fair.service)
}

@test "the units are right, and heshare-fair can do little but its work" {
	sed -i "s|$program|/bin/true|" units/*
	run -0 env SYSTEMD_UNIT_PATH="$PWD/units:" systemd-analyze verify --man=no \
		units/heshare-fair.service units/heshare-run@night.service
	[[ "$output" != *heshare* ]]
	# In tenths; 50 is the most.
	systemd-analyze security --help | grep -q -- --threshold || skip "this systemd rates no file"
	systemd-analyze security --offline=true --threshold=50 --no-pager units/heshare-fair.service
	systemd-analyze security --offline=true --threshold=90 --no-pager \
		units/heshare-run@night.service
}

# In the units' places: the lab, and in it heshare.
make_places() {
	find "$(dirname "$HES_LAB")" -maxdepth 1 ! -type d \( -perm /111 -o -name 'lib*.so*' \) \
		-exec cp -d {} mnt \;
	cp "$HESHARE" mnt/program
	printf 'name: one\nnodes:\n  - name: a\n    gpus: [ { type: T4, count: 1 } ]\n' >mnt/one.yaml
	printf '#!/bin/sh\nexport ASAN_OPTIONS=verify_asan_link_order=0\nexec /mnt/lab --fleet /mnt/one.yaml --speed 100 -- /mnt/program "$@"\n' \
		>mnt/heshare
	chmod -R go+rX,+x mnt
	sed -i "s|$program|/mnt/heshare|" units/*
	for target in sysinit basic shutdown multi-user; do
		printf '[Unit]\nDescription=%s\nDefaultDependencies=no\n' $target >units/$target.target
	done
	{ cat /etc/passwd; echo "alice:x:54321:54321::/home/alice:/bin/sh"; } >passwd
	for unit in heshare-fair heshare-run@; do
		mkdir units/$unit.service.d
		printf '[Service]\nStandardOutput=append:%s/%s.out\nStandardError=append:%s/%s.out\n' \
			"$PWD" $unit "$PWD" $unit >units/$unit.service.d/output.conf
	done
	cat >units/check.service <<-END
		[Unit]
		Description=check
		DefaultDependencies=no
		[Service]
		Type=oneshot
		ExecStart=-/bin/bash -e $PWD/check
		ExecStopPost=/bin/systemctl --force --force poweroff
		StandardOutput=append:$PWD/check.out
		StandardError=append:$PWD/check.out
	END
}

@test "a job of heshare-run@ writes to its owner's home; tenants come to heshare-fair" {
	[ -n "${HES_LAB:-}" ] || skip "this build has no lab"
	[ "$(id -u)" -eq 0 ] || skip "systemd runs as root"
	make_places
	# What jobs do: write to the home, to /tmp and /dev/shm, make a namespace, and use the network.
	cat >job <<-'END'
		set -e
		id -un >"$HOME/who"
		: >"/tmp/heshare-units-$$"; rm "/tmp/heshare-units-$$"
		: >"/dev/shm/heshare-units-$$"; rm "/dev/shm/heshare-units-$$"
		[ "$(cat /proc/sys/user/max_user_namespaces)" = 0 ] || unshare --user true
		python3 -c 'import socket; socket.socket(socket.AF_INET).bind(("", 0))'
		if date -s "@$(date +%s)" >/dev/null 2>&1; then exit 9; fi
		cat /proc/self/cgroup >"$HOME/cgroup"
	END
	printf 'id,arrival_s,workload,batch_size,iterations,memory_mib,user,command\na,0,resnet34,8,100,1813,alice,sh /mnt/job\nb,0,resnet18,4,100,1194,root,sh /mnt/job\n' >jobs.csv
	cp job mnt
	"$HESHARE" plan jobs.csv -f mnt/one.yaml --policy exclusive -o mnt/plan.json
	cat >check <<-END
		mkdir -p /var/lib/heshare/night /home/alice
		chown 54321 /home/alice
		export HOME=/root
		cp /mnt/plan.json /var/lib/heshare/night
		systemctl start heshare-run@night
		until [[ \$(systemctl is-active heshare-run@night) =~ ^(inactive|failed)$ ]]; do
			sleep 0.1
		done
		systemctl show -p Result --value heshare-run@night >$PWD/night.result
		cp /home/alice/who /home/alice/cgroup $PWD
		stat -c %U /home/alice/who >$PWD/owner
		cp /var/lib/heshare/night/plan.run/report.json $PWD
		systemctl start heshare-fair
		until /mnt/program fair top --json >$PWD/top.json; do sleep 0.1; done
		systemctl stop heshare-fair
		systemctl show -p Result --value heshare-fair >$PWD/fair.result
	END
	run "$HES_SOURCE_ROOT/tests/systemd/boot.sh" "$PWD"
	[ "$status" != 77 ] || skip "no namespaces of mounts and cgroups"
	echo "$output"
	cat ./*.out
	[ "$status" = 0 ]
	[ "$(cat night.result)" = success ]
	[ "$(cat who owner | xargs)" = "alice alice" ]
	grep -q 'heshare-run@night.service/' cgroup
	jq -e '.jobs_done == 2' report.json
	jq -e '.gpus | length == 1' top.json
	[ "$(cat fair.result)" = success ]
	grep -q 'GPU 0, .*, is shared' heshare-fair.out
}
