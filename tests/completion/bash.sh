# bash.sh SCRIPT WORD...: what the completion that SCRIPT defines offers for the last of the words, as bash lists it: lines
# "name<tab>words". A first line FILES stands for the files that readline adds.
source "$1"
shift
compopt() { case "$*" in *default*) echo FILES ;; esac; } # works in a running completion alone
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
COMP_TYPE=63
COLUMNS=1000
_memtui
for reply in "${COMPREPLY[@]}"; do
	case $reply in
	*'  '*) printf '%s\t%s\n' "${reply%% *}" "$(sed 's/^[^ ]* *//' <<<"$reply")" ;;
	*) printf '%s\n' "$reply" ;;
	esac
done
