"""Compares the sign-ins, the refreshes, the first sign-ins of new people, start and memory, of two builds or with fewer
indexes, each with a database of its own on one cluster. Called by run.sh.

Both run all the time and are measured in turns of seconds, so that what slows the machine slows both; the ratio is the
median of those of the rounds.
"""

import argparse
import os
import statistics
import tempfile
import time
import unittest.mock

from measure import Bench, CONNECTIONS
from refreshing import Refreshing
from service import write_tokens

NEW_PERSONS = 4000


def report(title, before, after, figures):
    """The medians of the ratios of what the rounds had."""
    print(f"{title}, medians of {len(before)} rounds, after ÷ before")
    for name, figure in figures.items():
        values = [figure(second) / figure(first) for first, second in zip(before, after)]
        print(f"  {name:32}{statistics.median(values):8.3f}  ({min(values):.3f} to {max(values):.3f})", flush=True)


def in_turns(rounds, before, after, measure):
    """What each measurement brings, of the one and of the other: which comes first alternates."""
    results = ([], [])
    for number in range(1, rounds + 1):
        pair = [(before, results[0]), (after, results[1])]
        for bench, list in pair if number % 2 else reversed(pair):
            list.append(measure(bench, number))
    return results


def new_persons(bench):
    """The tokens of people who have no account, made once: that costs more than their accounts."""
    path = f"{bench.tokens}-new"
    write_tokens(bench.sandbox, path, range(2_000_000_001, 2_000_000_001 + NEW_PERSONS))
    return path


def create(bench, path):
    """They sign in and create an account, beside the accounts of those who sign in."""
    bench.database.query(
        "DELETE FROM accounts WHERE account_id IN (SELECT account_id FROM identities WHERE subject > '2')")
    bench.database.reset()
    start, begin = bench.cpu_seconds(), time.monotonic()
    result = bench.run_wrk("create.lua", 60, CONNECTIONS, path)
    rate = NEW_PERSONS / (time.monotonic() - begin)
    end = bench.cpu_seconds()
    if result["created"] != NEW_PERSONS:
        raise SystemExit(f"not every person has an account: {result}")
    return {"rate": rate} | {
        name: (end[index] - start[index]) * 1e6 / NEW_PERSONS for index, name in enumerate(("service", "PostgreSQL"))}


def refreshed(clients, seconds):
    """Sessions that are refreshed by as many clients as can."""
    bench, refreshing = clients
    start, begin = bench.cpu_seconds(), time.monotonic()
    count = refreshing.go_on(seconds)
    end, rate = bench.cpu_seconds(), count / (time.monotonic() - begin)
    return {"rate": rate} | {
        name: (end[index] - start[index]) * 1e6 / count for index, name in enumerate(("service", "PostgreSQL"))}


def loaded(bench, connections):
    return bench.peak(connections) | {"memory": bench.service.memory("VmRSS")}


def started(bench):
    """Of a process that has just begun, and then has connections that wait."""
    return bench.start() | {"idle": bench.idle_memory()}


COSTS = {
    "CPU of the service": lambda result: result["service"],
    "CPU of PostgreSQL": lambda result: result["PostgreSQL"],
    "CPU of both": lambda result: result["service"] + result["PostgreSQL"],
}


def compare(before, after, rounds, seconds):
    for connections in (1, 8, CONNECTIONS, 128):
        results = in_turns(rounds, before, after, lambda bench, _: loaded(bench, connections))
        rate, memory = (statistics.median(result[name] for result in results[0]) for name in ("rate", "memory"))
        report(
            f"sign-ins, {connections} connections ({rate:.0f} a second and then {memory:.1f} MB before)", *results,
            {"sign-ins": lambda result: result["rate"], "memory then": lambda result: result["memory"]} | COSTS)
    refreshing = [(bench, Refreshing(bench)) for bench in (before, after)]
    report("refreshes", *in_turns(rounds, *refreshing, lambda clients, _: refreshed(clients, seconds)), COSTS)
    persons = {bench: new_persons(bench) for bench in (before, after)}
    report("new accounts", *in_turns(rounds, before, after, lambda bench, _: create(bench, persons[bench])),
           {"people a second": lambda result: result["rate"]} | COSTS)
    results = in_turns(rounds, before, after, lambda bench, _: started(bench))
    megabytes = [statistics.median(result[name] for result in results[0]) for name in ("memory", "idle")]
    report(
        "start and memory ({:.1f} MB, and {:.1f} with idle connections, before)".format(*megabytes), *results, {
            "start to ready": lambda result: result["seconds"],
            "memory, started": lambda result: result["memory"],
            "memory, idle connections": lambda result: result["idle"],
        })


def drop_indexes(database, pattern):
    names = database.query(
        "SELECT string_agg(indexrelid::regclass::text, ', ') FROM pg_index"
        f" WHERE indrelid = 'audit_events'::regclass AND indexrelid::regclass::text ~ '{pattern}'")
    database.query(f"DROP INDEX {names}")
    print(f"without {names}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    for name, kind in {"bin": str, "against": str, "cluster": str, "rounds": int, "seconds": int}.items():
        parser.add_argument(f"--{name}", type=kind, required=True)
    # Rows of the trail that are there before.
    parser.add_argument("--rows", type=int, default=0)
    # A regular expression: the database before lacks the indexes of the trail that have such a name.
    parser.add_argument("--without", default="")
    # Of the service before, instead of those of production.
    parser.add_argument("--tunables", default="")
    options = parser.parse_args()
    benches = []
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        try:
            for bin, directory, name in ((options.against, first, "before"), (options.bin, second, "after")):
                own = {"GLIBC_TUNABLES": options.tunables} if name == "before" and options.tunables else {}
                with unittest.mock.patch.dict(os.environ, own):
                    benches.append(Bench(bin, options.cluster, options.seconds, directory, f"signin_{name}"))
                database = benches[-1].database
                if name == "before" and options.without:
                    drop_indexes(database, options.without)
                benches[-1].prepare()
                if options.rows:
                    database.fill_trail(options.rows)
                database.await_seals()
            compare(*benches, options.rounds, options.seconds)
        finally:
            for bench in benches:
                bench.stop()


if __name__ == "__main__":
    main()
