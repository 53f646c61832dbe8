"""The JavaScript module in a page of the service's origin: the page's snippet as clients/javascript/README.md has it."""
import functools
import sys

from registry import test
from signing_in import expect_nothing_refused, new_person
from stack import ROOT
from visitor import Visitor

sys.path.insert(0, str(ROOT / "Scripts"))
from snippets.blocks import block  # noqa: E402

CLIENT = ROOT / "clients/javascript"
PAGE = """<!DOCTYPE html><html lang=en><meta charset=utf-8><title>Lamp</title>
<script type=module>import * as app from "/lamp/app.js"; window.app = app;</script>"""


def serve(page, stack):
    """A proxy would serve these files beside the service; here the browser gets them itself."""
    for path, body, kind in (
        ("/lamp/", PAGE, "text/html"), ("/signed-in*", PAGE, "text/html"),
        ("/lamp/app.js", block("clients/javascript/README.md", "javascript", "location.origin").text, "text/javascript"),
        ("/lamp/store.js", block("clients/javascript/README.md", "javascript", "tabStore").text, "text/javascript"),
        ("/lamp/countersign.js", (CLIENT / "countersign.js").read_text(), "text/javascript"),
    ):
        page.route(stack.service + path, functools.partial(fulfil, body, kind))


def fulfil(body, kind, route):
    route.fulfill(body=body, content_type=kind)


def loaded(page):
    page.wait_for_function("window.app !== undefined")


@test
def a_page_signs_in_refreshes_once_and_signs_out(browser, stack):
    person = new_person(stack)
    visitor = Visitor(browser, stack)
    page = visitor.page
    serve(page, stack)
    requests = []
    page.on("request", lambda request: requests.append((request.method, request.url.removeprefix(stack.service))))

    page.goto(f"{stack.service}/lamp/")
    loaded(page)
    with page.expect_navigation(url=f"{stack.service}/web/**"):
        page.evaluate("app.signIn()")
    assert page.locator("html").get_attribute("lang") == "en"
    visitor.sign_in(person, "google")
    page.wait_for_url(f"{stack.service}/signed-in?**")
    # What a redirect leads to can't be served by a route: the service, which has no such path, has answered.
    page.goto(page.url)
    loaded(page)
    created = page.evaluate("""async () => {
        const outcome = await app.signedIn();
        return [outcome.status, location.href, sessionStorage.length, (await app.client.create(outcome.ticket)).email];
    }""")
    assert created == ["linkRequired", f"{stack.service}/", 0, f"{person}@example.com"], created

    requests.clear()
    accounts = page.evaluate("""async () => {
        await app.client.setNeedsRefresh();
        return (await Promise.all(Array.from({ length: 20 }, () => app.client.account()))).map((account) => account.email);
    }""")
    assert accounts == [f"{person}@example.com"] * 20, accounts
    assert requests.count(("POST", "/v1/sessions/refresh")) == 1, requests
    devices = page.evaluate("async () => (await app.client.fetch('/v1/sessions')).json()")
    assert [item["device"] for item in devices["items"]] == [{"platform": "web"}], devices
    refused = page.evaluate("app.client.fetch('https://other.example/').catch((error) => [error.kind, error.code])")
    assert refused == ["refused", "foreign_host"], refused

    # Nothing of it is where a later page of this origin would find it.
    kept = page.evaluate("[localStorage.length, sessionStorage.length, document.cookie]")
    assert kept[:2] == [0, 0] and "eyJ" not in kept[2], kept
    assert page.evaluate("async () => { await app.client.signOut(); return app.client.isSignedIn(); }") is False
    assert requests[-1] == ("POST", "/v1/sessions/revoke"), requests
    expect_nothing_refused(visitor)
    visitor.close()


@test
def tabs_with_one_store_refresh_once(browser, stack):
    visitor = Visitor(browser, stack)
    email = f"{new_person(stack)}@example.com"
    session = stack.account(email, "correct horse battery")["session"]
    counted = []
    visitor.context.on("request", lambda request: request.url.endswith("/v1/sessions/refresh") and counted.append(request))
    document = {
        "v": 1, "sessionId": session["sessionId"], "accountId": "a", "accessToken": session["accessToken"],
        "accessExpiresAt": 0, "refreshToken": session["refreshToken"]}
    tabs = [visitor.page, visitor.tab()]
    for page in tabs:
        serve(page, stack)
        page.goto(f"{stack.service}/lamp/")
        loaded(page)
    for page in tabs:
        page.evaluate("""async () => {
            const [{ CountersignClient }, { tabStore }] = await Promise.all(
                ["countersign", "store"].map((name) => import(`/lamp/${name}.js`)));
            window.store = tabStore;
            window.client = new CountersignClient({ baseURL: location.origin, store: tabStore });
        }""")
    tabs[0].evaluate("(document) => store.save(document)", document)
    for page in tabs:
        page.evaluate("() => { window.answer = client.account().then((account) => account.email); }")
    assert [page.evaluate("window.answer") for page in tabs] == [email, email]
    assert len(counted) == 1, counted
    expect_nothing_refused(visitor)
    visitor.close()
