# SPDX-License-Identifier: MIT
# Completion of zklock(1) for fish. It asks no server.

# Is the subcommand one of these?
function __zklock_is
    set -l words (commandline -opc)
    test (count $words) -ge 2; and contains -- $words[2] $argv
end

# Where PATH stands on a command line of `run`, behind which the command begins. Fails before PATH.
function __zklock_path_at
    set -l words (commandline -opc)
    test "$words[2]" = run; or return 1
    set -l at 3
    while test $at -le (count $words)
        switch $words[$at]
            case -z --config --connect -w --wait --timeout -E --conflict-exit-code --permits --also --session \
                --grace --on-loss --every --mark --splay --report --identifier
                set at (math $at + 2)
            case '-*'
                set at (math $at + 1)
            case '*'
                echo $at
                return 0
        end
    end
    return 1
end

function __zklock_runs
    __zklock_is run; and not __zklock_path_at >/dev/null
end

# The command of `run`, and what is behind it.
function __zklock_command
    set -l words (commandline -opc)
    set -l at (__zklock_path_at)
    set -l rest
    test $at -lt (count $words); and set rest $words[(math $at + 1)..-1]
    test "$rest[1]" = --; and set -e rest[1]
    complete -C (string join ' ' -- (string escape -- $rest) (commandline -ct))
end

complete -c zklock -f
set -l top -c zklock -n 'test (count (commandline -opc)) -eq 1'
complete $top -a run -d 'Run a command while holding a lock'
complete $top -a who -d 'Show who holds a lock, and who waits for it'
complete $top -a check -d 'Ask whether a holder has this fencing token'
complete $top -a revoke -d 'Ask the holders of a lock to give it back'
complete $top -a held -d 'Below run: for how long the lock is held'
complete $top -a doctor -d 'Look for what could keep locks from working'
complete $top -a get -d 'Write the data of a node to standard output'
complete $top -a set -d 'Write the data of a node'
complete $top -a create -d 'Make a node'
complete $top -a delete -d 'Delete a node that has no children'
complete $top -a ls -d 'List the names of the children of a node'
complete $top -a help -d 'Show the options of a subcommand'
complete $top -s h -l help -d 'Show the subcommands'
complete $top -s V -l version -d 'Show the version'
complete -c zklock -n 'test (count (commandline -opc)) -eq 2; and __zklock_is help' \
    -a 'run who check revoke held doctor get set create delete ls'

for condition in __zklock_runs '__zklock_is who check revoke doctor get set create delete ls'
    set -l all -c zklock -n $condition
    complete $all -s z -x -d 'The servers'
    complete $all -l config -r -F -d 'The configuration'
    complete $all -l connect -x -d 'How long to wait for a server'
end
for condition in __zklock_runs '__zklock_is who check revoke held doctor get set create delete ls'
    complete -c zklock -n $condition -l help -d 'Show the options'
    complete -c zklock -n $condition -l version -d 'Show the version'
end

set -l run -c zklock -n __zklock_runs
complete $run -s n -l nonblock -d 'Exit with 1 if the lock is held'
complete $run -s w -l wait -l timeout -x -d 'Exit with 1 if it is still held then'
complete $run -s E -l conflict-exit-code -x -d 'Exit with this code instead of 1'
complete $run -s x -s e -l exclusive -d 'The write side of a read-write lock'
complete $run -s s -l shared -d 'The read side of a read-write lock'
complete $run -l permits -x -d 'A semaphore'
complete $run -l also -x -d 'Hold this mutex, too'
complete $run -s o -l close -d 'Release when the command itself ends'
complete $run -s c -l command -d 'After the path: a line for $SHELL'
complete $run -l verbose -d 'A line for each change while it waits'
complete $run -l session -x -d 'Session timeout'
complete $run -l grace -x -d 'Send TERM when so much validity is left'
complete $run -l on-loss -x -a 'kill term ignore' -d 'What happens to the command'
complete $run -l revocable -d 'End the command when the lock is revoked'
complete $run -l every -x -d 'Run only if the last run is so long ago'
complete $run -l once -d 'Run only if there was no run yet'
complete $run -l mark -x -a 'before after' -d 'When a run counts'
complete $run -l splay -x -d 'Wait for a random time first'
complete $run -l report -r -F -d 'Write the outcome'
complete $run -l identifier -x -d 'What others see'
complete -c zklock -n '__zklock_path_at >/dev/null' -x -a '(__zklock_command)'

complete -c zklock -n '__zklock_is who' -s f -l follow -d 'Go on with each change'
complete -c zklock -n '__zklock_is who' -l deadlocks -d 'Owners that wait for each other'
complete -c zklock -n '__zklock_is who' -l json -d 'For programs'
complete -c zklock -n '__zklock_is who' -s r -l recursive -d 'All locks below'
complete -c zklock -n '__zklock_is check' -s w -l wait -x -d 'Exit with 69 without an answer'
complete -c zklock -n '__zklock_is get' -s s -l stat -d 'Metadata instead'
complete -c zklock -n '__zklock_is set create delete' -l guard -x -d 'Only while these lock nodes are there'
complete -c zklock -n '__zklock_is set delete' -s v -l if-version -x -d 'Only this version'
complete -c zklock -n '__zklock_is set create' -l stdin -d 'Read the value'
complete -c zklock -n '__zklock_is create' -s p -l parents -d 'Make what is missing above'
complete -c zklock -n '__zklock_is create' -s s -l sequential -d 'With a number'
