# shellcheck shell=bash
# A real Slurm with three nodes for tests: Debian's slurmctld and slurmd, without root services,
# munge or cgroups, and a virtual GPU lab for each node. All of it is in one folder and in the
# process namespace of the caller.
#
#   slurm_up           start it in $PWD/slurm; nodes n0 (2 T4), n1 (2 V100), n2 (1 A100)
#   slurm_down         end it
#   slurm_ctld         start slurmctld (again)
#   slurmd_on NODE     start slurmd of a node (again)
#   slurm_pid NAME     process of "ctld", "n0" ...
#   in_lab NODE CMD... run a command among the virtual GPUs of a node
#   nothing_left       print what runs or is set on any GPU

SLURM_NODES=(n0 n1 n2)

slurm_fleet() {
	case $1 in
	n0) echo '{ type: T4, count: 2 }' ;;
	n1) echo '{ type: V100-SXM2-32, count: 2 }' ;;
	n2) echo '{ type: A100-SXM-80, count: 1 }' ;;
	esac
}

slurm_count() {
	case $1 in n2) echo 1 ;; *) echo 2 ;; esac
}

# slurm_conf HOST: the configuration
slurm_conf() {
	cat <<-END
		ClusterName=lab
		SlurmctldHost=$1(127.0.0.1)
		SlurmctldPort=$SLURM_PORT
		SlurmUser=root
		AuthType=auth/none
		CredType=cred/none
		MpiDefault=none
		SlurmctldPidFile=$SLURM_DIR/ctld.pid
		SlurmctldLogFile=$SLURM_DIR/ctld.log
		SlurmdPidFile=$SLURM_DIR/%n.pid
		SlurmdLogFile=$SLURM_DIR/%n.log
		SlurmdSpoolDir=$SLURM_DIR/spool/%n
		StateSaveLocation=$SLURM_DIR/state
		SlurmdParameters=config_overrides
		ProctrackType=proctrack/linuxproc
		TaskPlugin=task/none
		TaskProlog=$SLURM_DIR/prolog
		JobAcctGatherType=jobacct_gather/none
		AccountingStorageType=accounting_storage/none
		SelectType=select/cons_tres
		SelectTypeParameters=CR_Core
		GresTypes=gpu
		ReturnToService=2
		SchedulerParameters=sched_interval=1,bf_interval=1,sched_min_interval=0,batch_sched_delay=0
		KillWait=10
		SlurmdTimeout=20
		MessageTimeout=10
	END
	local port=$SLURM_PORT node
	for node in "${SLURM_NODES[@]}"; do
		port=$((port + 1))
		echo "NodeName=$node NodeHostname=$1 NodeAddr=127.0.0.1 Port=$port CPUs=8 RealMemory=4000 Gres=gpu:$(slurm_count "$node")"
	done
	echo "PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO"
}

slurm_ctld() {
	slurmctld -D -f "$SLURM_CONF" >"$SLURM_DIR/ctld.out" 2>&1 3>&- &
	echo $! >"$SLURM_DIR/process.ctld"
}

slurmd_on() {
	slurmd -D -N "$1" -f "$SLURM_CONF" >"$SLURM_DIR/$1.out" 2>&1 3>&- &
	echo $! >"$SLURM_DIR/process.$1"
}

slurm_pid() {
	cat "$SLURM_DIR/process.$1"
}

# One lab for each node. Slurm passes on the environment of who submits; the prolog adds that of the
# node's lab.
slurm_labs() {
	local node
	for node in "${SLURM_NODES[@]}"; do
		printf 'name: x\nnodes:\n  - name: %s\n    gpus: [ %s ]\n' "$node" "$(slurm_fleet "$node")" >"$SLURM_DIR/$node.yaml"
		# shellcheck disable=SC2016
		HESHARE_STORE=none "$HES_LAB" --fleet "$SLURM_DIR/$node.yaml" -- sh -c \
			'env >"$1.new" && mv "$1.new" "$1" && exec sleep 100000' \
			sh "$SLURM_DIR/$node.env" >/dev/null 2>&1 3>&- &
		echo $! >>"$SLURM_DIR/labs"
	done
	for node in "${SLURM_NODES[@]}"; do
		until [ -e "$SLURM_DIR/$node.env" ]; do sleep 0.05; done
		grep -E '^(LD_LIBRARY_PATH|PATH|HESHARE_LAB|CUDA_MPS_[A-Z]*_DIRECTORY)=' \
			"$SLURM_DIR/$node.env" >"$SLURM_DIR/$node.lab"
	done
	cat >"$SLURM_DIR/prolog" <<-END
		#!/bin/sh
		sed 's/^/export /' "$SLURM_DIR/\$SLURMD_NODENAME.lab"
	END
	chmod +x "$SLURM_DIR/prolog"
}

in_lab() {
	local node=$1 line v=()
	shift
	while read -r line; do v+=("$line"); done <"$SLURM_DIR/$node.lab"
	env "${v[@]}" "$@"
}

slurm_up() {
	local node host i
	host=$(hostname -s)
	SLURM_DIR=$PWD/slurm
	SLURM_PORT=$((20000 + $$ % 20000))
	mkdir -p "$SLURM_DIR/state"
	export SLURM_CONF=$SLURM_DIR/slurm.conf
	slurm_conf "$host" >"$SLURM_CONF"
	slurm_labs
	echo AutoDetect=off >"$SLURM_DIR/gres.conf"
	for node in "${SLURM_NODES[@]}"; do
		mkdir -p "$SLURM_DIR/spool/$node"
		# Slurm wants devices; these are /dev/null.
		for ((i = 0; i < $(slurm_count "$node"); i++)); do
			mknod "$SLURM_DIR/$node.gpu$i" c 1 3
			echo "NodeName=$node Name=gpu File=$SLURM_DIR/$node.gpu$i" \
				>>"$SLURM_DIR/gres.conf"
		done
	done
	slurm_ctld
	for node in "${SLURM_NODES[@]}"; do slurmd_on "$node"; done
	until [ "$(sinfo -h -o '%D %t' 2>/dev/null)" = "${#SLURM_NODES[@]} idle" ]; do sleep 0.1; done
}

slurm_down() {
	local p
	for p in $(cat "$SLURM_DIR"/process.* "$SLURM_DIR/labs"); do kill "$p" 2>/dev/null; done
	for p in $(cat "$SLURM_DIR"/process.* "$SLURM_DIR/labs"); do
		while kill -0 "$p" 2>/dev/null; do sleep 0.1; done
	done
}

nothing_left() {
	local node
	for node in "${SLURM_NODES[@]}"; do
		in_lab "$node" "$HESHARE" gpus --json | jq -r --arg node "$node" '.gpus[] | select(.clock_mhz > 400) | "left: \($node) \(.index) at \(.clock_mhz) MHz"'
		in_lab "$node" sh -c \
			'grep -azl "^HESHARE_LAB=$HESHARE_LAB" /proc/[0-9]*/environ 2>/dev/null' \
			| while read -r p; do
			grep -azq '^HESHARE_LAUNCH=' "$p" 2>/dev/null && echo "left: $(tr '\0' ' ' <"${p%environ}cmdline")"
		done
	done
}
