"""What is done to the cluster and to the processes. Each scenario yields twice: when the load is to be measured before it, and
when its effect is to be waited for; what follows makes all whole again."""
import collections
import time

from .network import Failure, until

Scenario = collections.namedtuple("Scenario", "name title act fails_over limit reads")
ALL = []


def scenario(name, title, fails_over=True, limit=None, reads=None):
    """- fails_over: whether another node becomes the primary.
    - limit, reads: seconds for which no write, and no read, may succeed."""
    def add(act):
        ALL.append(Scenario(name, title, act, fails_over, limit, reads))
        return act
    return add


def newest(node):
    """The moment of the last session that others see there, and whether the node takes writes."""
    return node.sql("SELECT COALESCE(max(created_at), '-infinity'), NOT pg_is_in_recovery() FROM sessions").split("\t")


def stay_fenced(world, node, comes_back):
    """Lets a former primary come back, and looks meanwhile whether it still takes a change of the service."""
    comes_back()
    seen, end = set(), time.monotonic() + 90
    while time.monotonic() < end:
        try:
            last, takes_writes = newest(node)
        except Failure:
            continue  # It is being stopped or rewound.
        if takes_writes == "f":
            break
        seen.add(last)
    else:
        raise Failure(f"{node.name} still takes writes")
    if len(seen) > 1:
        world.load.notes.complain(f"{node.name} took writes after another node was the primary: sessions until {sorted(seen)}")


@scenario("upgrade", "one process after the other is upgraded, behind the migrations", fails_over=False, limit=1)
def upgrade(world):
    """From the programs and the schema of an earlier release, with which the run has begun."""
    level = "SELECT count(*) FROM schema_migrations"
    before = world.cluster.primary().sql(level)
    yield
    world.processes[0].command("migrate", "up", programs=world.newer)
    if world.cluster.primary().sql(level) == before:
        raise Failure("the earlier release knows every migration: there is nothing to upgrade")
    for process in world.processes:
        time.sleep(5)  # Under way on the newer schema, and beside the newer release.
        process.stop()
        process.start(world.newer)
    yield


@scenario("kill", "the primary and its Patroni are killed", limit=30)
def kill(world):
    primary = world.cluster.primary()
    yield
    primary.machine.kill()
    yield
    primary.start()


@scenario("freeze", "the primary freezes, and goes on after the failover")
def freeze(world):
    primary = world.cluster.primary()
    yield
    primary.machine.freeze()
    yield
    stay_fenced(world, primary, primary.machine.thaw)


@scenario("cut", "the primary is cut off from everything")
def cut(world):
    primary = world.cluster.primary()
    yield
    primary.machine.unplug()
    yield
    stay_fenced(world, primary, lambda: None)
    primary.machine.plug()


@scenario("cut-standby", "the primary and its synchronous standby are cut off from each other", fails_over=False, reads=3)
def cut_standby(world):
    primary, standby = world.cluster.primary(), world.cluster.standbys("sync")[0]
    yield
    primary.machine.ignore(standby.machine)
    standby.machine.ignore(primary.machine)
    world.await_other_standby(standby)
    yield
    primary.machine.heed(standby.machine)
    standby.machine.heed(primary.machine)


@scenario("switchover", "a planned switchover", limit=3)
def switchover(world):
    primary, standby = world.cluster.primary(), world.cluster.standbys("sync")[0]
    yield
    primary.patronictl("switchover", "--leader", primary.name, "--candidate", standby.name, "--force")
    yield


@scenario("etcd", "etcd is away for a minute", fails_over=False, limit=1)
def etcd(world):
    yield
    for member in world.cluster.etcds:
        member.machine.kill()
    time.sleep(60)
    for member in world.cluster.etcds:
        member.start()
    yield


@scenario("lose-standby", "the synchronous standby is killed, and comes back", fails_over=False, reads=3)
def lose_standby(world):
    standby = world.cluster.standbys("sync")[0]
    yield
    standby.machine.kill()
    world.await_other_standby(standby)
    yield
    standby.start()


@scenario("freeze-standby", "the synchronous standby freezes, and goes on", fails_over=False, reads=3)
def freeze_standby(world):
    standby = world.cluster.standbys("sync")[0]
    yield
    standby.machine.freeze()
    world.await_other_standby(standby)
    yield
    standby.machine.thaw()


@scenario("no-standby", "both standbys are gone for half a minute, under synchronous_mode_strict", fails_over=False, reads=3)
def no_standby(world):
    primary, standbys = world.cluster.primary(), world.cluster.standbys()
    strict = lambda value: primary.patronictl("edit-config", "--set", f"synchronous_mode_strict={value}", "--force")
    strict("true")
    yield
    for standby in standbys:
        standby.machine.kill()
    time.sleep(15)
    for process in world.processes:
        status, members = process.readiness()
        if status != 200 or members.get("writes") != "waiting":
            world.load.notes.complain(f"readiness of {process.name}: {status} {members}")
    time.sleep(15)
    for standby in standbys:
        standby.start()
    yield
    strict("false")


@scenario("disk", "the primary's disk is full for half a minute", fails_over=False)
def disk(world):
    primary = world.cluster.primary()
    yield
    primary.fill_disk()
    time.sleep(30)
    primary.free_disk()
    yield


@scenario("restart", "one process of the service after the other is restarted", fails_over=False, limit=1)
def restart(world):
    yield
    for process in world.processes:
        process.stop()
        process.start()
    yield
