"""The cluster, the service and the load together; one scenario after the other, and what has to hold in each."""
import json
import os
import time

from . import scenarios, service
from .cluster import NAMES, Cluster
from .load import Load
from .network import Failure, until

# Seconds: of the load before an event, after which it has to be back, and of the load behind that.
BEFORE, BACK, BEHIND = 15, 5, 10
# The longest that a request may take: 2 s for a connection, 5 for a statement, 2 for a COMMIT, and a second of a busy machine.
LONGEST = 10
# From the primary that takes writes to the first success, on either way.
REACH = 2


class World:
    def __init__(self, newer, older, directory):
        """- older: the programs to begin with, if not the newer ones."""
        self.newer, programs = newer, older or newer
        self.cluster = Cluster(directory)
        self.cluster.start()
        self.people, self.processes = service.make(programs, newer / "countersign-sandbox", self.cluster)
        first = self.processes[0]
        first.command("migrate", "up")
        for process in self.processes:
            process.start()
        until("HAProxy has both processes", 30, lambda: service.call(
            self.cluster.proxy.address, 8080, "GET", "/.well-known/jwks.json")[0] == 200)
        client = json.loads(first.command(
            "oauth-client", "create", "--name", "Google", "--redirect-uri", "https://client.example/linked", "--rotate-refresh",
            "--assertion-audience", service.ASSERTIONS))
        key = first.command("admin-key", "create", "--name", "console", "--scopes", "read")
        ways = {"balancer": self.cluster.proxy.address} | {process.name: process.address for process in self.processes}
        self.load = Load(self.people, ways, {"client_id": client["clientId"], "client_secret": client["clientSecret"]}, key)
        self.load.start()

    def await_other_standby(self, lost):
        """Until commits are confirmed by another standby than this one."""
        def holds():
            try:
                return any(node is not lost for node in self.cluster.standbys("sync"))
            except Failure:
                return False
        until("another synchronous standby", 90, holds, 0.5)

    def lost(self):
        """What was acknowledged by now and is not in the database."""
        sessions, accounts, identities, tokens = self.load.notes.copy()
        primary = self.cluster.primary()
        rows = lambda statement: [row.split("\t") for row in primary.sql(statement, seconds=60).splitlines()]
        stored = {row[0]: (int(row[1]), row[2] == "t")
                  for row in rows("SELECT session_id, generation, ended_at IS NOT NULL FROM sessions")}
        there = {table: {row[0] for row in rows(f"SELECT {column} FROM {table}")} for table, column in (
            ("accounts", "account_id"), ("identities", "identity_id"), ("oauth_access_tokens", "encode(token_hash, 'hex')"))}
        # What the load has begun to take back meanwhile may be there or not.
        later = self.load.notes.copy()
        found = []
        for identifier, session in sessions.items():
            generation, is_ended = stored.get(identifier, (0, False))
            if generation < session.generation or session.is_ended and not is_ended:
                found.append(f"session {identifier}: {session}, is {stored.get(identifier)}")
        found += [f"account {identifier}" for identifier in accounts - there["accounts"]]
        for what, known, since, table in (
            ("identity", identities, later[2], "identities"), ("token", tokens, later[3], "oauth_access_tokens")):
            found += [f"{what} {identifier} should {'' if has_to_be else 'not '}be there"
                      for identifier, has_to_be in known.items()
                      if has_to_be is not None and since[identifier] == has_to_be != (identifier in there[table])]
        return found


