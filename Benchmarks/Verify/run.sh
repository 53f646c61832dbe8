#!/usr/bin/env bash
# Token verification and signing: ours, raw OpenSSL in C, jwt-kit.  [--rounds 20] [--seconds 0.5]
#
# All programs verify the same files of tokens, minted for this run. They alternate within each round, so that a slow
# second of the machine slows all of them; the median of each round's ratios is compared.
set -euo pipefail
cd "$(dirname "$0")/../.."

rounds=20 seconds=0.5
while [ $# -gt 0 ]; do
    case $1 in
    --rounds) rounds=$2 ;;
    --seconds) seconds=$2 ;;
    *) echo "usage: Scripts/bench verify [--rounds N] [--seconds N]" >&2; exit 2 ;;
    esac
    shift 2
done

built=.local/bench
mkdir -p "$built"
echo "== build" >&2
cc -O2 -Wall -Wextra -o "$built/raw" Benchmarks/Verify/raw.c $(pkg-config --cflags --libs libcrypto)
read -ra options <<<"$(Scripts/release-options .local/icu.o)"
swift build "${options[@]}" --product verify-bench >&2
ours=$(swift build -c release --show-bin-path)/verify-bench
swift build -c release --static-swift-stdlib --package-path Benchmarks/JWTKit --scratch-path "$built/jwt-kit" >&2
jwtkit=$(swift build -c release --package-path Benchmarks/JWTKit --scratch-path "$built/jwt-kit" --show-bin-path)
jwtkit+=/jwtkit-verify

tokens=$(mktemp -d)
trap 'rm -rf "$tokens"' EXIT
"$ours" mint "$tokens"

results=$tokens/results
for round in $(seq "$rounds"); do
    for algorithm in RS256 ES256; do
        echo "== round $round of $rounds, $algorithm" >&2
        {
            echo "$algorithm raw $("$built/raw" fresh "$algorithm" "$seconds" "$tokens")"
            echo "$algorithm copied $("$built/raw" copied "$algorithm" "$seconds" "$tokens")"
            echo "$algorithm ours $("$ours" run "$algorithm" "$seconds" 1 "$tokens")"
            echo "$algorithm two $("$ours" run "$algorithm" "$seconds" 2 "$tokens")"
            echo "$algorithm jwt-kit $("$jwtkit" "$algorithm" "$seconds" "$tokens")"
        } >>"$results"
    done
    echo "== round $round of $rounds, ES256 signatures" >&2
    {
        echo "sign raw $("$built/raw" sign fresh "$seconds" "$tokens")"
        echo "sign copied $("$built/raw" sign copied "$seconds" "$tokens")"
        echo "sign ours $("$ours" sign "$seconds")"
    } >>"$results"
done

median() { sort -g | awk '{ value[NR] = $1 } END { print NR % 2 ? value[(NR + 1) / 2] : (value[NR / 2] + value[NR / 2 + 1]) / 2 }'; }
rates() { awk -v a="$1" -v n="$2" '$1 == a && $2 == n { print $3 }' "$results"; }
ratio() { paste <(rates "$1" "$2") <(rates "$1" "$3") | awk '{ print $1 / $2 }' | median; }

printf '%-38s %10s %10s\n' "verifications/s, medians of $rounds" RS256 ES256
while read -r name title; do
    printf '%-38s %10.0f %10.0f\n' "$title" "$(rates RS256 "$name" | median)" "$(rates ES256 "$name" | median)"
done <<'EOF'
raw raw OpenSSL in C
copied raw OpenSSL in C, context copied
ours ours, one thread
two ours, two threads
jwt-kit jwt-kit
EOF
printf '%-38s %10s %10s\n' "ratios" RS256 ES256
while read -r name other title; do
    printf '%-38s %10.2f %10.2f\n' "$title" "$(ratio RS256 "$name" "$other")" "$(ratio ES256 "$name" "$other")"
done <<'EOF'
ours raw ours ÷ raw C
ours copied ours ÷ raw C, context copied
ours jwt-kit ours ÷ jwt-kit
two ours two threads ÷ one
EOF
printf '%-38s %10s\n' "ES256 signatures/s" ""
printf '%-38s %10s %10.0f\n' "ours" "" "$(rates sign ours | median)"
printf '%-38s %10s %10.2f\n' "ours ÷ raw C" "" "$(ratio sign ours raw)" "ours ÷ raw C, context copied" "" "$(ratio sign ours copied)"
