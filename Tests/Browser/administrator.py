"""An administrator before the console, and the people who are shown there."""
import functools
import json
import time

from gallery import linking_url, parameters
from keyboard import ByKeyboard
from stack import APPLE_CLIENT, GOOGLE_CLIENT, LinkingClient
from visitor import Visitor

EVERY_SCOPE = "read", "revoke", "manage"
# Texts that would leave their place on the page, if they could.
MARKUP = '"><script>alert(1)</script><img src=x onerror=alert(2)>'
REORDERED = "\u202egnp.exe\u2066 ‮"


class Key:
    """A key as `countersign admin-key create` makes it."""

    def __init__(self, stack, name, *scopes):
        self.name = name
        self.secret = stack.countersign("admin-key", "create", "--name", name, "--scopes", ",".join(scopes)).strip()
        keys = map(json.loads, stack.countersign("admin-key", "list").splitlines())
        self.id = [key["keyId"] for key in keys if key["name"] == name][-1]


class Administrator(Visitor):
    """A browser at the console. A script that runs, or a rule of the pages' policy that is broken, is a complaint."""

    def tab(self):
        page = super().tab()
        page.on("dialog", self.refuse)
        return page

    def refuse(self, dialog):
        self.complaints.append(f"a script ran: {dialog.message}")
        dialog.dismiss()

    def open(self, path="/console/"):
        self.response = self.page.goto(self.stack.private + path)
        return self.page

    def sign_in(self, secret):
        """With the form that is shown."""
        self.write(self.page.get_by_label("Admin key"), secret)
        return self.click("main button")

    def press(self, label, within="main"):
        """Clicks on a button, by its words, that leads to another page."""
        with self.page.expect_navigation(wait_until="commit") as navigation:
            self.activate(self.page.locator(within).get_by_role("button", name=label, exact=True))
        self.response = navigation.value
        return self.shown(self.page)

    def act(self, label, reason=None, within="main", **typed):
        """From the button to the end: the page that asks, its fields by name, the reason, the same button there."""
        page = self.press(label, within)
        assert page.locator("h1").inner_text() == label, page.inner_text("main")
        for name, text in typed.items():
            self.write(page.locator(f"main input[name={name}]"), text)
        if reason is not None:
            self.write(page.get_by_label("Reason"), reason)
        self.press(label)
        assert page.get_by_role("status").count() == 1, page.inner_text("main")
        return page

    def search(self, text):
        """The ids of the accounts that a search shows."""
        page = self.open("/console/accounts")
        self.write(page.get_by_role("searchbox"), text)
        self.enter("input[name=q]")
        return self.accounts()

    def accounts(self):
        links = self.page.locator('main td a[href^="/console/accounts/"]')
        return [link.get_attribute("href").rpartition("/")[2] for link in links.all()]


class AdministratorByKeyboard(ByKeyboard, Administrator):
    pass


HANDS = {"mouse": Administrator, "keyboard": AdministratorByKeyboard}


def administrator(browser, stack, *scopes, name=None, by="mouse", **options):
    """One who is signed in, with a key of these scopes, or of all."""
    visitor = HANDS[by](browser, stack, **options)
    visitor.key = Key(stack, name or next(names), *(scopes or EVERY_SCOPE))
    visitor.open()
    visitor.sign_in(visitor.key.secret)
    return visitor


def numbers(stem):
    count = 0
    while True:
        count += 1
        yield f"{stem}{count}"


names = numbers("kim@support ")
people = numbers("shown")


