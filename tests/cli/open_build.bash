# open_build FOLDER: the program and the lab where other users reach them. The build may be below a
# home that is closed to them.
open_build() {
	mkdir -m 755 "$1"
	find "$(dirname "$HES_LAB")" -maxdepth 1 ! -type d -exec cp {} "$1" \;
	cp "$HESHARE" "$1"
	chmod -R a+rX "$1"
	HES_LAB=$1/lab HESHARE=$1/heshare
	PATH=$1:$PATH
}
