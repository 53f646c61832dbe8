"""Every page that a person may see, one after the other, in one browser."""
import urllib.parse

from stack import PRIVATE_SCHEME, LinkingClient

PASSWORD = "correct horse battery"
DEVICES = "Pixel", "iPad"


def inspect(visitor, name, faults):
    """Walks past every page, and fails with what is wrong with any: `faults` of its name yields that."""
    found, seen = [], []

    def see(page):
        seen.append(page)
        found.extend(f"{page}: {fault}" for fault in faults(page))

    walk(visitor, name, see)
    visitor.close()
    assert len(seen) >= 50, seen
    assert not found, "\n".join(found)


def walk(visitor, name, see):
    """Calls `see` with the name of each page while it is open.

    - name: makes the persons of this walk others than those of the walk before.
    """
    stack = visitor.stack
    email, known = f"{name}-typed@example.com", f"{name}-known"
    stack.account(email, PASSWORD)
    stack.person(known, givenName="Kim", familyName="Lee")
    stack.person(f"{name}-other")
    languages = {"ui_locales": visitor.language} if visitor.language else {}

    def chooser(**more):
        visitor.open(stack.attempt(PRIVATE_SCHEME), **languages, **more)

    def account(page="", **query):
        query = "?" + urllib.parse.urlencode(query) if query else ""
        visitor.page.goto(f"{stack.service}/web/account{page}{query}")

    chooser()
    see("chooser")
    visitor.type_password(email, "wrong horse battery")
    see("wrong-password")
    chooser(login_hint=email)
    see("chooser-with-hint")
    chooser(provider="apple")
    see("chooser-of-one-provider")

    chooser()
    visitor.click('main button[name=to][value=email], main a[href*="/web/sign-in"]')
    see("email")
    visitor.ask_for_code(email)
    see("code")
    code = stack.mailed_code(email)
    visitor.type_code("000000" if code != "000000" else "111111")
    see("wrong-code")
    visitor.type_code(code)
    see("open-app")
    visitor.leave_tab()

    chooser()
    visitor.click('form[action^="/web/cancel"] button')
    see("open-app-cancelled")
    visitor.leave_tab()

    chooser(login_hint=email)
    visitor.click('main button[name=to][value=forgot]')
    see("forgot")
    visitor.click('main form[action^="/web/forgot"] button.primary')
    see("forgot-code")
    visitor.write(visitor.page.locator("input[name=newPassword]"), PASSWORD)
    visitor.type_code("000000")
    see("forgot-wrong-code")
    chooser()
    visitor.click('main button[name=to][value=register]')
    see("register")
    visitor.type_password(f"{name}-new@example.com", "password")
    see("register-weak-password")
    visitor.type_password(f"{name}-new@example.com", PASSWORD)
    see("register-code")
    visitor.type_code("000000")
    see("register-wrong-code")

    visitor.page.goto(f"{stack.service}/web/authorize?app=unknown")
    see("failure-unknown-app")
    visitor.page.goto(f"{stack.service}/web/callback/google?state=a&code=b")
    see("failure-answer-refused")
    visitor.page.goto(f"{stack.service}/web/sign-in?flow=00000000-0000-7000-8000-000000000000")
    see("failure-flow-expired")
    visitor.page.goto(f"{stack.service}/nowhere")
    see("failure-not-found")

    account()
    see("account-chooser")
    visitor.press("google")
    visitor.cancel_there()
    see("cancelled-at-provider")
    visitor.sign_in(known, "google")
    see("create")
    visitor.click("main button[name=to][value=bind]")
    see("bind")
    visitor.page.go_back()
    visitor.click('form[action^="/web/link/create"] button')
    see("account")
    for page in "name", "email", "password", "link/apple", "export", "delete":
        account(f"/{page}")
        see(f"account-{page.replace('/', '-')}")
    change(visitor, name, account, see)
    visitor.page.goto(linking_url(LinkingClient(stack), stack, visitor.language))
    see("consent")
    visitor.click("button[name=consent][value=allow]")
    for device in DEVICES:
        stack.device(known, device)
    account()
    see("account-with-client")
    visitor.click("button[name=client]")
    see("account-unlink-client")
    account()
    visitor.click('form[action^="/web/sign-out"] button')
    see("signed-out")

    link(visitor, name, known, see)

    # Another identity of a provider that the account has.
    stack.person(f"{name}-first", email=f"{name}-first@example.com")
    for person in f"{name}-first", f"{name}-second":
        stack.person(person, email=f"{person}@example.com")
        account()
        visitor.sign_in(person, "google")
        visitor.click("main button[name=to][value=bind]")
        visitor.type_password(email, PASSWORD)
        if person.endswith("first"):
            visitor.context.clear_cookies()
    see("conflict")


