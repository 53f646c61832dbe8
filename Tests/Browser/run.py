"""The web sign-in, account linking and the console in Chromium. Scripts/test-browser says how to run it.

    run.py BINARIES [WORD …]      WORD: only the tests whose name has one of these
"""
import multiprocessing
import os
import pathlib
import sys
import traceback

import console  # noqa: F401  registers tests
import display  # noqa: F401
import javascript  # noqa: F401
import linking  # noqa: F401
import pages  # noqa: F401
import resource_server  # noqa: F401
import signing_in  # noqa: F401
from registry import TESTS
from playwright.sync_api import sync_playwright
from stack import ROOT, stack
from world import cluster

STATE = ROOT / ".local/browser"
CHROMIUM = "/usr/bin/chromium"
# Each with a browser and a service of its own. A browser is idle while the service answers it, and the other way round.
WORKERS = 2


def work(binaries, state, tests, turn, passed):
    """Runs the tests whose turn it is, until there is none."""
    with stack(binaries, state) as world, sync_playwright() as playwright:
        # Chromium's sandbox needs more than a container has; the pages are our own.
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        print(f"Chromium {browser.version}", flush=True)
        while True:
            with turn.get_lock():
                number, turn.value = turn.value, turn.value + 1
            if number >= len(tests):
                break
            test = tests[number]
            world.app.answers.clear()
            try:
                test(browser, world)
                print(f"✔ {test.__name__}", flush=True)
                with passed.get_lock():
                    passed.value += 1
            except Exception:
                print(f"✘ {test.__name__}\n{traceback.format_exc()}", flush=True)
        browser.close()


def main(binaries, *words):
    tests = [test for test in TESTS if not words or any(word in test.__name__ for word in words)]
    processes = multiprocessing.get_context("fork")
    turn, passed = processes.Value("i", 0), processes.Value("i", 0)
    with cluster() as url:
        os.environ["COUNTERSIGN_TEST_DATABASE_URL"] = url
        workers = [
            processes.Process(target=work, args=(pathlib.Path(binaries).resolve(), STATE / str(number), tests, turn, passed))
            for number in range(min(WORKERS, len(tests)))]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    print(f"{passed.value} passed, {len(tests) - passed.value} failed")
    return 0 if tests and passed.value == len(tests) and not any(worker.exitcode for worker in workers) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
