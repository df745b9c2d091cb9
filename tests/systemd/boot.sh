#!/bin/sh
# boot.sh FOLDER - systemd as the first process of namespaces of its own, with the units of FOLDER
# alone; it starts check.service and ends with it. /var/lib, /home, /run and /mnt are empty, but for
# what FOLDER/mnt has; FOLDER/passwd is the list of users. Ends with 77 where the namespaces cannot
# be made. As root.
set -e

# The tree of cgroups as this namespace has it, seen by this process alone.
mount_cgroups() {
	mount --make-rprivate /
	umount -R -l /sys/fs/cgroup
	mount -t cgroup2 cgroup2 /sys/fs/cgroup
}

case $1 in
--inner)
	mount_cgroups
	mount -t proc proc /proc
	for place in /run /home /var/lib; do mount -t tmpfs -o mode=755 tmpfs $place; done
	# The lab's programs: the sandbox of a unit may hide where they were built.
	mount -t tmpfs -o mode=755 tmpfs /mnt
	cp -r "$2/mnt/." /mnt
	mount --bind "$2/passwd" /etc/passwd
	exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin container=check \
		SYSTEMD_UNIT_PATH="$2/units" SYSTEMD_LOG_TARGET=console SYSTEMD_LOG_LEVEL=notice \
		/lib/systemd/systemd --system --unit=check.service
	;;
--outer)
	# systemd leaves its cgroups: they go with the one that they are in.
	mount_cgroups && own=/sys/fs/cgroup/heshare-units-$$ && mkdir "$own" || exit 77
	# shellcheck disable=SC2016
	timeout -s KILL 120 sh -c 'echo $$ >"$2/cgroup.procs" && exec unshare --fork --pid --mount \
		--cgroup --ipc --uts --kill-child "$0" --inner "$1"' "$0" "$2" "$own" || true
	find "$own" -depth -type d -exec rmdir {} \;
	;;
*)
	unshare --mount true || exit 77
	exec unshare --mount "$0" --outer "$1"
	;;
esac
