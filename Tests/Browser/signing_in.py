"""People sign in by a real browser: the whole way, through both providers, and back."""
import contextlib
import re

from gallery import PASSWORD, parameters
from playwright.sync_api import Error
from registry import test
from stack import PRIVATE_SCHEME
from visitor import PROVIDERS, Visitor

count = 0


def new_person(stack, **more):
    """Somebody whom no other test knows."""
    global count
    count += 1
    name = f"visitor{count}"
    stack.person(name, **{"email": f"{name}@example.com"} | more)
    return name


def answer(stack):
    """What the desktop app got last."""
    assert stack.app.answers, "nothing came to the app"
    return stack.app.answers.pop()


def expect_nothing_refused(visitor):
    assert visitor.complaints == [], visitor.complaints


@test(provider=PROVIDERS)
def unknown_then_known(browser, stack, provider):
    person = new_person(stack)
    for expected in "linkRequired", "signedIn":
        visitor, attempt = Visitor(browser, stack), stack.attempt()
        visitor.open(attempt)
        page = visitor.sign_in(person, provider)
        assert page.url.startswith(stack.app.redirect_uri), page.url
        status, came = attempt.exchange(answer(stack))
        assert (status, came["status"]) == (200, expected), came
        if expected == "linkRequired":
            status, created = stack.call("/v1/links/create", {"linkTicket": came["linkTicket"]})
            assert created["status"] == "signedIn", created
        expect_nothing_refused(visitor)
        visitor.close()


@test(provider=PROVIDERS)
def script_switched_off(browser, stack, provider):
    person = new_person(stack)
    visitor, attempt = Visitor(browser, stack, script=False), stack.attempt()
    visitor.open(attempt)
    visitor.sign_in(person, provider)
    status, came = attempt.exchange(answer(stack))
    assert status == 200, came
    expect_nothing_refused(visitor)
    visitor.close()


@test(provider=PROVIDERS)
def cancel_at_the_provider(browser, stack, provider):
    visitor, attempt = Visitor(browser, stack), stack.attempt()
    visitor.open(attempt)
    visitor.press(provider)
    page = visitor.cancel_there()
    assert page.locator("[role=status]").inner_text().startswith("You cancelled"), page.content()
    page.click('form[action^="/web/cancel"] button')
    page.wait_for_url(stack.app.redirect_uri + "?**")
    came = answer(stack)
    assert (came["error"], came["state"]) == ("access_denied", attempt.state), came
    visitor.close()


@test
def cancel_on_our_page(browser, stack):
    visitor, attempt = Visitor(browser, stack), stack.attempt()
    page = visitor.open(attempt)
    page.click('form[action^="/web/cancel"] button')
    page.wait_for_url(stack.app.redirect_uri + "?**")
    assert answer(stack)["error"] == "access_denied"
    expect_nothing_refused(visitor)
    visitor.close()


@test(way=[*PROVIDERS, "password", "code", "cancel"])
def private_scheme_from_the_last_click(browser, stack, way):
    """The page's policy lets the click through to the end, and the browser hands the address to the app."""
    person = new_person(stack)
    email = f"{person}-typed@example.com"
    stack.account(email, PASSWORD)
    visitor, attempt = Visitor(browser, stack), stack.attempt(PRIVATE_SCHEME)
    page = visitor.open(attempt)
    if way in PROVIDERS:
        visitor.sign_in(person, way)
    elif way == "password":
        visitor.type_password(email, PASSWORD)
    elif way == "code":
        visitor.ask_for_code(email)
        visitor.type_code(stack.mailed_code(email))
    else:
        visitor.click('form[action^="/web/cancel"] button')
    link = page.get_attribute(f'main a[href^="{PRIVATE_SCHEME}"]', "href")
    page.wait_for_timeout(500)
    assert link in page.left, (link, page.left)
    came = parameters(link)
    if way == "cancel":
        assert came["error"] == "access_denied", came
    else:
        status, body = attempt.exchange(came)
        assert status == 200, body
    expect_nothing_refused(visitor)
    visitor.close()


@test
def two_tabs(browser, stack):
    visitor = Visitor(browser, stack)
    people = [new_person(stack), new_person(stack)]
    tabs = [visitor.page, visitor.tab()]
    attempts = [stack.attempt(), stack.attempt()]
    for tab, attempt, provider in zip(tabs, attempts, PROVIDERS):
        visitor.open(attempt, tab)
        visitor.press(provider, tab)
    for tab, attempt, person in reversed(list(zip(tabs, attempts, people))):
        visitor.consent(person, tab)
        status, came = attempt.exchange(answer(stack))
        assert (status, came["identity"]["email"]) == (200, f"{person}@example.com"), came
    visitor.close()


@test(provider=PROVIDERS)
def answer_of_another_browser(browser, stack, provider):
    """The address to which one browser is sent back is opened in another one, which has a cookie of its own."""
    person = new_person(stack)
    attacker, victim = Visitor(browser, stack), Visitor(browser, stack)
    attacker.open(stack.attempt())
    attacker.press(provider)
    form = {"person": person, "action": "continue"}
    shown = attacker.context.request.post(attacker.page.url, form=form, max_redirects=0)
    if provider == "google":
        target = shown.headers["location"]
    else:
        fields = dict(re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)">', shown.text()))
        fields = {name: value.replace("&quot;", '"').replace("&amp;", "&") for name, value in fields.items()}
        held = attacker.context.request.post(
            f"{stack.service}/web/callback/apple", form=fields, max_redirects=0)
        assert held.status == 303, held.text()
        target = f"{stack.service}{held.headers['location'].removeprefix(stack.service)}"
    victim.open(stack.attempt())
    response = victim.page.goto(target)
    assert response.status == 400, response.status
    assert victim.page.url.startswith(stack.service), victim.page.url
    assert not stack.app.answers, stack.app.answers
    attacker.close()
    victim.close()


