"""The web sign-in, account linking and the console in Chromium. Scripts/test-browser says how to run it.

    run.py BINARIES [WORD …]      WORD: only the tests whose name has one of these
"""
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

STATE = ROOT / ".local/browser"
CHROMIUM = "/usr/bin/chromium"


def main(binaries, *words):
    failed = []
    chosen = [test for test in TESTS if not words or any(word in test.__name__ for word in words)]
    with stack(pathlib.Path(binaries).resolve(), STATE) as world, sync_playwright() as playwright:
        # Chromium's sandbox needs more than a container has; the pages are our own.
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        print(f"Chromium {browser.version}", flush=True)
        for test in chosen:
            world.app.answers.clear()
            try:
                test(browser, world)
                print(f"✔ {test.__name__}", flush=True)
            except Exception:
                failed.append(test.__name__)
                print(f"✘ {test.__name__}\n{traceback.format_exc()}", flush=True)
        browser.close()
    print(f"{len(chosen) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
