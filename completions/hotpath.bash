# shellcheck shell=bash disable=SC2207 # words without blanks
# hotpath(1). Written by tools/gen from the tables of commands and options; change those.
_hotpath()
{
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]} at
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        COMPREPLY=($(compgen -W 'demo run record console stacks report open serve agent mcp annotate diff bench check export ls clean on off doctor help --help --version' -- "$word") $(compgen -f -X '!*/*' -- "$word"))
        return
    fi
    # What follows the program of run is the program's.
    if [[ $command == run ]]; then
        for ((at = 2; at < COMP_CWORD; at++)); do
            [[ ${COMP_WORDS[at]} == -- ]] && { ((at++)); break; }
            [[ ${COMP_WORDS[at]} == -* ]] || [[ ${COMP_WORDS[at - 1]} == -* && ${COMP_WORDS[at - 1]} != -- ]] || break
        done
        if ((at < COMP_CWORD)); then
            declare -F _command_offset > /dev/null && _command_offset "$at"
            return
        fi
    fi
    case $command:$before in
        demo:--seconds) return ;;
        demo:--dir) COMPREPLY=($(compgen -f -- "$word")); return ;;
        run:--alloc-library) COMPREPLY=($(compgen -f -- "$word")); return ;;
        run:--only) return ;;
        run:--cpu-rate) return ;;
        run:--cpu-engine) COMPREPLY=($(compgen -W 'auto timers' -- "$word")); return ;;
        run:--alloc-stacks) return ;;
        run:--filter) return ;;
        run:--skip) return ;;
        run:--log) return ;;
        run:--sampling) return ;;
        run:--measuring-bound) return ;;
        run:--keys-limit) return ;;
        run:--section | run:-s) return ;;
        run:--focus) return ;;
        run:--slowest) return ;;
        run:--columns | run:-c) return ;;
        run:--sort) return ;;
        run:--by) COMPREPLY=($(compgen -W 'function thread' -- "$word")); return ;;
        run:--percentiles | run:-p) return ;;
        run:--limit | run:-n) return ;;
        run:--functions-limit) return ;;
        run:--calltree-limit) return ;;
        run:--logs-limit) return ;;
        run:--min-percent) return ;;
        run:--alloc-metric) COMPREPLY=($(compgen -W 'bytes-total bytes-max count-total count-max' -- "$word")); return ;;
        run:--format | run:-f) COMPREPLY=($(compgen -W 'table json json-pretty csv markdown html none' -- "$word")); return ;;
        run:--output | run:-o) COMPREPLY=($(compgen -f -- "$word")); return ;;
        run:--label) return ;;
        run:--metadata) return ;;
        run:--timeout) return ;;
        run:--dir) COMPREPLY=($(compgen -f -- "$word")); return ;;
        run:--max-bytes) return ;;
        run:--clock) COMPREPLY=($(compgen -W 'time instructions instructions:qemu instructions:pmu' -- "$word")); return ;;
        run:--keep) return ;;
        record:--pid | record:-p) return ;;
        record:--for) return ;;
        record:--section | record:-s) return ;;
        record:--focus) return ;;
        record:--slowest) return ;;
        record:--columns | record:-c) return ;;
        record:--sort) return ;;
        record:--by) COMPREPLY=($(compgen -W 'function thread' -- "$word")); return ;;
        record:--percentiles) return ;;
        record:--limit | record:-n) return ;;
        record:--functions-limit) return ;;
        record:--calltree-limit) return ;;
        record:--logs-limit) return ;;
        record:--min-percent) return ;;
        record:--alloc-metric) COMPREPLY=($(compgen -W 'bytes-total bytes-max count-total count-max' -- "$word")); return ;;
        record:--format | record:-f) COMPREPLY=($(compgen -W 'table json json-pretty csv markdown html none' -- "$word")); return ;;
        record:--output | record:-o) COMPREPLY=($(compgen -f -- "$word")); return ;;
        record:--label) return ;;
        record:--metadata) return ;;
        record:--dir) COMPREPLY=($(compgen -f -- "$word")); return ;;
        console:--script) return ;;
        console:--size) return ;;
        console:--every) return ;;
        console:--tab) return ;;
        console:--from) return ;;
        console:--to) return ;;
        console:--dir) COMPREPLY=($(compgen -f -- "$word")); return ;;
        stacks:--format | stacks:-f) COMPREPLY=($(compgen -W 'text json' -- "$word")); return ;;
        stacks:--dir) COMPREPLY=($(compgen -f -- "$word")); return ;;
        report:--from) return ;;
        report:--to) return ;;
        report:--against) return ;;
        report:--section | report:-s) return ;;
        report:--focus) return ;;
        report:--slowest) return ;;
        report:--columns | report:-c) return ;;
        report:--sort) return ;;
        report:--by) COMPREPLY=($(compgen -W 'function thread' -- "$word")); return ;;
        report:--percentiles | report:-p) return ;;
        report:--limit | report:-n) return ;;
        report:--functions-limit) return ;;
        report:--calltree-limit) return ;;
        report:--logs-limit) return ;;
        report:--min-percent) return ;;
        report:--alloc-metric) COMPREPLY=($(compgen -W 'bytes-total bytes-max count-total count-max' -- "$word")); return ;;
        report:--format | report:-f) COMPREPLY=($(compgen -W 'table json json-pretty csv markdown html none' -- "$word")); return ;;
        report:--output | report:-o) COMPREPLY=($(compgen -f -- "$word")); return ;;
        report:--label) return ;;
        report:--metadata) return ;;
        report:--dir) COMPREPLY=($(compgen -f -- "$word")); return ;;
        open:--view) COMPREPLY=($(compgen -W 'report flame' -- "$word")); return ;;
        open:--output | open:-o) COMPREPLY=($(compgen -f -- "$word")); return ;;
        open:--against) return ;;
        open:--dir) COMPREPLY=($(compgen -f -- "$word")); return ;;
        serve:--address) return ;;
        serve:--port) return ;;
        serve:--every) return ;;
        serve:--token-file) return ;;
        serve:--push) return ;;
        serve:--push-header) return ;;
        serve:--push-every) return ;;
        serve:--section | serve:-s) return ;;
        serve:--focus) return ;;
        serve:--slowest) return ;;
        serve:--columns | serve:-c) return ;;
        serve:--sort) return ;;
        serve:--by) COMPREPLY=($(compgen -W 'function thread' -- "$word")); return ;;
        serve:--percentiles | serve:-p) return ;;
        serve:--limit | serve:-n) return ;;
        serve:--functions-limit) return ;;
        serve:--calltree-limit) return ;;
        serve:--logs-limit) return ;;
        serve:--min-percent) return ;;
        serve:--alloc-metric) COMPREPLY=($(compgen -W 'bytes-total bytes-max count-total count-max' -- "$word")); return ;;
        serve:--label) return ;;
        serve:--metadata) return ;;
        serve:--dir) COMPREPLY=($(compgen -f -- "$word")); return ;;
        agent:--address) return ;;
        agent:--port) return ;;
        agent:--token-file) return ;;
        agent:--users) return ;;
        agent:--push) return ;;
        agent:--push-header) return ;;
        agent:--push-every) return ;;
        agent:--state) return ;;
        agent:--dir) COMPREPLY=($(compgen -f -- "$word")); return ;;
        mcp:--allow-run) return ;;
        mcp:--dir) COMPREPLY=($(compgen -f -- "$word")); return ;;
        annotate:--dir) COMPREPLY=($(compgen -f -- "$word")); return ;;
        diff:--against) return ;;
        diff:--format | diff:-f) COMPREPLY=($(compgen -W 'text json markdown html' -- "$word")); return ;;
        diff:--from) return ;;
        diff:--to) return ;;
        diff:--output | diff:-o) COMPREPLY=($(compgen -f -- "$word")); return ;;
        diff:--dir) COMPREPLY=($(compgen -f -- "$word")); return ;;
        bench:--pairs | bench:-n) COMPREPLY=($(compgen -W 'PAIRS auto' -- "$word")); return ;;
        bench:--against) return ;;
        bench:--save) return ;;
        bench:--format | bench:-f) COMPREPLY=($(compgen -W 'text json markdown' -- "$word")); return ;;
        bench:--output | bench:-o) COMPREPLY=($(compgen -f -- "$word")); return ;;
        bench:--only) return ;;
        bench:--cpu-rate) return ;;
        bench:--cpu-engine) COMPREPLY=($(compgen -W 'auto timers' -- "$word")); return ;;
        bench:--alloc-stacks) return ;;
        bench:--filter) return ;;
        bench:--skip) return ;;
        bench:--log) return ;;
        bench:--sampling) return ;;
        bench:--measuring-bound) return ;;
        bench:--keys-limit) return ;;
        bench:--logs-limit) return ;;
        bench:--timeout) return ;;
        bench:--dir) COMPREPLY=($(compgen -f -- "$word")); return ;;
        bench:--max-bytes) return ;;
        bench:--clock) COMPREPLY=($(compgen -W 'time instructions instructions:qemu instructions:pmu' -- "$word")); return ;;
        bench:--keep) return ;;
        check:--policy) return ;;
        check:--baseline) return ;;
        check:--gate) return ;;
        check:--format | check:-f) COMPREPLY=($(compgen -W 'text github gitlab json' -- "$word")); return ;;
        check:--output | check:-o) COMPREPLY=($(compgen -f -- "$word")); return ;;
        check:--dir) COMPREPLY=($(compgen -f -- "$word")); return ;;
        export:--format | export:-f) return ;;
        export:--of) return ;;
        export:--from) return ;;
        export:--to) return ;;
        export:--output | export:-o) COMPREPLY=($(compgen -f -- "$word")); return ;;
        export:--dir) COMPREPLY=($(compgen -f -- "$word")); return ;;
        ls:--dir) COMPREPLY=($(compgen -f -- "$word")); return ;;
        clean:--keep) return ;;
        clean:--dir) COMPREPLY=($(compgen -f -- "$word")); return ;;
        on:--dir) COMPREPLY=($(compgen -f -- "$word")); return ;;
        off:--dir) COMPREPLY=($(compgen -f -- "$word")); return ;;
        doctor:--dir) COMPREPLY=($(compgen -f -- "$word")); return ;;
    esac
    if [[ $word == -* ]]; then
        case $command in
        demo) COMPREPLY=($(compgen -W '--once --seconds --dir --help -h' -- "$word")) ;;
        run) COMPREPLY=($(compgen -W '--console --end-with-console --verbose -v --tree -t --cold --safe --no-preload --no-children --no-cpu --stacks --zone-stacks --no-stacks --no-alloc-stacks --no-waits --no-channels --alloc-library --only --cpu --cpu-rate --cpu-engine --alloc-stacks --filter --skip --log --sampling --measuring-bound --keys-limit --section -s --focus --slowest --columns -c --sort --by --percentiles -p --limit -n --functions-limit --calltree-limit --logs-limit --min-percent --exclusive --alloc-cumulative --alloc-metric --cpu-inclusive --debuginfod --exclude-wrapper --format -f --output -o --label --metadata --timeout --dir --max-bytes --reserve --path --clock --locks --lock-holds --io --keep --no-color --help -h' -- "$word")) ;;
        record) COMPREPLY=($(compgen -W '--pid -p --for --no-children --verbose -v --tree -t --section -s --focus --slowest --columns -c --sort --by --percentiles --limit -n --functions-limit --calltree-limit --logs-limit --min-percent --exclusive --alloc-cumulative --alloc-metric --cpu-inclusive --debuginfod --exclude-wrapper --format -f --output -o --label --metadata --dir --no-color --help -h' -- "$word")) ;;
        console) COMPREPLY=($(compgen -W '--once --script --size --every --tab --totals --from --to --ascii --dir --help -h' -- "$word")) ;;
        stacks) COMPREPLY=($(compgen -W '--recursive -r --format -f --debuginfod --dir --help -h' -- "$word")) ;;
        report) COMPREPLY=($(compgen -W '--verbose -v --tree -t --cold --from --to --source --against --section -s --focus --slowest --columns -c --sort --by --percentiles -p --limit -n --functions-limit --calltree-limit --logs-limit --min-percent --exclusive --alloc-cumulative --alloc-metric --cpu-inclusive --exclude-wrapper --format -f --output -o --label --metadata --dir --no-color --help -h' -- "$word")) ;;
        open) COMPREPLY=($(compgen -W '--view --output -o --source --against --by-zone --no-open --dir --help -h' -- "$word")) ;;
        serve) COMPREPLY=($(compgen -W '--address --port --every --token-file --open --push --push-header --push-every --section -s --focus --slowest --columns -c --sort --by --percentiles -p --limit -n --functions-limit --calltree-limit --logs-limit --min-percent --exclusive --alloc-cumulative --alloc-metric --cpu-inclusive --exclude-wrapper --label --metadata --dir --no-color --help -h' -- "$word")) ;;
        agent) COMPREPLY=($(compgen -W '--address --port --token-file --users --with-texts --push --push-header --push-every --state --print-config --dir --help -h' -- "$word")) ;;
        mcp) COMPREPLY=($(compgen -W '--allow-run --dir --help -h' -- "$word")) ;;
        annotate) COMPREPLY=($(compgen -W '--assembly -a --waiting -w --debuginfod --dir --help -h' -- "$word")) ;;
        diff) COMPREPLY=($(compgen -W '--against --format -f --from --to --output -o --dir --help -h' -- "$word")) ;;
        bench) COMPREPLY=($(compgen -W '--pairs -n --against --save --instructions --ignore-failure -i --format -f --output -o --only --cpu --cpu-rate --cpu-engine --alloc-stacks --filter --skip --log --sampling --measuring-bound --keys-limit --logs-limit --timeout --dir --max-bytes --reserve --path --clock --locks --lock-holds --io --keep --help -h' -- "$word")) ;;
        check) COMPREPLY=($(compgen -W '--policy --baseline --gate --exact-only --format -f --output -o --dir --help -h' -- "$word")) ;;
        export) COMPREPLY=($(compgen -W '--format -f --of --by-zone --by-process --merge-programs --libraries --from --to --output -o --dir --help -h' -- "$word")) ;;
        ls) COMPREPLY=($(compgen -W '--all -a --json --dir --help -h' -- "$word")) ;;
        clean) COMPREPLY=($(compgen -W '--keep --dry-run -n --elsewhere --dir --help -h' -- "$word")) ;;
        on) COMPREPLY=($(compgen -W '--dir --help -h' -- "$word")) ;;
        off) COMPREPLY=($(compgen -W '--dir --help -h' -- "$word")) ;;
        doctor) COMPREPLY=($(compgen -W '--dir --help -h' -- "$word")) ;;
        help) COMPREPLY=($(compgen -W '--help -h' -- "$word")) ;;
        esac
        return
    fi
    case $command in
        demo) : ;;
        run) COMPREPLY=($(compgen -c -f -- "$word")) ;;
        record) : ;;
        console) COMPREPLY=($(compgen -f -W "$(hotpath ls -a 2> /dev/null | awk 'NR > 1 { print $1 }')" -- "$word")) ;;
        stacks) COMPREPLY=($(compgen -W "$(hotpath ls -a 2> /dev/null | awk '$5 == "pid" && ($2 == "live" || $2 == "off") { print $6 }')" -- "$word")) ;;
        report) COMPREPLY=($(compgen -f -W "$(hotpath ls -a 2> /dev/null | awk 'NR > 1 { print $1 }')" -- "$word")) ;;
        open) COMPREPLY=($(compgen -f -W "$(hotpath ls -a 2> /dev/null | awk 'NR > 1 { print $1 }')" -- "$word")) ;;
        serve) COMPREPLY=($(compgen -f -W "$(hotpath ls -a 2> /dev/null | awk 'NR > 1 { print $1 }')" -- "$word")) ;;
        agent) : ;;
        mcp) : ;;
        annotate) COMPREPLY=($(compgen -f -W "$(hotpath ls -a 2> /dev/null | awk 'NR > 1 { print $1 }')" -- "$word")) ;;
        diff) COMPREPLY=($(compgen -f -W "$(hotpath ls -a 2> /dev/null | awk 'NR > 1 { print $1 }')" -- "$word")) ;;
        bench) COMPREPLY=($(compgen -c -f -- "$word")) ;;
        check) COMPREPLY=($(compgen -f -W "$(hotpath ls -a 2> /dev/null | awk 'NR > 1 { print $1 }')" -- "$word")) ;;
        export) COMPREPLY=($(compgen -f -W "$(hotpath ls -a 2> /dev/null | awk 'NR > 1 { print $1 }')" -- "$word")) ;;
        ls) : ;;
        clean) : ;;
        on) COMPREPLY=($(compgen -W "$(hotpath ls -a 2> /dev/null | awk '$5 == "pid" && ($2 == "live" || $2 == "off") { print $6 }')" -- "$word")) ;;
        off) COMPREPLY=($(compgen -W "$(hotpath ls -a 2> /dev/null | awk '$5 == "pid" && ($2 == "live" || $2 == "off") { print $6 }')" -- "$word")) ;;
        doctor) : ;;
        help) COMPREPLY=($(compgen -W 'demo run record console stacks report open serve agent mcp annotate diff bench check export ls clean on off doctor help environment agents' -- "$word")) ;;
    esac
}
complete -o filenames -F _hotpath hotpath
