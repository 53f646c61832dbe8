"""What one operation costs the two processes, and what it leaves in the database; see docs/operations/capacity.md. Called by
run.sh."""

import argparse
import dataclasses
import pathlib
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "SignIn"))
from measure import Bench, CONNECTIONS  # noqa: E402
from refreshing import CLIENTS, Refreshing  # noqa: E402
from service import SUBJECTS, register_persons  # noqa: E402

# The number of the first person that is there before.
FIRST = 2_000_000_001
TABLES = (
    "accounts", "identities", "sessions", "audit_events", "audit_seals", "link_tickets", "account_sequences",
    "unstamped_events", "account_events")
# One event, as a change writes it.
EVENT = """
    \\set n random(1, 50000)
    WITH numbered AS (
        INSERT INTO account_sequences AS s (account_id, last_sequence)
        VALUES (lpad(to_hex(:n::int), 32, '0')::uuid, 1)
        ON CONFLICT (account_id) DO UPDATE SET last_sequence = s.last_sequence + 1
        RETURNING account_id, last_sequence
    )
    INSERT INTO unstamped_events (event_id, type, account_id, sequence, members, happened_at)
    SELECT gen_random_uuid(), 'account.enabled', account_id, last_sequence, '{"by":"admin"}', now()
    FROM numbered;
"""


@dataclasses.dataclass
class Moment:
    """The counters at a moment."""

    service: float
    postgres: float
    log: int
    pages: int
    syncs: int
    tables: dict

    def __init__(self, bench):
        self.service, self.postgres = bench.service.cpu_seconds(), bench.database.cpu_seconds()
        self.log, self.pages, self.syncs = map(
            int, bench.database.query("SELECT wal_bytes, wal_fpi, wal_sync FROM pg_stat_wal").split("|"))
        rows = bench.database.query(
            """
            WITH parts AS (
                SELECT t.name, COALESCE(i.inhrelid, to_regclass(t.name)) AS oid
                FROM unnest(string_to_array('%s', ',')) AS t (name)
                LEFT JOIN pg_inherits i ON i.inhparent = to_regclass(t.name)
            )
            SELECT p.name, sum(pg_table_size(p.oid)), sum(pg_indexes_size(p.oid)), sum(s.n_tup_ins), sum(s.n_tup_upd),
                sum(s.n_tup_hot_upd), sum(s.n_tup_del)
            FROM parts p
            JOIN pg_stat_user_tables s ON s.relid = p.oid
            GROUP BY p.name
            """ % ",".join(TABLES))
        self.tables = {line.split("|")[0]: list(map(int, line.split("|")[1:])) for line in rows.splitlines()}


def settle(bench):
    """Until the trail is sealed, events have their places, and the server's counters are whole: its idle processes report
    theirs after ten seconds."""
    bench.database.await_seals()
    while int(bench.database.query("SELECT count(*) FROM unstamped_events")):
        time.sleep(0.1)
    time.sleep(11)


def measured(bench, name, operate):
    """Runs the operation many times, and prints what one of them has come to."""
    bench.database.query("VACUUM (FREEZE, ANALYZE)", "CHECKPOINT")
    settle(bench)
    before = Moment(bench)
    begin = time.monotonic()
    count = operate()
    seconds = time.monotonic() - begin
    cpu = bench.service.cpu_seconds(), bench.database.cpu_seconds()
    settle(bench)
    after = Moment(bench)

    def row(title, value, unit, digits=0):
        print(f"  {title:36}{value:12,.{digits}f} {unit}", flush=True)

    print(f"{name}: {count} in {seconds:.0f} s", flush=True)
    row("CPU of the service", (cpu[0] - before.service) * 1e6 / count, "µs")
    row("CPU of PostgreSQL", (cpu[1] - before.postgres) * 1e6 / count, "µs")
    row("log", (after.log - before.log) / count, "bytes")
    row("of it whole pages (8 KiB each)", (after.pages - before.pages) / count, "", 2)
    row("log flushed to disk", (after.syncs - before.syncs) / count, "times", 3)
    for table in TABLES:
        heap, indexes, inserted, updated, hot, deleted = (
            end - start for start, end in zip(before.tables[table], after.tables[table]))
        if inserted or updated or deleted:
            row(f"{table}: rows in, changed, out", inserted / count, f"{updated / count:6.3f} {deleted / count:6.3f}", 3)
            row("  changed without an index (HOT)", hot / count, "", 3)
            row("  dead rows left", (updated + deleted) / count, "", 3)
            if inserted > 100:
                row("  heap, indexes", heap / inserted, f"{indexes / inserted:8.0f} bytes a row")


