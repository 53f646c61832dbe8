"""Every page that a person may see, one after the other, in one browser."""
import urllib.parse

from stack import PRIVATE_SCHEME, LinkingClient

PASSWORD = "correct horse battery"


def walk(visitor, name, see):
    """Calls `see` with the name of each page while it is open.

    - name: makes the persons of this walk others than those of the walk before.
    """
    stack = visitor.stack
    email, known = f"{name}-typed@example.com", f"{name}-known"
    stack.account(email, PASSWORD)
    stack.person(known, givenName="Kim", familyName="Lee")
    languages = {"ui_locales": visitor.language} if visitor.language else {}

    def chooser(**more):
        visitor.open(stack.attempt(PRIVATE_SCHEME), **languages, **more)

    def account():
        visitor.page.goto(f"{stack.service}/web/account")

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
    chooser()
    visitor.click('main button[name=to][value=register]')
    see("register")
    visitor.type_password(f"{name}-new@example.com", PASSWORD)
    see("register-code")

    visitor.page.goto(f"{stack.service}/web/authorize?app=unknown")
    see("failure-unknown-app")
    visitor.page.goto(f"{stack.service}/web/callback/google?state=a&code=b")
    see("failure-answer-refused")
    visitor.page.goto(f"{stack.service}/web/sign-in?flow=00000000-0000-7000-8000-000000000000")
    see("failure-flow-expired")

    account()
    see("account-chooser")
    visitor.sign_in(known, "google")
    see("create")
    visitor.click('main a[href*="bind"]')
    see("bind")
    visitor.page.go_back()
    visitor.click('form[action^="/web/link/create"] button')
    see("account")
    for page in "name", "email", "password", "link/apple", "export", "delete":
        visitor.page.goto(f"{stack.service}/web/account/{page}")
        see(f"account-{page.replace('/', '-')}")
    visitor.page.goto(linking_url(LinkingClient(stack), stack, visitor.language))
    see("consent")
    visitor.click("button[name=consent][value=allow]")
    account()
    see("account-with-client")
    visitor.click('form[action^="/web/sign-out"] button')
    see("signed-out")

    # Apple states the address that Google has stated: the account's holder is shown.
    account()
    visitor.sign_in(known, "apple")
    see("link-with-holder")
    visitor.click('main a[href*="bind"]')
    see("bind-with-holder")
    visitor.click('main button[name=to][value=email]')
    visitor.enter("input[name=email]")
    visitor.type_code(stack.mailed_code(f"{known}@example.com"))
    see("code-right")
    visitor.context.clear_cookies()

    # Another identity of a provider that the account has.
    stack.person(f"{name}-first", email=f"{name}-first@example.com")
    for person in f"{name}-first", f"{name}-second":
        stack.person(person, email=f"{person}@example.com")
        account()
        visitor.sign_in(person, "google")
        visitor.click('main a[href*="bind"]')
        visitor.type_password(email, PASSWORD)
        if person.endswith("first"):
            visitor.context.clear_cookies()
    see("conflict")


def linking_url(client, stack, language=None):
    """Where a client sends the browser of who links an account."""
    query = {"client_id": client.id, "redirect_uri": client.redirect_uri, "response_type": "code", "state": "s"}
    if language:
        query["user_locale"] = language
    return f"{stack.service}/oauth/authorize?{urllib.parse.urlencode(query)}"


def parameters(url):
    """Those of an app's redirect URI."""
    return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(url).query))
