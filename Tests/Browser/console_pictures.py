"""The pictures of docs/operations/console.md: the console of a service that has run for an hour. Scripts/console-pictures
says how to run it.

    console_pictures.py BINARIES
"""
import pathlib
import sys

from administrator import Key, Administrator, Person, given_up_revocation
from playwright.sync_api import sync_playwright
from run import CHROMIUM
from stack import GOOGLE_CLIENT, ROOT, LinkingClient, stack

PICTURES = ROOT / "docs/operations"
STATE = ROOT / ".local/console-pictures"
# Bytes: what a page of the documents may weigh for each picture.
LARGEST = 200 * 1024
MINUTES = 60
# CSS pixels.
WIDE, NARROW = (1280, 800), (320, 640)
FAMILY = "Adler", "Birch", "Cedar", "Dogwood", "Elder", "Fir", "Gorse", "Hazel"


class Clock:
    """The clock of the service and of the sandbox, set in steps: libfaketime makes the service's, the monotonic one too,
    by which the chart counts its minutes."""

    def __init__(self, behind):
        self.behind, self._file = behind, STATE / "clock"
        STATE.mkdir(parents=True, exist_ok=True)
        self._write()

    def _write(self):
        # In one step, for the service reads it with each call.
        fresh = self._file.with_suffix(".next")
        fresh.write_text(f"{-self.behind:+d}\n")
        fresh.rename(self._file)

    @property
    def variables(self):
        return {
            "LD_PRELOAD": "/usr/$LIB/faketime/libfaketime.so.1", "FAKETIME_NO_CACHE": "1",
            "FAKETIME_TIMESTAMP_FILE": str(self._file)}

    def advance(self, world, seconds):
        self.behind -= seconds
        self._write()
        world.control("clock/advance", seconds=seconds)


def refused(world, name, **token):
    """A sign-in with a token that the service refuses."""
    came = world.control("google/authorize", person=name, clientId=GOOGLE_CLIENT, token=token)
    status, _ = world.call("/v1/sign-in/google", {"idToken": came["idToken"]})
    assert status == 401, status


def hour(world, clock, browser):
    """Sign-ins of an hour, a little more of them towards its end; the administrator, and the person that is shown."""
    staff = Administrator(browser, world, viewport=dict(zip(("width", "height"), WIDE)))
    staff.key = Key(world, "robin@support", "read", "revoke", "manage")
    persons = []
    for minute in range(MINUTES - 1):
        if minute % 7 == 0 and len(persons) < len(FAMILY):
            family = FAMILY[len(persons)]
            persons.append(Person(
                world, f"sample.{family.lower()}", "apple" if len(persons) % 3 == 1 else "google",
                None if len(persons) % 3 == 1 else f"Sample {family}", givenName="Sample", familyName=family,
                device={"name": "Phone", "platform": "Android 16"}))
        for number in range(1 + (minute * 7 % 5) + minute // 20):
            persons[(minute + number) % len(persons)].present({"name": "Tablet", "platform": "iOS 26"})
        if minute % 9 == 4:
            refused(world, "sample.adler", expired=True)
        if minute in (31, 32, 50):
            refused(world, "sample.adler", signature="forged")
        clock.advance(world, 60)
    return staff, persons


def picture(page, name, dimensions=WIDE, full=True):
    page.set_viewport_size(dict(zip(("width", "height"), dimensions)))
    path = PICTURES / f"console-{name}.png"
    page.screenshot(path=path, full_page=full, animations="disabled")
    size = path.stat().st_size
    print(f"{path.relative_to(ROOT)}: {size // 1024} KiB", flush=True)
    assert size < LARGEST, f"{path} is too large"


def main(binaries):
    clock = Clock(MINUTES * 60)
    # libfaketime extends the environment of the first process that loads it, and a Swift program then lacks its arguments.
    words = "/bin/sh", "-c", 'exec "$@"', "sh"
    with stack(pathlib.Path(binaries).resolve(), STATE, words, **clock.variables) as world, sync_playwright() as playwright:
        world.control("clock/advance", seconds=-MINUTES * 60)
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        staff, persons = hour(world, clock, browser)
        clock.advance(world, clock.behind)
        page = staff.open()
        staff.sign_in(staff.key.secret)

        shown = persons[-1]
        shown.link(browser, LinkingClient(world, "Acme Home"))
        shown.block()
        given_up_revocation(world, persons[0], staff)
        # Each row has its seal.
        world.eventually("SELECT (SELECT total_count FROM audit_head) = count(*) FROM audit_events", "t")

        staff.open()
        picture(page, "overview")
        staff.open("/console/accounts?q=sample.")
        picture(page, "accounts")
        staff.open(shown.path)
        picture(page, "account")
        picture(page, "account-narrow", NARROW, full=False)
        staff.open(f"{shown.path}/disable")
        page.get_by_label("Reason").fill("ticket 4711")
        picture(page, "act")
        staff.open("/console/audit")
        page.emulate_media(color_scheme="dark")
        picture(page, "audit", full=False)
        assert staff.complaints == [], staff.complaints
        browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
