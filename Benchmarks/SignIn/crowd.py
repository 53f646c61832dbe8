"""Compares the sign-ins of people among ten thousand accounts with those among many, each in a database of its own on one
cluster. Called by run.sh.

In either database ten thousand people sign in, who in the larger one are spread over all accounts. The write-ahead log is
set up as docs/operations/capacity.md has it. Each turn begins with a checkpoint and with sign-ins that don't count: the first
write of a page after a checkpoint costs a whole page in the log, and many accounts have many pages.
"""

import argparse
import tempfile

from compare import COSTS, in_turns, report
from measure import Bench, CONNECTIONS
from service import SUBJECTS, write_tokens

FIRST = 2_000_000_000
SETTINGS = {"max_wal_size": "'32GB'", "checkpoint_timeout": "'15min'", "wal_compression": "lz4"}


class Crowd(Bench):
    """A bench whose people have accounts that were inserted before."""

    def fill(self, accounts):
        subject = f"({FIRST} + n)::text"
        self.database.query(
            # What is inserted is sound: no trigger has to look at it.
            "SET session_replication_role = replica",
            f"""INSERT INTO accounts (account_id, email, email_verified, created_at)
                SELECT ('01900000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid,
                    'person' || {subject} || '@example.com', true, now()
                FROM generate_series(0, {accounts - 1}) AS n""",
            f"""INSERT INTO identities (identity_id, account_id, provider, realm, subject, email, email_verified,
                    last_sign_in_at, created_at)
                SELECT id, id, 'google', 'main', {subject}, 'person' || {subject} || '@example.com', true, now(), now()
                FROM (
                    SELECT n, ('01900000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid AS id
                    FROM generate_series(0, {accounts - 1}) AS n
                ) n""",
            "VACUUM ANALYZE")
        write_tokens(self.sandbox, self.tokens, range(FIRST, FIRST + accounts, accounts // len(SUBJECTS)))

    def turn(self):
        self.database.query("TRUNCATE sessions, web_sessions, audit_events", "CHECKPOINT")
        self.wrk(self.seconds)
        before = self.cpu_seconds()
        result = self.wrk(self.seconds)
        for name, start, end in zip(("service", "PostgreSQL"), before, self.cpu_seconds()):
            result[name] = (end - start) * 1e6 / result["requests"]
        return result


def main():
    parser = argparse.ArgumentParser()
    for name, kind in {"bin": str, "cluster": str, "rounds": int, "seconds": int, "accounts": int}.items():
        parser.add_argument(f"--{name}", type=kind, required=True)
    options = parser.parse_args()
    benches = []
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        try:
            for accounts, directory in ((len(SUBJECTS), first), (options.accounts, second)):
                benches.append(Crowd(options.bin, options.cluster, options.seconds, directory, f"crowd_{accounts}"))
                benches[-1].fill(accounts)
            database = benches[-1].database
            database.query(*(f"ALTER SYSTEM SET {name} = {value}" for name, value in SETTINGS.items()))
            database.query("SELECT pg_reload_conf()")
            size = database.query("SELECT pg_size_pretty(pg_database_size(current_database()))")
            print(f"{options.accounts} accounts: {size}", flush=True)
            report(
                f"sign-ins, {CONNECTIONS} connections, {options.accounts} ÷ {len(SUBJECTS)} accounts",
                *in_turns(options.rounds, *benches, lambda bench, _: bench.turn()),
                {"sign-ins": lambda result: result["rate"]} | COSTS)
        finally:
            for bench in benches:
                bench.stop()


if __name__ == "__main__":
    main()
