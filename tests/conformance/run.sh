#!/usr/bin/env bash
# What is too slow for every change: foreign test suites in a plain directory, on each data path, with our own cache, and in
# a mount of bindfs where that is installed, as a table.
#
#   tests/conformance/run.sh AUGURFS [FSX_OPERATIONS [KILLS]]
#   WAYS="plain cache=own" tests/conformance/run.sh AUGURFS          only these, after the plain directory
#   ONLY=cases tests/conformance/run.sh AUGURFS                      pjdfstest alone: a few minutes, and which cases differ
#
# As root, with pjdfstest and fsx (cargo install), dbench, fio, stress-ng, sqlite3 and git. Exit status 0: nothing differs from the
# plain directory, and nothing was lost.
set -uo pipefail

augurfs=$(realpath "${1:?where is the program?}")
operations=${2:-100000}
kills=${3:-100}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
# In the tests, users other than root go here too.
chmod 755 "$work"
trap 'umount -l "$work/point" 2>/dev/null; rm -rf "$work" "$elsewhere"' EXIT
elsewhere=$(mktemp -d /dev/shm/conformance-XXXXXX)
chmod 777 "$elsewhere"
mkdir "$work/source" "$work/point"
failures=0

mounted() { # WAY: a data path, an option, or bindfs
    case $1 in
    bindfs) bindfs -o suid,dev "$work/source" "$work/point" ;;
    *=*) "$augurfs" "$work/source" "$work/point" -o model=none,suid,dev,"$1" ;;
    *) "$augurfs" "$work/source" "$work/point" -o model=none,suid,dev,path="$1" ;;
    esac
}

# Runs a test in the directory $1; its output goes to $work/said.
verdict() { # DIRECTORY COMMAND...
    local directory=$1
    shift
    if (cd "$directory" && timeout -k 5 "${limit:-300}" "$@") >"$work/said" 2>&1; then echo passed; else echo failed; fi
}

pjdfstest_cases() { # DIRECTORY LIST
    timeout 600 pjdfstest -c "$here/pjdfstest.toml" -p "$1" -s "$elsewhere" 2>&1 |
        grep -E ' (ok|FAILED|skipped|failed)$' | sed 's/  */ /g' | LC_ALL=C sort -u >"$2"
}

