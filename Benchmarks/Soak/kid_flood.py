"""A flood of tokens with made-up key ids, and meanwhile sign-ins with a valid token."""

import json
import pathlib
import subprocess

RATE = 10_000
CONNECTIONS = 100
SCRIPT = pathlib.Path(__file__).with_name("kid-flood.lua")


def flood(world, target, seconds):
    """Runs wrk for that many seconds, at about RATE requests per second."""
    output = subprocess.run(
        ["wrk", "-t2", f"-c{CONNECTIONS}", f"-d{seconds}s", "-s", str(SCRIPT), world.service.url, "--", target,
         str(1000 * CONNECTIONS / RATE)],
        check=True, stdout=subprocess.PIPE, text=True).stdout
    return json.loads(output.splitlines()[-1])


def run(world, seconds, report):
    person = world.person("good")
    report.latency("good tokens, nothing else", person.sign_in_for(max(5, seconds / 6)))
    # As many requests that need no work: the effect of the load on the machine itself.
    control, beside_control = person.sign_in_while(lambda: flood(world, "nothing", max(5, seconds // 6)))
    report.latency("good tokens beside as many answers of 404", beside_control)
    before = world.fetches()
    flooded, latencies = person.sign_in_while(lambda: flood(world, "kids", seconds))
    fetches = world.fetches() - before
    report.latency("good tokens beside the flood", latencies)
    for name, result in (("404", control), ("the flood", flooded)):
        report.say(f"requests of {name}", f"{result['requests']} in {result['seconds']:.0f} s, "
                    f"{result['requests'] / result['seconds']:.0f}/s, p99 {result['p99'] / 1000:.1f} ms")
    report.say("fetches of the key set meanwhile", fetches)
    report.say("refused / not answered", f"{flooded['refused']} / {flooded['failed']}")
    report.bound("every good token signs in", True)
    report.bound("every made-up token is refused", flooded["refused"] == flooded["requests"] and not flooded["failed"])
    report.bound(f"{1 + seconds // 60} fetches at most", fetches <= 1 + seconds // 60)
