"""Whether the time of a refused login reveals what kind of account it was for."""

import math
import random
import time

from world import median

CLASSES = {
    "wrong password": "has@example.com",
    "unknown": "unknown@example.com",
    "without password": "passwordless@example.com",
    "disabled": "disabled@example.com",
}


def mann_whitney(first, second):
    """Two-sided p of the U test, by its normal approximation, which is good for this many samples."""
    ranked = sorted([(value, 0) for value in first] + [(value, 1) for value in second])
    rank_sum = sum(rank for rank, (_, origin) in enumerate(ranked, 1) if origin == 0)
    n, m = len(first), len(second)
    u = rank_sum - n * (n + 1) / 2
    deviation = math.sqrt(n * m * (n + m + 1) / 12)
    return math.erfc(abs(u - n * m / 2) / deviation / math.sqrt(2))


def run(world, seconds, report):
    """About 400 samples of each class take ten minutes; `seconds` bounds them."""
    world.lift_limits()
    for email in ("has@example.com", "disabled@example.com"):
        world.register(email, "correct horse battery")
    world.person("passwordless")
    world.execute("UPDATE accounts SET status = 'disabled' WHERE email = 'disabled@example.com'")
    samples = {name: [] for name in CLASSES}
    answers = set()
    end = time.monotonic() + seconds
    while time.monotonic() < end and len(samples["unknown"]) < 400:
        for name in random.sample(list(CLASSES), len(CLASSES)):
            start = time.monotonic()
            status, _, _ = world.post(
                "/v1/sign-in/password", {"email": CLASSES[name], "password": "a wrong password"})
            samples[name].append(time.monotonic() - start)
            answers.add(status)
    for name, values in samples.items():
        report.latency(name, values)
    report.bound("every answer is 401", answers == {401})
    reference = samples["wrong password"]
    for name, values in samples.items():
        if values is reference:
            continue
        p = mann_whitney(reference, values)
        gap = abs(median(values) - median(reference)) / median(reference)
        report.say(f"{name} against a wrong password", f"p = {p:.3f}, medians {100 * gap:.2f} % apart")
        report.bound(f"{name}: p > 0.01, or medians less than 2 % apart", p > 0.01 or gap < 0.02)
