# shellcheck shell=bash
# bash completion of heshare, which offers the words itself; ":files": names of files.
# bash parts words at = and at colons: they are put together again, and what comes before the last
# one is left out of the reply.
_heshare() {
	local word last='' n=-1 words=() value
	for word in "${COMP_WORDS[@]:1:COMP_CWORD}"; do
		[[ $n -ge 0 && ($word == [:=]* || $last == [:=]*) ]] || n=$((n + 1))
		words[n]+=$word
		last=$word
	done
	mapfile -t COMPREPLY < <(command heshare --complete "${words[@]}" 2>/dev/null | cut -f 1)
	if [ "${COMPREPLY[0]}" = :files ]; then
		compopt -o filenames
		value=${words[n]}
		[[ $value == --*=* ]] && value=${value#*=}
		mapfile -t COMPREPLY < <(compgen -f -- "$value")
		words[n]=$value
	fi
	[[ ${words[n]} != *[:=]* ]] || COMPREPLY=("${COMPREPLY[@]#"${words[n]%"${words[n]##*[:=]}"}"}")
}
complete -F _heshare heshare
