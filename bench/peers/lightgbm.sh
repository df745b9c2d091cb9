#!/usr/bin/env bash
# lightgbm.sh [DIR] - build LightGBM, which Debian has no package of, from the sources in the npm package
# of that name, into DIR (build/peers/lightgbm): what PYTHONPATH has to name for "import lightgbm".
#
# Some four minutes of two cores; does nothing where it is built. Exit status 77: npm, cmake or a C++ compiler is missing.
set -euo pipefail
cd "$(dirname "$0")/../.."

package=lightgbm@1.0.27 # carries LightGBM 4.1.0.99
dir=$(realpath -m "${1:-build/peers/lightgbm}")
[ ! -f "$dir/lightgbm/lib/lib_lightgbm.so" ] || exit 0
for program in npm cmake g++; do
	command -v "$program" >/dev/null || { echo "lightgbm.sh: $program is not installed: no LightGBM" >&2; exit 77; }
done

work=$dir.work
rm -rf "$work" "$dir"
mkdir -p "$work" "$dir"
(cd "$work" && npm pack --silent "$package" >/dev/null && tar -xzf ./*.tgz)
sources=$work/package/dependencies/LightGBM
echo "building LightGBM $(cat "$sources/VERSION.txt")"
cmake -S "$sources" -B "$work/build" -DBUILD_CLI=OFF -DCMAKE_BUILD_TYPE=Release >"$work.log"
cmake --build "$work/build" --target _lightgbm --parallel "$(nproc)" >>"$work.log" 2>&1 || { tail "$work.log" >&2; exit 1; }
cp -r "$sources/python-package/lightgbm" "$dir/"
cp "$sources/VERSION.txt" "$dir/lightgbm/"
mkdir "$dir/lightgbm/lib"
cp "$(find "$sources" "$work/build" -name lib_lightgbm.so | head -1)" "$dir/lightgbm/lib/"
rm -rf "$work" "$work.log"
