# Sourced by what tries the Debian package: a Debian 12 of its own, in which systemd is process 1. Needs root and what
# `Scripts/setup --package` installs. Its network is a loopback of its own, and nothing of it is left but the downloaded
# Debian in .local. `container` is the process that runs it, `$work` a folder that goes with it, `$work/root` its root.

work=$(mktemp -d)
container=
finish() {
    local status=$?
    if [ -n "$container" ]; then
        [ "$status" = 0 ] || inside journalctl --no-pager --lines=40 --unit='countersign*' >&2 || true
        kill -- "$container" 2>/dev/null && wait "$container" 2>/dev/null || true
    fi
    umount --lazy "$work/root/proc" "$work/root" "$work/disk" 2>/dev/null || true
    rm -rf "$work"
}
trap finish EXIT

# root NAME PACKAGES: a root of Debian's packages (with commas), over .local/NAME, which is made unless it is there.
root() {
    local base=$PWD/.local/$1
    if [ ! -e "$base/etc/debian_version" ]; then
        echo "== a Debian 12" >&2
        rm -rf "$base.new"
        mkdir -p .local
        debootstrap --variant=minbase --include="$2" bookworm "$base.new" >"$base.log"
        mv "$base.new" "$base"
    fi
    mkdir "$work/disk" "$work/root"
    mount -t tmpfs -o size=3g countersign "$work/disk"
    mkdir "$work/disk/upper" "$work/disk/work"
    mount -t overlay -o "lowerdir=$base,upperdir=$work/disk/upper,workdir=$work/disk/work" countersign "$work/root"
}

# --register=no: there is no systemd outside to register with.
boot() {
    systemd-nspawn --quiet --directory="$work/root" --machine="countersign-$$" --register=no --keep-unit --private-network \
        --boot --console=pipe --kill-signal=SIGRTMIN+3 >"$work/console" 2>&1 </dev/null &
    container=$!
    eventually 60 "systemd is process 1" inside systemctl is-system-running --wait
}
first() { pgrep -P "$container" -x systemd || true; }
inside() {
    nsenter -t "$(first)" -m -u -i -n -p --root --wdns=/ \
        env -i PATH=/usr/sbin:/usr/bin HOME=/root LANG=C.UTF-8 TERM=dumb "$@"
}
fail() {
    echo "${0##*/}: $*" >&2
    exit 1
}
# eventually SECONDS WHAT COMMAND…
eventually() {
    local deadline=$((SECONDS + $1)) what=$2
    shift 2
    until "$@" >/dev/null 2>&1; do
        [ $SECONDS -lt "$deadline" ] || fail "$what: not in time"
        sleep 0.1
    done
}
step() { echo "== $*" >&2; }
