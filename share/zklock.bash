# SPDX-License-Identifier: MIT
# Completion of zklock(1) for bash. It asks no server.

_zklock_options() {
    local all='-z --config --connect --help --version'
    case $1 in
    run)
        echo "$all -n --nonblock -w --wait --timeout -E --conflict-exit-code -x -e --exclusive -s --shared" \
            "--permits --also -o --close -c --command --verbose --session --grace --on-loss --revocable --every" \
            "--once --mark --splay --report --identifier"
        ;;
    who) echo "$all --deadlocks -f --follow --json -r --recursive" ;;
    held) echo '--help --version' ;;
    get) echo "$all -s --stat" ;;
    set) echo "$all --guard -v --if-version --stdin" ;;
    create) echo "$all --guard -p --parents -s --sequential --stdin" ;;
    delete) echo "$all --guard -v --if-version" ;;
    check) echo "$all -w --wait" ;;
    doctor | revoke | ls) echo "$all" ;;
    esac
}

# Does the option take a value, which is the next word?
_zklock_takes_value() {
    case $2 in
    -z | --config | --connect | --grace | --guard | --if-version) return 0 ;;
    -v) [[ $1 == set || $1 == delete ]] ;;
    -w | --wait | --timeout | -E | --conflict-exit-code | --permits | --also | --session | --on-loss | --every) ;;
    --mark | --splay | --report | --identifier) ;;
    *) return 1 ;;
    esac
}

# Where PATH stands on a command line of `run`, behind which the command begins; 0: not yet.
_zklock_path_at() {
    local i
    for ((i = 2; i < COMP_CWORD; i++)); do
        if _zklock_takes_value run "${COMP_WORDS[i]}"; then
            ((i++))
        elif [[ ${COMP_WORDS[i]} != -* ]]; then
            echo "$i"
            return
        fi
    done
    echo 0
}

_zklock_words() {
    mapfile -t COMPREPLY < <(compgen -W "$1" -- "$2")
}

_zklock_files() {
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$1")
}

# The command of `run`, and what is behind it.
_zklock_command() {
    local at=$(($1 + 1))
    [[ ${COMP_WORDS[at]} == -- ]] && ((at++))
    if ((COMP_CWORD > at)); then
        _zklock_files "$2"
    elif [[ $2 == */* ]]; then
        _zklock_files "$2"
    else
        mapfile -t COMPREPLY < <({ compgen -W '-c --' -- "$2"; compgen -c -- "$2"; } | sort -u)
    fi
}

_zklock() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]} at
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        _zklock_words 'run who check revoke held doctor get set create delete ls help -h --help -V --version' "$word"
        return
    fi
    if [[ $command == run ]]; then
        at=$(_zklock_path_at)
        if ((at > 0)); then
            _zklock_command "$at" "$word"
            return
        fi
    fi
    case $before in
    help) ((COMP_CWORD == 2)) && _zklock_words 'run who check revoke held doctor get set create delete ls' "$word" ;;
    --config | --report) _zklock_files "$word" ;;
    --on-loss) _zklock_words 'kill term ignore' "$word" ;;
    --mark) _zklock_words 'before after' "$word" ;;
    *)
        if ! _zklock_takes_value "$command" "$before" && [[ $word == -* ]]; then
            _zklock_words "$(_zklock_options "$command")" "$word"
        fi
        ;;
    esac
}

complete -F _zklock zklock
