# fish completion of heshare, which offers the words itself; ":files": names of files.
function __heshare_offers
	set -l before (commandline -opc)
	set -l word (commandline -ct)
	set -l offered (command heshare --complete $before[2..-1] "$word" 2>/dev/null)
	if test "$offered[1]" = :files
		__fish_complete_path (string replace -r '^--[^=]*=' '' -- "$word")
	else
		string join \n -- $offered
	end
end
complete -c heshare -f -a '(__heshare_offers)'