sqlite() { # journal mode, in the directory we are in
    rm -f base*
    sqlite3 base "pragma journal_mode=$1; create table t(a, b);" || return 1
    local writer
    for writer in 1 2 3; do
        for row in $(seq 40); do
            echo "pragma busy_timeout=20000; begin immediate; insert into t values($writer, $row); commit;"
        done | sqlite3 base >/dev/null &
    done
    wait
    [ "$(sqlite3 base 'pragma integrity_check; select count(*) from t;')" = "ok
120" ]
}

git_round() {
    rm -rf one two
    git init -q one && cd one || return 1
    for n in $(seq 200); do echo "$n" >"file-$n"; done
    git add . && git -c user.name=x -c user.email=x@x commit -qm one && cd .. &&
        git clone -q --no-local one two && git -C two fsck --strict && git -C two gc -q --prune=now &&
        git -C two fsck --strict && [ -z "$(git -C two status --porcelain)" ]
}

fio_verify() {
    local engine
    for engine in sync psync mmap libaio; do
        fio --name=v --filename=fio.data --size=16m --rw=randwrite --bs=4k-64k --bsrange=4k-64k --ioengine="$engine" \
            --verify=crc32c --do_verify=1 --verify_fatal=1 --output=/dev/null || return 1
    done
}

stressors() {
    stress-ng --temp-path . --timeout 5 --quiet --verify --dentry 1 --dir 1 --fallocate 1 --filename 1 --flock 1 --lockf 1 \
        --lockofd 1 --link 1 --rename 1 --seek 1 --symlink 1 --utime 1 --xattr 1 --chmod 1 --fcntl 1 --fiemap 0
}

dbench_rate() { # DIRECTORY
    timeout 60 dbench -t 10 -D "$1" 4 2>/dev/null | sed -n 's/^Throughput \([0-9.]*\).*/\1/p'
}
export -f sqlite git_round fio_verify stressors

# The daemon is killed while files are written; afterwards the path is free at once and what was synced is whole.
survivals() { # WAY
    local survived=0 n
    for n in $(seq "$kills"); do
        mounted "$1" || continue
        local daemon
        daemon=$("$augurfs" stats "$work/point" --json | sed -n 's/.*"pid": *\([0-9]*\).*/\1/p' | head -1)
        (
            cd "$work/point" && echo "synced $n" >kept && sync kept
            while echo more >>grows && cat grows >/dev/null; do :; done
        ) 2>/dev/null &
        local load=$!
        sleep "0.0$((n % 9 + 1))"
        kill -9 "$daemon"
        local tries=0
        while mountpoint -q "$work/point" || ! ls "$work/point" >/dev/null 2>&1; do
            sleep 0.02
            tries=$((tries + 1))
            [ $tries -gt 50 ] && break
        done
        wait $load 2>/dev/null
        if [ $tries -le 50 ] && ! grep -aqv '^more$' "$work/source/grows" 2>/dev/null; then survived=$((survived + 1)); fi
        umount -l "$work/point" 2>/dev/null
        rm -f "$work/source/grows"
    done
    echo "$survived of $kills"
}

report() { # NAME DIRECTORY
    local same differing rate
    pjdfstest_cases "$2" "$work/cases-$1"
    same=$(LC_ALL=C comm -12 "$work/cases-native" "$work/cases-$1" | wc -l)
    differing=$(($(wc -l <"$work/cases-native") - same))
    [ "$1" = native ] || diff "$work/cases-native" "$work/cases-$1" | sed -n "s/^> /$1: /p" >&2
    if [ "${ONLY:-}" = cases ]; then
        echo "| $1 | $same / $differing | | | | | | | |"
        return
    fi
    local fsx sqlite_wal sqlite_rollback git fio stress
    fsx=$(limit=3600 verdict "$2" fsx -q -f "$here/fsx.toml" -N "$operations" -S 7 fsx.data)
    sqlite_wal=$(verdict "$2" bash -c 'sqlite wal')
    sqlite_rollback=$(verdict "$2" bash -c 'sqlite delete')
    git=$(verdict "$2" bash -c git_round)
    fio=$(verdict "$2" bash -c fio_verify)
    stress=$(verdict "$2" bash -c stressors)
    rate=$(dbench_rate "$2")
    echo "| $1 | $same / $differing | $operations $fsx | $sqlite_wal, $sqlite_rollback | $git | $fio | $stress | $rate | $3 |"
    [ "$1" = bindfs ] && return
    case "$fsx$sqlite_wal$sqlite_rollback$git$fio$stress" in *failed*) failures=$((failures + 1)) ;; esac
}

echo "| where | pjdfstest same / different | fsx | SQLite WAL, rollback | git | fio verify | stress-ng | dbench 4, MB/s | kill -9 survived |"
echo "|---|---|---|---|---|---|---|---|---|"
mkdir "$work/native"
chmod 777 "$work/native" "$work/source"
report native "$work/native" "-"
ways=${WAYS:-resident passthrough plain cache=own $(command -v bindfs >/dev/null && echo bindfs)}
for way in $ways; do
    survived=-
    if [ "$way" != bindfs ] && [ "${ONLY:-}" != cases ]; then
        survived=$(survivals "$way")
        [ "$survived" = "$kills of $kills" ] || failures=$((failures + 1))
    fi
    mounted "$way" || exit 1
    report "$way" "$work/point" "$survived"
    umount "$work/point"
    rm -rf "${work:?}/source"/*
done
exit $((failures > 0))
