#!/bin/sh
# boot.sh FOLDER - systemd as the first process of namespaces of its own, with the units of FOLDER
# alone; it starts check.service and ends with it. /var/lib, /home, /run and /mnt are empty, and
# FOLDER/passwd is the list of users. To be started by: unshare --fork --pid --mount --cgroup --ipc --uts
set -e
mount --make-rprivate /
mount -t proc proc /proc
umount -R -l /sys/fs/cgroup
mount -t cgroup2 cgroup2 /sys/fs/cgroup
for place in /run /home /var/lib; do mount -t tmpfs -o mode=755 tmpfs $place; done
# The lab's programs: the sandbox of a unit may hide where they were built.
mount -t tmpfs -o mode=755 tmpfs /mnt
cp -r "$1/mnt/." /mnt
mount --bind "$1/passwd" /etc/passwd
exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin container=check SYSTEMD_UNIT_PATH="$1/units" \
	SYSTEMD_LOG_TARGET=console SYSTEMD_LOG_LEVEL=notice /lib/systemd/systemd --system \
	--unit=check.service
