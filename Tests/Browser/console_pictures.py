"""The pictures of docs/operations/console.md: the console of a service with a few people. Scripts/console-pictures says
how to run it.

    console_pictures.py BINARIES
"""
import pathlib
import sys

from administrator import Person, administrator, given_up_revocation
from playwright.sync_api import sync_playwright
from run import CHROMIUM
from stack import GOOGLE_CLIENT, ROOT, LinkingClient, stack

PICTURES = ROOT / "docs/operations"
STATE = ROOT / ".local/console-pictures"
# Bytes: what a page of the documents may weigh for each picture.
LARGEST = 200 * 1024
# CSS pixels.
WIDE, NARROW = (1280, 900), (320, 640)
FAMILY = "Adler", "Birch", "Cedar", "Dogwood", "Elder", "Fir", "Gorse", "Hazel"


def refused(world, name, **token):
    """A sign-in with a token that the service refuses."""
    came = world.control("google/authorize", person=name, clientId=GOOGLE_CLIENT, token=token)
    status, _ = world.call("/v1/sign-in/google", {"idToken": came["idToken"]})
    assert status == 401, status


def people(world):
    """Some with Google and some with Apple, who have signed in now and then."""
    persons = []
    for number, family in enumerate(FAMILY):
        uses_apple = number % 3 == 1
        persons.append(Person(
            world, f"sample.{family.lower()}", "apple" if uses_apple else "google",
            None if uses_apple else f"Sample {family}", givenName="Sample", familyName=family,
            device={"name": "Phone", "platform": "Android 16"}))
    for number in range(20):
        persons[number % len(persons)].present({"name": "Tablet", "platform": "iOS 26"})
    refused(world, "sample.adler", expired=True)
    refused(world, "sample.adler", signature="forged")
    return persons


def picture(page, name, dimensions=WIDE):
    page.set_viewport_size(dict(zip(("width", "height"), dimensions)))
    path = PICTURES / f"console-{name}.png"
    page.screenshot(path=path, animations="disabled")
    size = path.stat().st_size
    print(f"{path.relative_to(ROOT)}: {size // 1024} KiB", flush=True)
    assert size < LARGEST, f"{path} is too large"


def main(binaries):
    with stack(pathlib.Path(binaries).resolve(), STATE) as world, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        staff, persons = administrator(browser, world, name="robin@support"), people(world)
        page = staff.page
        shown = persons[6]
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
        picture(page, "account-narrow", NARROW)
        staff.open(f"{shown.path}/disable")
        page.get_by_label("Reason").fill("ticket 4711")
        picture(page, "act")
        staff.open("/console/audit")
        page.emulate_media(color_scheme="dark")
        picture(page, "audit")
        assert staff.complaints == [], staff.complaints
        browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
