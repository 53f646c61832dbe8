"""Two hundred logins at once, again and again, and meanwhile sign-ins of a person without a password."""

import threading
import time

CLIENTS = 200
SLOTS = 2
SCRYPT_MB = 128 * 1024 * 1024 / 1e6


def run(world, seconds, report):
    world.lift_limits()
    world.register("has@example.com", "correct horse battery")
    person = world.person("quick")
    base = world.service.memory("VmRSS")
    quiet = person.sign_in_for(10)
    statuses, refusals = [], []
    lock = threading.Lock()
    end = time.monotonic() + seconds

    def log_in():
        while time.monotonic() < end:
            status, headers, _ = world.post(
                "/v1/sign-in/password", {"email": "has@example.com", "password": "a wrong password"})
            with lock:
                statuses.append(status)
                if status == 503:
                    refusals.append(headers.get("Retry-After"))
            if status == 503:
                time.sleep(1)

    def burst():
        threads = [threading.Thread(target=log_in) for _ in range(CLIENTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return True

    _, latencies = person.sign_in_while(burst)
    peak = world.service.memory("VmHWM")
    report.latency("sign-ins with a token, no logins", quiet)
    report.latency("sign-ins with a token beside the logins", latencies)
    report.say("logins judged / refused", f"{statuses.count(401)} / {statuses.count(503)} in {seconds} s")
    report.say("logins judged in a second", f"{statuses.count(401) / seconds:.1f}")
    report.say("memory before / at most", f"{base:.0f} MB / {peak:.0f} MB")
    report.bound("every answer is 401 or 503", len(statuses) == statuses.count(401) + statuses.count(503))
    report.bound("every 503 says when to try again", all(value and int(value) >= 1 for value in refusals))
    report.bound(f"memory grows by {SLOTS} × 134 MB and 32 MB at most", peak <= base + SLOTS * SCRYPT_MB + 32)
