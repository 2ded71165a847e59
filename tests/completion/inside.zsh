# Read by the shell that capture.zsh starts: the completion system, with a compadd that tells.
stty columns 1000
PROMPT=
fpath=($WHERE $fpath)
autoload -U compinit
compinit -u -d $WHERE/dump
bindkey '^I' complete-word
zstyle ':completion:*' insert-tab false
zstyle ':completion:*' list-separator ''
compadd() {
	local -a __hits __words
	local __at=${argv[(i)-d]} __i
	if [[ " ${argv[1,(i)(-|--)]} " == *' -'[OAD]' '* ]]; then
		builtin compadd "$@"
		return
	fi
	if ((__at < $#)) && [[ $argv[__at+1] == \(* ]]; then
		eval "__words=$argv[__at+1]"
	elif ((__at < $#)); then
		__words=("${(@P)argv[__at+1]}")
	fi
	builtin compadd -A __hits -D __words "$@"
	for __i in {1..$#__hits}; do
		((__i <= $#__hits)) || break
		print -r -- "$IPREFIX$__hits[__i]"$'\t'"${${__words[__i]#$__hits[__i]}##[= ]#}" >>$OUT
	done
	builtin compadd "$@"
}
setopt extendedglob
comppostfuncs=(exit)
print ready
