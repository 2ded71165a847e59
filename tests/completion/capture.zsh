# capture.zsh DIRECTORY LINE: what zsh offers where the line ends, as lines "name<tab>words". DIRECTORY has _memtui. A shell
# in a pseudo-terminal gets the line and a tab; its compadd writes down what it is given and matches.
zmodload zsh/zpty
typeset -x OUT=$(mktemp) WHERE=$1
zpty z zsh -f -i
zpty -w z "source $1/inside.zsh"
while zpty -r z line && [[ $line != *ready* ]]; do :; done
zpty -w -n z "$2"$'\t'
while zpty -r z line; do :; done
cat $OUT
rm -f $OUT
