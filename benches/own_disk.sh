#!/bin/bash
# Jobs on the machine's own disk: each round once natively and once through a mount, caches emptied right before. Times in
# milliseconds, and in parentheses what the daemon used of the processors meanwhile, in hundredths of a second. Needs root.
#
#   benches/own_disk.sh PROGRAM TREE ROUNDS JOB...      JOB: tar, grep, glimpse, random; OPTIONS=... are mount options
#
# The first mounted run is the first run ever: nothing has been learned yet.
set -eu
program=$(realpath "$1") tree=$(realpath "$2") rounds=$3
shift 3
scratch=$(mktemp -d "$(dirname "$tree")/own-disk.XXXXXX")
point=$scratch/mount
mkdir "$point"

daemon=
finish() {
    [ -z "$daemon" ] || { "$program" unmount "$point" > /dev/null 2>&1 || umount -l "$point"; wait "$daemon" || true; }
    rm -rf --one-file-system "$scratch"
}
trap finish EXIT

job() { # NAME DIRECTORY ROUND
    case $1 in
        tar) tar cf - -C "$2" . | cat > /dev/null ;;
        grep) grep -r zebrafish "$2" > /dev/null || [ $? = 1 ] ;;
        glimpse) rm -rf "$scratch/index" && mkdir "$scratch/index" && glimpseindex -H "$scratch/index" "$2" > /dev/null 2>&1 ;;
        random) find "$2" -type f | sort | sed "s|^$2/||" | shuf --random-source=<(yes "$3") | (cd "$2" && tr '\n' '\0' | xargs -0 cat > /dev/null) ;;
    esac
}

cold() { # NAME DIRECTORY ROUND
    sync
    echo 3 > /proc/sys/vm/drop_caches
    local start
    start=$(date +%s%N)
    job "$@"
    echo $((($(date +%s%N) - start) / 1000000))
}

used() { awk '{ print $14 + $15 }' "/proc/$daemon/stat"; }

for name in "$@"; do
    "$program" "$tree" "$point" -f -o "model=none,ro,${OPTIONS:-prefetch=on}" 2> "$scratch/said" &
    daemon=$!
    until mountpoint -q "$point"; do sleep 0.1; done
    cold "$name" "$tree" 0 > /dev/null
    native=() mounted=()
    for round in $(seq "$rounds"); do
        native+=("$(cold "$name" "$tree" "$round")")
        before=$(used)
        time=$(cold "$name" "$point" "$round")
        sleep 0.3
        mounted+=("$time($(($(used) - before)))")
    done
    echo "$name: native ${native[*]}; mounted ${mounted[*]}"
    "$program" stats "$point" | grep -E '^(On|Saved|Cost)'
    "$program" unmount "$point" > /dev/null
    wait "$daemon" || true
    daemon=
done