def change(visitor, name, account, see):
    """What the owner of an account, who is signed in, types into its forms: what is refused, and what is not."""
    page = visitor.page
    account("/name")
    visitor.write(page.locator("input[name=displayName]"), "\u200b")
    visitor.click("main button.primary")
    see("account-name-refused")
    visitor.write(page.locator("input[name=displayName]"), "Kim Lee")
    visitor.click("main button.primary")
    see("account-renamed")
    account("/email")
    visitor.write(page.locator("input[name=email]"), f"{name}-moved@example.com")
    visitor.click("main button.primary")
    see("account-email-code")
    visitor.type_code("000000")
    see("account-email-wrong-code")
    account("/password")
    visitor.write(page.locator("input[name=newPassword]"), "password")
    visitor.click("main button.primary")
    see("account-password-weak")
    visitor.write(page.locator("input[name=newPassword]"), PASSWORD)
    visitor.click("main button.primary")
    see("account-password-set")
    account("/password")
    visitor.write(page.locator("input[name=currentPassword]"), "wrong horse battery")
    visitor.write(page.locator("input[name=newPassword]"), PASSWORD)
    visitor.click("main button.primary")
    see("account-password-wrong")
    account(fault="linkedElsewhere")
    see("account-provider-refused")


def link(visitor, name, known, see):
    """A person who comes by another way than before proves the account that has their address, in each degree of it.

    - known: has an account by Google, whose word for its address is all that there is.
    """
    stack = visitor.stack

    def arrive(person, provider):
        visitor.context.clear_cookies()
        visitor.account()
        visitor.sign_in(person, provider)

    def go(choice):
        visitor.click(f'main a[href*="with={choice}"], main button[name=to][value={choice}]')

    def ask_provider(provider):
        visitor.click(f"button[name=provider][value={provider}]")
        visitor.page.wait_for_url(f"{stack.sandbox}/{provider}/**")

    # Stated: the account is shown by its providers.
    arrive(known, "apple")
    see("link-stated")
    go("bind")
    see("bind-stated")
    ask_provider("google")
    visitor.consent(f"{name}-other")
    see("bind-stated-other-identity")
    ask_provider("google")
    visitor.cancel_there()
    see("bind-stated-cancelled")
    visitor.click("main button[name=to][value=email]")
    see("bind-stated-email")
    visitor.enter("input[name=email]")
    see("bind-stated-code")
    visitor.type_code(stack.mailed_code(f"{known}@example.com"))
    see("bind-stated-code-right")
    go("create")
    see("create-stated-code-right")
    go("bind")
    see("bind-stated-shown")
    ask_provider("google")
    visitor.consent(known)
    see("account-bound-by-provider")
    visitor.click("button[name=identity]")
    see("account-unlink")
    visitor.click("main button.primary")
    see("account-unlinked")

    # Stated, and they read its mailbox: by a mailed code, or by the provider that runs it.
    coded, reader = f"{name}-coded", f"{name}-reader"
    stack.person(coded)
    arrive(coded, "google")
    visitor.click('form[action^="/web/link/create"] button')
    visitor.context.clear_cookies()
    visitor.account()
    visitor.ask_for_code(f"{coded}@example.com")
    visitor.type_code(stack.mailed_code(f"{coded}@example.com"))
    see("link-mailbox")
    go("bind")
    see("bind-mailbox")
    go("create")
    see("create-mailbox")
    stack.person(reader, email=f"{reader}@gmail.com")
    arrive(reader, "apple")
    visitor.click('form[action^="/web/link/create"] button')
    arrive(reader, "google")
    see("link-reader")
    go("bind")
    see("bind-reader")
    go("create")
    see("create-reader")
    go("bind")
    visitor.click("button[name=proof]")
    see("account-bound-by-reader")

    # Proven: nothing of the account is shown.
    owner = f"{name}-owner"
    stack.person(owner, email=f"{owner}@gmail.com")
    arrive(owner, "google")
    visitor.click('form[action^="/web/link/create"] button')
    arrive(owner, "apple")
    see("bind-proven")
    visitor.type_password(f"{owner}@gmail.com", "wrong horse battery")
    see("bind-proven-wrong-password")

    # Claimed: somebody has typed the address, which counts for nothing.
    claimed = f"{name}-claimed"
    stack.account(f"{claimed}@example.com", PASSWORD)
    stack.person(claimed)
    arrive(claimed, "google")
    see("create-claimed")
    go("bind")
    see("bind-claimed")
    visitor.type_password(f"{claimed}@example.com", PASSWORD)
    see("account-bound-by-password")
    visitor.page.goto(f"{stack.service}/web/account/delete")
    visitor.click("main button.danger")
    see("account-deleted")
    visitor.context.clear_cookies()


def linking_url(client, stack, language=None):
    """Where a client sends the browser of who links an account."""
    query = {"client_id": client.id, "redirect_uri": client.redirect_uri, "response_type": "code", "state": "s"}
    if language:
        query["user_locale"] = language
    return f"{stack.service}/oauth/authorize?{urllib.parse.urlencode(query)}"


def parameters(url):
    """Those of an app's redirect URI."""
    return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(url).query))
