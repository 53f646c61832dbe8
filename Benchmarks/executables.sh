# Sourced by the scripts that measure a running service under load: installs wrk, and builds release executables and
# sets `bin` to their folder, unless `bin` is set already.
Scripts/setup
if ! command -v wrk >/dev/null; then
    root=()
    if [ "$(id -u)" -ne 0 ]; then root=(sudo); fi
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends wrk >&2
fi
if [ -z "$bin" ]; then
    echo "== build" >&2
    swift build -c release --product countersign >&2
    swift build -c release --product countersign-sandbox >&2
    bin=$(swift build -c release --show-bin-path)
fi
