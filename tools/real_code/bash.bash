# Work for bash in one process: no pipes, no substitutions of commands, no programs.
fib() {
    local n=$1; if ((n < 2)); then REPLY=$n; return; fi
    local a; fib $((n-1)); a=$REPLY; fib $((n-2)); REPLY=$((a+REPLY))
}
fib 12; echo $REPLY
declare -A count
text="the quick brown fox jumps over the lazy dog and the cat"
for w in $text; do count[$w]=$(( ${count[$w]:-0} + 1 )); done
for w in the fox cat; do echo $w ${count[$w]}; done
a=(); for ((i=0;i<200;i++)); do a+=( $((i*7919%211)) ); done; echo ${#a[@]} ${a[@]:3:4}
s=; for x in "${a[@]}"; do s+=${x/#1/one}; done; echo ${#s} ${s:0:10} ${s^^} > /dev/null
case $s in *one*) echo yes;; *) echo no;; esac
[[ abc123 =~ ([a-z]+)([0-9]+) ]] && echo ${BASH_REMATCH[1]} ${BASH_REMATCH[2]}
printf '%05d %s %q\n' 42 x "a b"
while read -r line; do echo "<$line>"; done <<< "one
two"
shopt -s extglob; p='+(a|b)'; [[ abab == $p ]] && echo glob
trap 'echo trapped' USR1; kill -USR1 $$; eval 'echo evaluated'
set -- a b c; while getopts xy: o -x -y 5; do echo $o $OPTARG; done
echo {1..5}{a,b} ~+ > /dev/null; cd /; echo $PWD; exit 3
