"""Kills the service again and again while it revokes, and checks the result at the providers."""

import collections
import http.client
import json
import pathlib
import random
import subprocess
import threading
import time

from world import call, median, percentile

APPLE_CLIENT = "com.example.lamp"
GOOGLE_CLIENT = "lamp-web.apps.googleusercontent.com"
GOOGLE_SECRET = "lamp-server-secret"
TEAM, KEY_ID = "SANDBOX001", "LAMPKEY001"
# Access tokens and fresh authentications last for minutes: people sign up shortly before they leave.
KILLS_IN_A_ROUND = 25
LEAVERS_FOR_A_KILL = 3
# Seconds to wait for the outbox; the claim of a dead process lapses after 30.
DRAIN_TIMEOUT = 120

Leaver = collections.namedtuple("Leaver", "name access")


def use_codes(world):
    """Restarts the service with keys that are registered in the sandbox."""
    key = pathlib.Path(world.directory, "apple.p8")
    key.touch(0o600)
    subprocess.run(
        ["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", key],
        check=True, stderr=subprocess.DEVNULL)
    public = subprocess.run(
        ["openssl", "pkey", "-in", key, "-pubout"], check=True, stdout=subprocess.PIPE, text=True).stdout
    world.control("apple/teams", {"teamId": TEAM, "keyId": KEY_ID, "publicKey": public})
    world.control("google/clients", {"clientId": GOOGLE_CLIENT, "clientSecret": GOOGLE_SECRET})
    apple, google = world.sandbox.url + "/apple/auth", world.sandbox.url + "/google"
    world.service.stop()
    world.service.configure(
        COUNTERSIGN_APPLE_CLIENT_IDS=APPLE_CLIENT, COUNTERSIGN_APPLE_TEAM_ID=TEAM, COUNTERSIGN_APPLE_KEY_ID=KEY_ID,
        COUNTERSIGN_APPLE_PRIVATE_KEY_PATH=str(key), COUNTERSIGN_APPLE_KEYS_URL=apple + "/keys",
        COUNTERSIGN_APPLE_TOKEN_URL=apple + "/token", COUNTERSIGN_APPLE_REVOKE_URL=apple + "/revoke",
        COUNTERSIGN_GOOGLE_SERVER_CLIENT_ID=GOOGLE_CLIENT, COUNTERSIGN_GOOGLE_SERVER_CLIENT_SECRET=GOOGLE_SECRET,
        COUNTERSIGN_GOOGLE_TOKEN_URL=google + "/token", COUNTERSIGN_GOOGLE_REVOKE_URL=google + "/revoke")


def sign_up(world, number):
    """A person with an account and a grant, alternately at Apple and Google."""
    name = f"leaver{number}"
    provider = "apple" if number % 2 else "google"
    world.control(provider + "/persons", {"name": name, "email": f"{name}@example.com"})
    if provider == "apple":
        credential = world.control("apple/authorize", {"person": name, "clientId": APPLE_CLIENT})
        body = {key: credential[key] for key in ("identityToken", "authorizationCode")}
    else:
        credential = world.control("google/authorize", {"person": name, "clientId": GOOGLE_CLIENT})
        body = {key: credential[key] for key in ("idToken", "serverAuthCode")}
    _, _, answer = world.post(f"/v1/sign-in/{provider}", body)
    status, _, answer = world.post("/v1/links/create", {"linkTicket": json.loads(answer)["linkTicket"]})
    account = json.loads(answer)
    if status != 201 or account["identity"]["authorization"] != "active":
        raise SystemExit(f"create: {status} {answer}")
    return Leaver(name, account["session"]["accessToken"])


def leave(world, leaver):
    """Whether the service answered that the account is deleted; a killed one doesn't answer."""
    try:
        status, _, answer = call(
            world.service.port, "DELETE", "/v1/account", headers={"Authorization": "Bearer " + leaver.access})
    except (OSError, http.client.HTTPException):
        return False
    # 401: the account was deleted by a process that was killed before it could answer.
    if status not in (202, 401, 503):
        raise SystemExit(f"delete: {status} {answer}")
    return status != 503