def sign_in(bench, seconds):
    return bench.wrk(seconds)["requests"]


def create(bench, subjects):
    register_persons(bench.service, bench.sandbox, bench.tokens, subjects)
    return len(subjects)


def announce(bench, directory, seconds):
    """Events, each in a transaction of its own."""
    script = pathlib.Path(directory, "event.sql")
    script.write_text(EVENT, encoding="ascii")
    return round(bench.database.pgbench(str(script), CLIENTS, seconds) * seconds)


def work_off(name, count, fill, left):
    """How fast the service does what is done by one of its workers."""
    fill(count)
    begin = time.monotonic()
    while left() > 0:
        time.sleep(0.2)
    print(f"{name}: {count / (time.monotonic() - begin):,.0f} a second", flush=True)


def sealing(bench):
    """Rows of one transaction, so that none can be sealed before the clock runs."""
    query = bench.database.query
    work_off(
        "rows of the trail sealed", 300_000,
        lambda count: query(
            f"""INSERT INTO audit_events (event_id, type, actor, account_id, identity_id, request_id, network, created_at)
                SELECT gen_random_uuid(), 'signed_in', 'person', gen_random_uuid(), gen_random_uuid(),
                    gen_random_uuid()::text, '10.0.0.0/24', now()
                FROM generate_series(1, {count})"""),
        lambda: int(query("SELECT count(*) FROM audit_events"))
        - int(query("SELECT COALESCE(max(total_count), 0) FROM audit_head")))


def sweeping(bench):
    """Sessions that ended more than a week ago."""
    query = bench.database.query
    query("TRUNCATE sessions, web_sessions")
    work_off(
        "ended sessions deleted", 100_000,
        lambda count: query(
            f"""INSERT INTO sessions (session_id, account_id, rotated_at, auth_time, amr, created_at, last_used_at, expires_at,
                    ended_at, end_reason)
                SELECT gen_random_uuid(), a.account_id, t, t, '{{google}}', t, t, t + interval '60 days', t, 'signed_out'
                FROM generate_series(1, {count} / 10000), accounts a, (SELECT now() - interval '8 days') AS old (t)
                WHERE a.account_id IN (SELECT account_id FROM accounts LIMIT 10000)"""),
        lambda: int(query("SELECT count(*) FROM sessions")))


def main():
    parser = argparse.ArgumentParser()
    for name, kind in {"bin": str, "cluster": str, "seconds": int, "persons": int}.items():
        parser.add_argument(f"--{name}", type=kind, required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        bench = Bench(options.bin, options.cluster, options.seconds, directory, "grow_bench")
        try:
            create(bench, range(FIRST, FIRST + options.persons))
            measured(
                bench, "new account: a provider's token, a ticket, create",
                lambda: create(bench, SUBJECTS[:options.persons]))
            sign_in(bench, 3)
            measured(bench, f"sign-in, {CONNECTIONS} connections", lambda: sign_in(bench, options.seconds))
            refreshing = Refreshing(bench)
            measured(bench, f"refresh, {CLIENTS} connections", lambda: refreshing.go_on(options.seconds))
            measured(
                bench, f"event, {CLIENTS} connections of pgbench", lambda: announce(bench, directory, options.seconds))
            sealing(bench)
            sweeping(bench)
        finally:
            bench.stop()


main()
