#!/bin/sh
# deps.sh - install the Debian packages that the named groups need.
#
# Does nothing, neither network nor apt, when all are there. On a system
# without dpkg it says what to install and leaves the verdict to Meson.
set -eu

packages() {
	case $1 in
	build) echo gcc libc6-dev make meson ninja-build pkg-config python3 libjansson-dev \
		libcyaml-dev \
		libyaml-dev zlib1g-dev libsqlite3-dev libcmocka-dev bats ;;
	demo) echo gnuplot-nox ;;
	check) echo clang libclang-rt-14-dev libomp-dev libcmocka-dev libcminpack-dev libglpk-dev bats jq \
		groff-base systemd tmux sqlite3 zsh ;;
	torch) echo python3-torch ;;
	roots) echo debootstrap ;;
	deb) echo debhelper dpkg-dev jq lintian mmdebstrap ;;
	lint) echo clang clang-format clang-tidy libomp-dev cppcheck shellcheck libcmocka-dev \
		libglpk-dev ;;
	slurm) echo slurmctld slurmd slurm-client slurm-wlm-basic-plugins bats jq sqlite3 ;;
	papers) echo gnuplot-nox python3-numpy python3-sklearn libsvm-dev libfann-dev libglpk-dev \
		bats jq ;;
	pagmo) echo g++ libpagmo-dev ;;
	*) echo "deps.sh: no group \"$1\"; there are build, demo, check, torch, roots, deb, lint, slurm, papers, pagmo" >&2; exit 2 ;;
	esac
}

wanted=$(for group in "$@"; do packages "$group"; done | tr ' ' '\n' | sort -u)
if ! command -v dpkg-query >/dev/null; then
	echo "deps.sh: not a Debian system; needed, by their Debian names:" $wanted >&2
	exit 0
fi

installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' $wanted 2>/dev/null |
	sed -n 's/^installed //p')
missing=
for package in $wanted; do
	printf '%s\n' "$installed" | grep -qxF "$package" || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

as_root=
if [ "$(id -u)" -ne 0 ]; then
	command -v sudo >/dev/null || { echo "deps.sh: as root, run: apt-get install$missing" \
		>&2; exit 1; }
	as_root="sudo DEBIAN_FRONTEND=noninteractive"
fi
export DEBIAN_FRONTEND=noninteractive
echo "installing:$missing"
$as_root apt-get update -q
$as_root apt-get install -q -y --no-install-recommends $missing