@test
def cookie_is_withheld_from_apples_post_and_sent_with_the_get(browser, stack):
    person = new_person(stack)
    visitor = Visitor(browser, stack)
    sent = {}

    def note(request):
        if "/web/callback/apple" in request.url:
            sent[request.method] = request.all_headers()

    finished = []
    visitor.page.on("requestfinished", lambda request: finished.append(request))
    visitor.open(stack.attempt())
    visitor.sign_in(person, "apple")
    for request in finished:
        note(request)
    assert set(sent) == {"POST", "GET"}, sent
    assert "cookie" not in sent["POST"], sent["POST"]
    assert "csn_browser=" in sent["GET"].get("cookie", ""), sent["GET"]
    assert sent["POST"].get("sec-fetch-site") == "cross-site", sent["POST"]
    answer(stack)
    visitor.close()


@test
def back_button(browser, stack):
    person = new_person(stack)
    visitor, attempt = Visitor(browser, stack), stack.attempt()
    page = visitor.open(attempt)
    visitor.press("google")
    page.go_back()
    page.wait_for_selector('form[action^="/web/start/apple"]')
    visitor.sign_in(person, "apple")
    status, came = attempt.exchange(answer(stack))
    assert (status, came["identity"]["provider"]) == (200, "apple"), came
    # Back from the app's page, past those of the provider, which the browser would have to post to once more: the flow is
    # over, and says so on a page of ours.
    assert not stack.app.answers, stack.app.answers
    # Chromium shows an error in their place, and answers no call before it is there.
    for _ in range(100):
        with contextlib.suppress(Error):
            response = page.go_back()
            if page.url.startswith(stack.service):
                break
        page.wait_for_timeout(200)
    assert page.url.startswith(f"{stack.service}/web/sign-in"), page.url
    assert response.status == 400, response.status
    assert page.locator("h1").inner_text() == "This sign-in is over", page.inner_text("main")
    assert page.locator("form").count() == 0 and not stack.app.answers
    visitor.close()


@test(provider=PROVIDERS)
def double_click(browser, stack, provider):
    person = new_person(stack)
    visitor, attempt = Visitor(browser, stack), stack.attempt()
    page = visitor.open(attempt)
    page.dblclick(f'form[action^="/web/start/{provider}"] button')
    # The second click may end what the first one has begun, while that is waited for.
    for _ in range(3):
        with contextlib.suppress(Error):
            page.wait_for_url(f"{stack.sandbox}/{provider}/**")
            break
    visitor.consent(person)
    status, came = attempt.exchange(answer(stack))
    assert status == 200, came
    visitor.close()


@test
def page_in_a_frame_is_not_shown(browser, stack):
    visitor = Visitor(browser, stack)
    page = visitor.page
    page.goto(f"http://127.0.0.1:{stack.app.server_port}/")
    # The service answers with its page, which Chromium has to keep out of the frame: it shows an error in its place.
    with page.expect_response(lambda response: response.url.startswith(stack.service) and response.status == 200):
        page.evaluate(
            "url => { const frame = document.createElement('iframe'); frame.src = url; document.body.append(frame); }",
            stack.attempt().url())
    frame, = page.main_frame.child_frames
    for _ in range(300):
        if frame.url not in ("", "about:blank"):
            break
        page.wait_for_timeout(200)
    assert frame.url.startswith("chrome-error:"), frame.url
    visitor.close()


@test
def form_of_another_site_is_refused(browser, stack):
    visitor = Visitor(browser, stack)
    page = visitor.open(stack.attempt())
    action = page.get_attribute('form[action^="/web/cancel"]', "action")
    csrf = page.get_attribute('form[action^="/web/cancel"] input[name=csrf]', "value")
    other = visitor.tab()
    other.goto(f"{stack.sandbox}/apple/.well-known/openid-configuration")
    other.set_content(
        f'<form method="post" action="{stack.service}{action}"><input name="csrf" value="{csrf}">'
        "<button>Click here to win</button></form>")
    with other.expect_navigation() as navigation:
        other.click("button")
    assert navigation.value.status == 403, navigation.value.status
    assert not stack.app.answers
    visitor.close()


@test
def back_after_signing_out(browser, stack):
    """Chromium keeps pages for who goes back, also those that may not be stored: Playwright starts it without that."""
    own = browser.browser_type.launch(
        executable_path="/usr/bin/chromium", args=["--no-sandbox"],
        ignore_default_args=["--disable-back-forward-cache"])
    person = new_person(stack)
    visitor = Visitor(own, stack)
    page = visitor.sign_up(person)
    visitor.click('form[action^="/web/sign-out"] button')
    assert page.url == f"{stack.service}/web/signed-out", page.url
    page.go_back(wait_until="commit")
    page.wait_for_selector('form[action^="/web/start/google"]')
    assert f"{person}@example.com" not in page.content()
    own.close()


@test
def account_page(browser, stack):
    person = new_person(stack)
    visitor = Visitor(browser, stack)
    page = visitor.sign_up(person)
    assert f"{person}@example.com" in page.inner_text("main")
    names = {cookie["name"]: cookie for cookie in visitor.context.cookies() if "csn" in cookie["name"]}
    assert set(names) == {"csn_browser", "csn_web"}, names
    assert all(cookie["httpOnly"] and cookie["sameSite"] == "Lax" for cookie in names.values()), names
    visitor.click('form[action^="/web/sign-out"] button')
    visitor.account()
    page.wait_for_selector('form[action^="/web/start/google"]')
    expect_nothing_refused(visitor)
    visitor.close()
