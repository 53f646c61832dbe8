"""Compares the sign-ins of two builds, each with a database of its own on one cluster. Called by run.sh.

Both run all the time and are measured in turns of seconds, so that what slows the machine slows both; the ratio is the
median of those of the rounds.
"""

import argparse
import statistics
import tempfile

from measure import Bench, CONNECTIONS


def compare(before, after, rounds, connections):
    ratios, costs = [], []
    for number in range(1, rounds + 1):
        pair = (before, after) if number % 2 else (after, before)
        results = {bench: bench.peak(connections) for bench in pair}
        ratios.append(results[after]["rate"] / results[before]["rate"])
        costs.append(results[after]["service"] / results[before]["service"])
        print(
            f"round {number}: {results[before]['rate']:.0f} and {results[after]['rate']:.0f} /s, "
            f"{results[before]['service']:.0f} and {results[after]['service']:.0f} µs of CPU", flush=True)
    print(f"{connections} connections, medians of {rounds} rounds, after ÷ before")
    for name, values in {"sign-ins": ratios, "CPU of the service": costs}.items():
        print(f"  {name:20}{statistics.median(values):8.3f}  ({min(values):.2f} to {max(values):.2f})")


def main():
    parser = argparse.ArgumentParser()
    for name, kind in {"bin": str, "against": str, "cluster": str, "rounds": int, "seconds": int}.items():
        parser.add_argument(f"--{name}", type=kind, required=True)
    options = parser.parse_args()
    benches = []
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        try:
            for bin, directory, name in ((options.against, first, "before"), (options.bin, second, "after")):
                benches.append(Bench(bin, options.cluster, options.seconds, directory, f"signin_{name}"))
                benches[-1].prepare()
            for connections in (1, CONNECTIONS):
                compare(*benches, options.rounds, connections)
        finally:
            for bench in benches:
                bench.stop()


main()
