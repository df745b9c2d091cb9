#!/usr/bin/env bash
# check-deb.sh - the Debian packages from end to end, and what make install places.
#
# Builds the packages into BUILD/deb (BUILD: build), runs lintian, and installs them in a new root
# of this Debian release. There it tries the program, manual pages, completion and the lab's demo,
# purges everything and compares all files with those before. Then installs the tree of BUILD into a
# folder and uninstalls it. For root. Exit status 77, and a word why, where no root can be made.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${BUILD:-build}
. /etc/os-release
mirror=$(apt-get indextargets --format '$(REPO_URI)' "Codename: $VERSION_CODENAME" \
	'Component: main' 2>/dev/null | head -n 1)
mirror=${mirror:-http://deb.debian.org/debian}

[ "$(id -u)" -eq 0 ] || { echo "check-deb.sh: making a root takes root" >&2; exit 77; }
command -v mmdebstrap >/dev/null || { echo \
	"check-deb.sh: mmdebstrap is not installed: tools/deps.sh deb" >&2; exit 77; }

work=$(mktemp -d)
log=$build/meson-logs/install-log.txt prefix=

# What was installed from this build before, and where, is not ours to forget.
finish() {
	[ ! -f "$work/install-log" ] || mv "$work/install-log" "$log"
	[ -z "$prefix" ] || meson configure "$build" --prefix="$prefix"
	rm -rf --one-file-system "$work"
}
trap finish EXIT
chmod 755 "$work"
root=$work/root

step() { echo "== $SECONDS s: $*"; }

# in_root COMMAND...: in the root, with processes, mounts and cgroups of its own: what is left
# running ends with it
in_root() {
	# shellcheck disable=SC2016
	unshare --fork --pid --mount --cgroup --kill-child sh -c '
		set -e
		mount -t proc proc "$1/proc"
		mount -t tmpfs tmpfs "$1/dev/shm"
		mount -t tmpfs tmpfs "$1/tmp"
		root=$1
		shift
		exec chroot "$root" "$@"' sh "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
		DEBIAN_FRONTEND=noninteractive "$@"
}

# Every file with type, mode, owner, size and target; what apt and dpkg keep for themselves left
# out.
list_files() {
	(cd "$root" && find . -xdev \( -path ./var/lib/apt -o -path ./var/lib/dpkg -o -path \
		./var/cache/apt -o -path ./var/log \
		-o -path ./var/cache/ldconfig -o -path ./etc/ld.so.cache -o -path ./packages -o \
			-path ./proc -o -path ./dev \) -prune \
		-o -type d -printf '%p %M %U %G\n' -o -printf '%p %M %U %G %s %l\n' | LC_ALL=C sort)
}

step "a root of $VERSION_CODENAME from $mirror"
mmdebstrap --quiet --mode=root --variant=minbase --skip=cleanup/apt/lists \
	--aptopt='Acquire::Retries "1"' \
	--aptopt='Acquire::http::Timeout "20"' "$VERSION_CODENAME" "$root" "$mirror" \
		>"$work/root.log" 2>&1 || {
	tail -n 5 "$work/root.log" >&2
	echo "check-deb.sh: no root of $VERSION_CODENAME can be made from $mirror" >&2
	exit 77
}

step "packages"
tools/make-deb.sh "$build/deb"
step "lintian"
LINTIAN_OPTS='' lintian --allow-root --fail-on error,warning "$build"/deb/*.changes

step "install"
list_files >"$work/before"
mkdir "$root/packages"
cp "$build"/deb/{heshare,heshare-lab,libheshare-dev}_*.deb "$root/packages"
in_root sh -c 'apt-get install -q -y --no-install-recommends /packages/*.deb' \
	>"$work/install.log" 2>&1 ||
	{ tail -n 20 "$work/install.log" >&2; exit 1; }

step "the program, its pages and completion"
in_root heshare help | grep -q '^  plan '
in_root heshare plan /usr/share/heshare/traces/demo.csv --fleet \
	/usr/share/heshare/fleets/heshare.yaml --policy heshare -o /tmp/plan.json |
	grep -q '60 jobs on 8 GPUs'
in_root sh -c 'zcat /usr/share/man/man1/heshare-plan.1.gz' | grep -q '^\.SH OPTIONS'
in_root sh -c 'for name in $(heshare help | sed -n "s/^  \([a-z]*\)  .*/\1/p" | grep -vxE "help|completion|man"); do
	test -s /usr/share/man/man1/heshare-$name.1.gz || { echo "no page of $name"; exit 1; }; done'
# shellcheck disable=SC2016
[ "$(in_root bash --norc -c '. /usr/share/bash-completion/completions/heshare.bash; compopt() { :; }
	COMP_WORDS=(heshare gpus --fl) COMP_CWORD=2; _heshare; echo "${COMPREPLY[@]}"')" = --fleet ]
in_root test -s /usr/share/doc/heshare/docs/README.md

step "the lab: inside, and not outside of it"
in_root heshare-lab -- heshare gpus | grep -q 'A100'
if in_root sh -c 'ldconfig -p | grep -E "nvidia|libcuda"'
then echo "check-deb.sh: the lab's libraries are found outside of it" >&2; exit 1; fi
if in_root heshare gpus >/dev/null 2>&1; then echo \
	"check-deb.sh: heshare gpus finds a GPU outside of the lab" >&2; exit 1; fi
# How near planned and measured are is for make lab-demo.
in_root sh -c '{ head -n 1 /usr/share/heshare/traces/demo.csv; tail -n 6 /usr/share/heshare/traces/demo.csv; } >/tmp/jobs.csv
	heshare-lab-demo --jobs /tmp/jobs.csv --speed 500 --samples 20 --planned-within 10000 --simulated-within 10000' | tee "$work/demo.log"
grep -q 'jobs done exactly once: 6 of 6' "$work/demo.log"

if command -v systemd-analyze >/dev/null; then
	step "units"
	mkdir -p "$work/units"
	# This machine has no program at that place.
	for unit in "$root"/lib/systemd/system/heshare-*.service; do
		sed "s|/usr/bin/heshare|/bin/true|" "$unit" >"$work/units/$(basename "$unit")"
	done
	cp "$work/units/heshare-run@.service" "$work/units/heshare-run@night.service"
	SYSTEMD_UNIT_PATH=$work/units: systemd-analyze verify --man=no \
		"$work"/units/heshare-fair.service "$work"/units/heshare-run@night.service 2>&1 |
		grep heshare && { echo "check-deb.sh: a unit is wrong" >&2; exit 1; }
fi

step "purge"
in_root sh -c 'apt-get purge -q -y heshare heshare-lab libheshare-dev && apt-get autoremove -q -y --purge' >"$work/purge.log" 2>&1 ||
	{ tail -n 20 "$work/purge.log" >&2; exit 1; }
rm -rf "$root/packages"
list_files >"$work/after"
diff "$work/before" "$work/after" || { echo "check-deb.sh: these files differ after the purge" \
	>&2; exit 1; }

step "make install, make uninstall"
mkdir "$work/dest"
[ ! -f "$log" ] || mv "$log" "$work/install-log"
prefix=$(meson introspect "$build" --buildoptions | jq -r '.[] | select(.name == "prefix").value')
for _ in once again; do
	make --no-print-directory BUILD="$build" PREFIX=/opt/heshare DESTDIR="$work/dest" \
		install >"$work/make.log" 2>&1 ||
		{ tail "$work/make.log" >&2; exit 1; }
done
"$work/dest/opt/heshare/bin/heshare" help >/dev/null
"$work/dest/opt/heshare/bin/heshare-lab" --help >/dev/null || [ $? -eq 1 ]
grep -q /opt/heshare/bin/heshare "$work/dest/opt/heshare/lib/systemd/system/heshare-fair.service"
make --no-print-directory BUILD="$build" uninstall >"$work/make.log" 2>&1
if find "$work/dest" -mindepth 1 | grep .; then echo "check-deb.sh: make uninstall left these" \
	>&2; exit 1; fi
step "done: lintian is clean, $(wc -l <"$work/before") files before and after"
