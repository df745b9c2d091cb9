#compdef heshare
# zsh completion of heshare, which offers the words itself; ":files": names of files.
_heshare() {
	local -a offered=("${(@f)$(command heshare --complete "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
	if [[ $offered[1] == :files ]]; then
		compset -P '--*='
		_files
	elif [[ -n $offered[1] ]]; then
		offered=("${(@)offered//:/\\:}")
		offered=("${(@)offered/$'\t'/:}")
		_describe heshare offered
	fi
}
if [[ $funcstack[1] == _heshare ]]; then
	_heshare "$@"
else
	compdef _heshare heshare
fi