def delay_answers(world):
    """Delays revocations at the providers, before and after their effect, so that a kill can fall into either."""
    world.control("faults/clear", {})
    for path in ("/apple/auth/revoke", "/google/revoke"):
        for number in range(40):
            world.control("faults", {
                "path": path, "effect": "delay", "delayMilliseconds": random.randrange(80), "times": 2,
                "afterwards": number % 2 == 0})


def kill_amid(world, leavers):
    """Starts the service and kills it within 0.7 s, while these people delete their accounts."""
    world.service.start()
    end = time.monotonic() + random.uniform(0, 0.7)

    def go(leaver):
        time.sleep(random.uniform(0, max(0, end - time.monotonic())))
        leave(world, leaver)

    threads = [threading.Thread(target=go, args=[leaver]) for leaver in leavers]
    for thread in threads:
        thread.start()
    time.sleep(max(0, end - time.monotonic()))
    world.service.kill()
    for thread in threads:
        thread.join()


def grants(world):
    """Every refresh token that the providers have issued."""
    items = [item for provider in ("apple", "google") for item in world.control(provider + "/authorizations")["items"]]
    return [grant for item in items for grant in item["grants"]]


def run(world, kills, report):
    use_codes(world)
    people, rounds = 0, -(-kills // KILLS_IN_A_ROUND)
    start = time.monotonic()
    for number in range(rounds):
        kills_now = min(KILLS_IN_A_ROUND, kills - number * KILLS_IN_A_ROUND)
        world.control("faults/clear", {})
        world.service.start()
        leavers = [sign_up(world, people + index) for index in range(LEAVERS_FOR_A_KILL * kills_now)]
        people += len(leavers)
        world.service.kill()
        delay_answers(world)
        for index in range(kills_now):
            kill_amid(world, leavers[index * LEAVERS_FOR_A_KILL:(index + 1) * LEAVERS_FOR_A_KILL])
        # Clients without an answer repeat the request.
        world.service.start()
        if not all(leave(world, leaver) for leaver in leavers):
            raise SystemExit("a service that was not killed did not answer")
        if number < rounds - 1:
            world.service.kill()
    world.control("faults/clear", {})
    # Each round has one more kill before and one after, except for the last round.
    killed = kills + 2 * rounds - 1
    last = time.monotonic()

    def pending():
        return int(world.query("SELECT count(*) FROM outbox WHERE status = 'pending'")[0][0])

    while pending() and time.monotonic() < last + DRAIN_TIMEOUT:
        time.sleep(0.2)
    rest = time.monotonic() - last
    statuses = collections.Counter(row[0] for row in world.query("SELECT status FROM outbox"))
    attempts = [int(row[0]) for row in world.query("SELECT attempts FROM outbox")]
    times = [float(row[0]) for row in world.query(
        "SELECT extract(epoch FROM finished_at - created_at) FROM outbox WHERE finished_at IS NOT NULL")]
    notes = [int(row[0]) for row in world.query(
        "SELECT count(*) FROM audit_events WHERE type = 'revocation_done' GROUP BY revocation_id")]
    left = world.query("SELECT (SELECT count(*) FROM provider_grants) + (SELECT count(*) FROM accounts)")[0][0]
    tokens = grants(world)
    calls = [token["revocations"] for token in tokens]
    report.say("kills", f"{killed} in {last - start:.0f} s")
    report.say("revocations", ", ".join(f"{count} {status}" for status, count in sorted(statuses.items())))
    report.say("attempts", f"{sum(attempts)}, {sum(attempts) - len(attempts)} of them because of a kill, "
                f"{max(attempts)} at most for one revocation")
    report.say("calls", f"{sum(calls)}, {sum(calls) - len(calls)} of them repeated, {max(calls)} at most for one token")
    report.say("from the request to its end", f"p50 {median(times):.2f} s, p99 {percentile(times, 0.99):.1f} s, "
                f"max {max(times):.1f} s")
    report.say("until the last one had ended", f"{rest:.1f} s after the last kill")
    report.bound("one revocation for each account that was deleted", sum(statuses.values()) == people)
    report.bound("every revocation is done", statuses["done"] == people)
    report.bound("every token has ended, once, and by our call", len(tokens) == people and all(
        not token["live"] and token["endedBy"] == "revoke" for token in tokens))
    report.bound("every end is on record once", len(notes) == people and set(notes) == {1})
    report.bound("no account and no token is left here", left == "0")