class Person:
    """Somebody who has made an account by a provider, and signed in once more on a device."""

    def __init__(self, stack, name=None, provider="google", display_name=None, device=None, **members):
        self.stack, self.name, self.provider = stack, name or next(people), provider
        self.client = GOOGLE_CLIENT if provider == "google" else APPLE_CLIENT
        self.email = members.setdefault("email", f"{self.name}@example.com")
        stack.control(f"{provider}/persons", name=self.name, **members)
        came = self.present()
        assert came["status"] == "linkRequired", came
        status, came = stack.call(
            "/v1/links/create",
            {"linkTicket": came["linkTicket"]} | ({"displayName": display_name} if display_name else {}))
        assert status == 200, came
        self.id = came["account"]["accountId"]
        identity, = came["account"]["identities"]
        self.identity_id, self.subject = identity["identityId"], identity["subject"]
        came = self.present(device or {"name": "Phone", "platform": "android"})
        assert came["status"] == "signedIn", came
        self.session = came["session"]

    def present(self, device=None):
        """The service's answer to the provider's token and code."""
        came = self.stack.control(f"{self.provider}/authorize", person=self.name, clientId=self.client)
        names = ("idToken", "serverAuthCode") if self.provider == "google" else ("identityToken", "authorizationCode")
        members = {name: came[name] for name in names}
        status, answer = self.stack.call(
            f"/v1/sign-in/{self.provider}", members | ({"device": device} if device else {}))
        assert status == 200, answer
        return answer

    @property
    def path(self):
        return f"/console/accounts/{self.id}"

    def event(self, type, **members):
        """The provider reports something about them."""
        # An event's time is in whole seconds: a session of the same second would be a later one.
        time.sleep(1 - time.time() % 1)
        came = self.stack.control(
            f"{self.provider}/events", type=type, person=self.name, clientId=self.client,
            target=f"{self.stack.service}/v1/events/{self.provider}", **members)
        assert came["deliveries"][0].get("status") in (200, 202), came

    def block(self):
        self.event("account-disabled", reason="bulk-account")
        self.stack.eventually(
            f"SELECT count(*) FROM identities WHERE identity_id = '{self.identity_id}' AND blocked_at IS NOT NULL", "1")

    def link(self, browser, client):
        """Links the account to a service, in a browser. The service takes its tokens: a code alone is no link for long."""
        visitor = Visitor(browser, self.stack)
        visitor.page.goto(linking_url(client, self.stack))
        visitor.sign_in(self.name, self.provider)
        page = visitor.click("button[name=consent][value=allow]")
        page.wait_for_url(f"{client.redirect_uri}?**")
        client.redeem(parameters(page.url)["code"])
        visitor.close()


def given_up_revocation(stack, person, by):
    """The id of a revocation that the provider has refused until the service gave it up.

    - by: an administrator.
    """
    stack.control("faults", path=f"/{person.provider}/revoke", effect="status", status=503)
    by.open(f"/console/identities/{person.identity_id}/revoke")
    by.page.get_by_label("Reason").fill("ticket 4711")
    by.press("Revoke")
    found = f"FROM outbox WHERE kind = 'revocation' AND identity_id = '{person.identity_id}'"
    stack.eventually(f"SELECT failures > 0 {found}", "t")
    # As if it had been tried for days.
    stack.sql(f"UPDATE outbox SET failures = 107, next_attempt_at = now() WHERE message_id = (SELECT message_id {found})")
    stack.eventually(f"SELECT status {found}", "failed")
    stack.control("faults/clear")
    return stack.sql(f"SELECT message_id {found}")


@functools.cache
def crowd(stack, browser):
    """People in every state that the console distinguishes, with names that try to leave their place."""
    by = administrator(browser, stack, name=MARKUP[:40])
    hostile = Person(
        stack, display_name=MARKUP + REORDERED, device={"name": MARKUP + REORDERED, "platform": MARKUP[:60]})
    client = LinkingClient(stack, MARKUP[:40])
    # As names from before may be.
    by.key.name += REORDERED
    stack.sql(f"UPDATE admin_keys SET name = name || '{REORDERED}' WHERE key_id = '{by.key.id}'")
    stack.sql(f"UPDATE oauth_clients SET name = name || '{REORDERED}' WHERE client_id = '{client.id}'")
    hostile.link(browser, client)
    disabled = Person(stack, display_name="Disabled Example")
    by.open(disabled.path)
    by.act("Disable", MARKUP + REORDERED)
    replaced = Person(stack, display_name="Replaced Example")
    by.open(replaced.path)
    by.act("Replace address", MARKUP + REORDERED, email=f"new.{replaced.email}")
    blocked = Person(stack, display_name="Blocked Example")
    blocked.block()
    apple = Person(stack, provider="apple", hidesEmail=True, givenName="Apple", familyName="Example")
    apple.event("email-disabled")
    failed = given_up_revocation(stack, Person(stack, display_name="Given Up"), by)
    # The mail server puts off what goes to this address.
    email = f"rcpt-450.{next(people)}@example.com"
    mailed = stack.account(email, "correct horse battery")["account"]["accountId"]
    stack.call("/v1/email-codes", {"email": email, "purpose": "signIn"})
    deleted = Person(stack)
    by.open(deleted.path)
    by.act("Delete", "ticket 4712")
    by.close()
    # As if an event had been tried in vain for days.
    stack.eventually("SELECT count(*) > 0 FROM webhook_streams WHERE endpoint = 'crm'", "t")
    stack.sql(
        "INSERT INTO webhook_failures (endpoint, event_id, position, type, account_id, sequence, members, happened_at,"
        " attempts, last_error, given_up_at) SELECT 'crm', gen_random_uuid(), 1, 'account.created',"
        f" '{hostile.id}', 1, '{{}}', now(), 10, 'status_500', now()")
    return {"hostile": hostile, "client": client, "disabled": disabled, "replaced": replaced, "blocked": blocked,
            "apple": apple, "failed": failed, "mailed": mailed, "deleted": deleted}