class Figures:
    """What the calls around an event show."""

    def __init__(self, world, start, end, fails_over):
        calls = [call for call in world.load.notes.calls if start - BEFORE <= call.start]
        writes = [call for call in calls if call.writes and call.outcome == "done"]
        self.primary = world.cluster.watch.since(start) if fails_over else None
        self.gap, at = self._gap(writes, start, end)
        self.reading_gap, _ = self._gap([call for call in calls if not call.writes and call.outcome == "done"], start, end)
        # The first success of each way behind the new primary, or behind the longest gap.
        begin = self.primary or at
        firsts = {way: min((call.end for call in writes if call.way == way and call.end >= begin), default=end)
                  for way in world.load.ways}
        self.reach = {way: first - self.primary for way, first in firsts.items()} if self.primary else {}
        self.back = max(firsts.values())
        before = sum(start - BEFORE <= call.end < start for call in writes) / BEFORE
        behind = self.back + BACK
        self.rate = sum(behind <= call.end < behind + BEHIND for call in writes) / BEHIND / before
        self.before = before
        self.longest = max((call.end - call.start for call in calls if call.end >= start), default=0)
        self.refused = sum(call.outcome == "unavailable" and call.end >= start for call in calls)
        self.start = start

    @staticmethod
    def _gap(calls, start, end):
        """The longest time without a success, and when it ended."""
        moments = [start] + sorted(call.end for call in calls if start <= call.end <= end) + [end]
        return max((late - early, late) for early, late in zip(moments, moments[1:]))


def seconds(value):
    return "–" if value is None else f"{value:.1f} s"


class Check:
    def __init__(self, world):
        self.world, self.broken, self.rows = world, [], []

    def run(self, scenario):
        world = self.world
        notes = world.load.notes
        world.cluster.whole()
        acknowledged, wrong = notes.acknowledged, len(notes.wrong)
        steps = scenario.act(world)
        next(steps)
        time.sleep(BEFORE)
        start = time.monotonic()
        next(steps)
        if scenario.fails_over:
            until(f"{scenario.name}: a new primary", 120, lambda: world.cluster.watch.since(start))
        since = time.monotonic()
        until(f"{scenario.name}: writes on every way", 60, lambda: all(
            any(call.way == way and call.writes and call.outcome == "done" and call.end > since for call in notes.calls[-2000:])
            for way in world.load.ways))
        time.sleep(BACK + BEHIND + 1)
        end = time.monotonic()
        next(steps, None)
        world.cluster.whole()
        time.sleep(2)
        lost = world.lost()
        figures = Figures(world, start, end, scenario.fails_over)
        self._report(scenario, figures, notes.acknowledged - acknowledged, lost, notes.wrong[wrong:])

    def _report(self, scenario, figures, acknowledged, lost, wrong):
        reach = max(figures.reach.values(), default=None)
        primary = figures.primary and figures.primary - figures.start
        row = [scenario.title, f"{acknowledged:,}", str(len(lost)), str(len(wrong)), seconds(primary), seconds(figures.gap),
               seconds(reach), f"{100 * figures.rate:.0f} %", seconds(figures.longest), seconds(figures.reading_gap)]
        self.rows.append(row)
        print(f"{scenario.name}: " + ", ".join(f"{name} {value}" for name, value in zip(COLUMNS[1:], row[1:])))
        print(f"  {figures.before:.0f} writes a second before; {figures.refused} answered 503; "
              + ", ".join(f"{way} {seconds(value)}" for way, value in figures.reach.items()), flush=True)
        for holds, what in (
            (not lost, f"nothing acknowledged is lost: {lost[:5]}"),
            (not wrong, f"no wrong answer: {[what for _, what in wrong[:5]]}"),
            (reach is None or reach <= REACH, f"the first success within {REACH} s of the primary"),
            (scenario.limit is None or figures.gap <= scenario.limit, f"no more than {scenario.limit} s without a success"),
            (scenario.reads is None or figures.reading_gap <= scenario.reads,
             f"no more than {scenario.reads} s without a read"),
            (figures.rate >= 0.9, "90 % of the rate five seconds later"),
            (figures.longest <= LONGEST, f"no request longer than {LONGEST} s"),
        ):
            if not holds:
                self.broken.append(f"{scenario.name}: {what}")
                print(f"  BROKEN: {what}", flush=True)

    def table(self):
        lines = [COLUMNS, ["---"] * len(COLUMNS), *self.rows]
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)


COLUMNS = ["event", "acknowledged", "lost", "wrong", "new primary after", "no write for", "first success after the primary",
           "rate 5 s later", "longest request", "no read for"]
