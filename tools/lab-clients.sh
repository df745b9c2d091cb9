#!/usr/bin/env bash
# lab-clients.sh DIR - nvtop and python3-pynvml of Debian's contrib, unpacked below DIR.
#
# They want NVIDIA's driver to be installed; the lab stands in for it, so their
# packages are taken apart and not installed. Does nothing when they are there. Fails where
# there is no apt, or no network; apt's own lists are left alone.
set -euo pipefail

dir=$(mkdir -p "$1" && cd "$1" && pwd)
if [ -x "$dir/usr/bin/nvtop" ] && [ -f "$dir/usr/lib/python3/dist-packages/pynvml.py" ]
then exit 0; fi
command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{lists/partial,cache/archives/partial}
chmod 755 "$work"
. /etc/os-release
cat >"$work/contrib.sources" <<EOF
Types: deb
URIs: http://deb.debian.org/debian
Suites: ${VERSION_CODENAME:-bookworm}
Components: contrib
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
EOF
options=(-o "Dir::Etc::sourcelist=$work/contrib.sources" -o Dir::Etc::sourceparts=- -o \
	"Dir::State::lists=$work/lists"
	-o "Dir::Cache=$work/cache" -o Acquire::Retries=1 -o Acquire::http::Timeout=20 -o \
		APT::Sandbox::User=root)
cd "$work"
apt-get "${options[@]}" update -q
apt-get "${options[@]}" download -q nvtop python3-pynvml
for package in ./*.deb; do dpkg-deb -x "$package" "$dir"; done
