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
    read -ra options <<<"$(Scripts/release-options .local/icu.o)"
    for product in countersign countersign-sandbox; do
        swift build "${options[@]}" --product "$product" >&2
    done
    bin=$(swift build -c release --show-bin-path)
fi
