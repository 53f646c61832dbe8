# Sourced by the scripts that measure a running service under load: installs wrk, and builds release executables as they
# are shipped and sets `bin` to their folder, unless `bin` is set already.
Scripts/setup
if ! command -v wrk >/dev/null; then
    root=()
    if [ "$(id -u)" -ne 0 ]; then root=(sudo); fi
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends wrk >&2
fi
if [ -z "$bin" ]; then
    echo "== build" >&2
    read -ra icu <<<"$(Scripts/icu-data .local/icu.o)"
    swift build -c release --static-swift-stdlib "${icu[@]}" --product countersign >&2
    swift build -c release --static-swift-stdlib --product countersign-sandbox >&2
    bin=$(swift build -c release --show-bin-path)
fi
