#!/bin/sh
# Measures this machine for ten minutes at most, while nothing else runs, and leaves one file of
# JSON: ./measure.sh [FILE]. A part that fails is null, and the reason is on stderr.
set -u
output=${1:-}
case $output in "" | /*) ;; *) output=$PWD/$output ;; esac
CDPATH='' cd -- "$(dirname -- "$0")" || exit 1
output=${output:-$PWD/measured.json}
for needed in setsid timeout; do
    if ! command -v "$needed" >/dev/null; then
        echo "measure.sh: there is no $needed here" >&2
        exit 1
    fi
done
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
# That the file cannot be written is said now, and not after ten minutes.
if [ -d "$output" ] || ! true >"$output.part"; then
    echo "measure.sh: cannot write $output" >&2
    exit 1
fi
trap 'rm -rf "$work" "$output.part"' EXIT
# stopped: asks what runs to end, waits until it has, and ends.
stopped() {
    trap '' INT TERM HUP
    if [ -n "$child" ]; then
        kill "$child" 2>/dev/null
        wait "$child"
        kill -s KILL -- "-$child" 2>/dev/null
    fi
    exit 130
}
child=""
trap stopped INT TERM HUP
# no_room: ends. A file without some of its parts would look like a whole one.
no_room() {
    echo "measure.sh: no room in ${TMPDIR:-/tmp}" >&2
    exit 1
}
export BEFIT_CALIBRATION="$work/host.machine"
began=$(date +%s)
# What befit counts, too: of a share of the CPUs, which nproc does not know, as many as it has.
threads=$(./peers threads) || threads=$(env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc)

# within SECONDS: so many, or what is left of ten minutes.
within() {
    left=$((began + 590 - $(date +%s)))
    if [ "$left" -lt "$1" ]; then echo "$left"; else echo "$1"; fi
}

# limited SECONDS COMMAND...: runs it for so long at most; nothing that it starts stays behind.
# It is asked to end once, in a session of its own: befit ends at once when asked a second time.
limited() {
    # shellcheck disable=SC2086
    setsid timeout $foreground -k 15 "$@" &
    child=$!
    wait "$child"
    code=$?
    kill -s KILL -- "-$child" 2>/dev/null
    child=""
    return "$code"
}

# GNU's timeout would signal the session, too; busybox's never does.
foreground=""
! timeout --foreground 1 true 2>/dev/null || foreground=--foreground

# part NAME SECONDS COMMAND...: runs it for so long, and keeps its JSON, or null.
part() {
    name=$1 limit=$(within "$2")
    shift 2
    if [ "$limit" -lt 1 ]; then
        missing "$name" "there was no time left: $*"
        return
    fi
    limited "$limit" "$@" >"$work/$name.json"
    code=$?
    # What follows the comma is the last line: of a whole document it ends that.
    case $code,$(tail -n 1 "$work/$name.json") in
    0,*) ;;
    # One runtime of several has failed: the results of the others count.
    1,'}' | 1,'{'*'}') echo "measure.sh: $name: some of it failed: $*" >&2 ;;
    *) missing "$name" "it failed (exit code $code): $*" ;;
    esac
}

# missing NAME WHY: the part is null.
missing() {
    echo "measure.sh: no $1: $2" >&2
    echo null >"$work/$1.json" || no_room
}

# verified SECONDS ARGUMENTS...: befit verify for so long; what it has done by then counts.
verified() {
    limit=$(within "$1")
    shift
    if [ "$limit" -lt 1 ]; then
        missing verified "there was no time left"
        return
    fi
    limited "$limit" env BEFIT_CACHE="$work/cache" \
        ./befit verify "$@" --repeats 3 --seeds 1 --no-suspect --format json \
        --output "$work/verified.json"
    code=$?
    # Recordings are large, and what follows needs room.
    rm -rf "$work/cache"
    case $code in
    0) ;;
    # Of timeout; of befit, or of a signal, where timeout returns what the command did.
    124 | 130 | 137 | 143) echo "measure.sh: befit verify did not end in $limit s" >&2 ;;
    *) echo "measure.sh: befit verify failed (exit code $code)" >&2 ;;
    esac
    [ -s "$work/verified.json" ] || missing verified "befit verify left nothing"
}

powers=""
power=1
while [ "$power" -lt "$threads" ]; do
    powers="$powers $power"
    power=$((2 * power))
done
powers="$powers $threads"

echo "measure.sh: $threads threads; calibrating" >&2
part calibration 120 ./befit calibrate --format json --output "$BEFIT_CALIBRATION"
echo "measure.sh: idle pools" >&2
part idle 120 ./peers idle --threads "2,$threads,$((4 * threads))" --repeats 1 --format json \
    --runtimes befit-ws,befit-sb,befit-auto,rayon,chili
echo "measure.sh: a prediction, and the same program on threads" >&2
if [ -s "$BEFIT_CALIBRATION" ]; then
    part predicted 120 ./befit sim rrm.befit --machine host --sched ws,pws,sb,sb-d,auto \
        --no-tries --seeds 3 --format json
else
    missing predicted "the machine was not calibrated"
fi
part measured 60 ./befit run rrm --n 1000000 --sched ws,pws,sb,sb-d,auto --format json
echo "measure.sh: predictions of kernels, and the same on threads" >&2
counts=$(echo $powers | tr ' ' ',')
verified 200 --threads "$counts" matmul rrm quicksort heat samplesort bst fft mandelbrot queens
# The largest number of threads first: the least likely to be measured elsewhere.
for t in $(for power in $powers; do echo "$power"; done | sort -rn); do
    for program in fib skynet spawn nqueens matmul quicksort heat; do
        echo "measure.sh: $program on $t threads" >&2
        # Many short phases, of a matrix that befits caches.
        size=""
        [ "$program" != heat ] || size="--n 1024"
        # shellcheck disable=SC2086
        part "peers-$t-$program" 60 ./peers "$program" $size --threads "$t" --repeats 3 \
            --format json --runtimes befit-ws,befit-auto,rayon
    done
done

model=$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1 | tr -d '"\\')
# A command that fails, for want of room, ends the subshell.
(
    set -e
    printf '{"schema": "befit.machine-measured/1", "model": "%s", "threads": %s,\n' \
        "$model" "$threads"
    printf '"kernel": "%s",\n' "$(uname -sr | tr -d '"\\')"
    for name in calibration idle predicted measured verified; do
        printf '"%s": ' "$name"
        cat "$work/$name.json"
        printf ',\n'
    done
    printf '"peers": [\n'
    separator=""
    for file in "$work"/peers-*.json; do
        printf '%s' "$separator"
        cat "$file"
        separator=","
    done
    printf ']}\n'
) >"$work/all"
# shellcheck disable=SC2181 # as a condition it would go on after a failure
[ $? -eq 0 ] || no_room
if cp "$work/all" "$output.part" && mv -f "$output.part" "$output"; then
    echo "measure.sh: $output after $(($(date +%s) - began)) s" >&2
else
    trap - EXIT
    rm -f "$output.part"
    echo "measure.sh: cannot write $output; the results are in $work/all" >&2
    exit 1
fi
