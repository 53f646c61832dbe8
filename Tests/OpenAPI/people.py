"""People with accounts at the providers and at the service, made through the sandbox and the public API."""
import json
import re
import time
import urllib.parse
import uuid
from functools import cached_property

import requests

from world import (
    APPLE_CLIENT, GOOGLE_CLIENT, LINKING_AUDIENCE, LINKING_REDIRECT, TIMEOUT, WEB_APP, WEB_REDIRECT)

FLIP_REDIRECT = "https://oauth-redirect.googleusercontent.com/a/com.google.OPA"
PASSWORD = "correct horse battery staple"


class Person:
    """A new person, without an account here."""

    def __init__(self, addresses):
        self.addresses = addresses
        self.name = "p" + uuid.uuid4().hex
        self.email = f"{self.name}@example.com"
        for provider in ("apple", "google"):
            self.control(f"{provider}/persons", name=self.name, email=self.email)

    def control(self, path, **members):
        return answered(requests.post(f"{self.addresses['sandbox']}/control/{path}", json=members, timeout=TIMEOUT))

    def call(self, method, path, members=None, bearer=None):
        headers = {"Authorization": f"Bearer {bearer}"} if bearer else {}
        return answered(requests.request(
            method, self.addresses["public"] + path, json=members, headers=headers, timeout=TIMEOUT))

    def administer(self, method, path, members=None):
        headers = {"Authorization": f"Bearer {self.addresses['adminKey']}"}
        return answered(requests.request(
            method, self.addresses["private"] + path, json=members, headers=headers, timeout=TIMEOUT))

    def apple(self, client=APPLE_CLIENT, **members):
        """The values that Apple's SDK passes to the app."""
        return self.control("apple/authorize", person=self.name, clientId=client, repeatEmail=True, **members)

    def google(self):
        return self.control("google/authorize", person=self.name, clientId=GOOGLE_CLIENT, forceConsent=True)

    def assertion(self):
        """What Google presents of this person in streamlined linking."""
        return self.control("google/authorize", person=self.name, clientId=LINKING_AUDIENCE)["idToken"]

    def ticket(self):
        """A link ticket of this person."""
        token = self.google()["idToken"]
        return self.call("POST", "/v1/sign-in/google", {"idToken": token})["linkTicket"]

    def event(self, provider, **members):
        """A token of the provider with an event about this person."""
        client = APPLE_CLIENT if provider == "apple" else GOOGLE_CLIENT
        kind = "email-enabled" if provider == "apple" else "tokens-revoked"
        return self.control(f"{provider}/events", type=kind, person=self.name, clientId=client, **members)["token"]


class Account(Person):
    """A person with an account and a session of it: after signing in with Apple, or by a password."""

    def __init__(self, addresses, password=False):
        super().__init__(addresses)
        if password:
            answer = self.call("POST", "/v1/accounts", {"email": self.email, "password": PASSWORD})
        else:
            given = self.apple()
            tokens = {name: given[name] for name in ("identityToken", "authorizationCode")}
            ticket = self.call("POST", "/v1/sign-in/apple", tokens)["linkTicket"]
            answer = self.call("POST", "/v1/links/create", {"linkTicket": ticket})
        self.id = answer["account"]["accountId"]
        self.session = answer["session"]
        self.identity = answer.get("identity", {}).get("identityId")

    @property
    def bearer(self):
        return self.session["accessToken"]

    def bind_google(self):
        self.call("POST", "/v1/links/bind", {"linkTicket": self.ticket()}, self.bearer)

    def shown_ticket(self):
        """A link ticket that proves the mailbox and shows this account, whose address Apple has but stated: Google says
        that it hosts the domain."""
        self.control("google/persons", name=self.name, hostedDomain="example.com")
        return self.ticket()

    def mailbox_ticket(self):
        """The link ticket of a mailed code."""
        code = self.mailed("signIn")
        return self.call("POST", "/v1/sign-in/email-code", {"email": self.email, "code": code})["linkTicket"]

    def web_code(self, challenge):
        """The code of a sign-in in a browser, by the password."""
        browser = requests.Session()
        page = browser.get(f"{self.addresses['public']}/web/authorize", timeout=TIMEOUT, params={
            "app": WEB_APP, "redirect_uri": WEB_REDIRECT, "code_challenge": challenge, "code_challenge_method": "S256",
            "state": uuid.uuid4().hex})
        form = re.search(r'action="(/web/password[^"]*)".*?name="csrf" value="([^"]+)"', page.text, re.S)
        answer = browser.post(
            self.addresses["public"] + form[1].replace("&amp;", "&"), timeout=TIMEOUT, allow_redirects=False,
            data={"csrf": form[2], "email": self.email, "password": PASSWORD})
        query = urllib.parse.urlsplit(answer.headers["Location"]).query
        return urllib.parse.parse_qs(query)["code"][0]

    def flip(self):
        """The code of an App Flip to the client."""
        return self.call("POST", "/oauth/flip", {
            "client_id": self.addresses["oauthClient"]["clientId"], "redirect_uri": FLIP_REDIRECT, "platform": "ios",
            "consent": True}, self.bearer)["code"]

    def linked(self):
        """The tokens of the client."""
        client = self.addresses["oauthClient"]
        return answered(requests.post(f"{self.addresses['public']}/oauth/token", timeout=TIMEOUT, data={
            "grant_type": "authorization_code", "code": self.flip(), "redirect_uri": FLIP_REDIRECT,
            "client_id": client["clientId"], "client_secret": client["clientSecret"]}))

    def mailed(self, purpose, **members):
        """The code that is mailed to this person for a purpose."""
        self.call("POST", "/v1/email-codes", {"email": self.email, "purpose": purpose, **members})
        return self.code_in_mail()

    def code_in_mail(self):
        end = time.monotonic() + TIMEOUT
        while time.monotonic() < end:
            with open(self.addresses["mail"]) as mail:
                for line in mail:
                    # The last line may be incomplete.
                    if self.email in line and line.endswith("\n"):
                        code = re.search(r"\b\d{3} ?\d{3}\b", json.loads(line)["text"])
                        if code:
                            return code[0]
            time.sleep(0.02)
        raise TimeoutError("no code in the mail")


class Browser:
    """A browser on our own pages, with the cookies that it has got and the page that it shows."""

    def __init__(self, addresses):
        self.addresses, self.session, self.flow = addresses, requests.Session(), None

    @property
    def cookies(self):
        return "; ".join(f"{cookie.name}={cookie.value}" for cookie in self.session.cookies)

    def get(self, path, **query):
        """Follows redirects to the page that is shown then."""
        self.shown(self.session.get(self.addresses["public"] + path, params=query, timeout=TIMEOUT))

    def post(self, path, allow_redirects=True, **fields):
        """Sends a form of the page."""
        action = f"{path}?flow={self.flow}" if self.flow else path
        answer = self.session.post(
            self.addresses["public"] + action, {"csrf": self.csrf(path), **fields}, timeout=TIMEOUT,
            allow_redirects=allow_redirects)
        self.shown(answer)
        return answer

    def shown(self, answer):
        if answer.status_code >= 400:
            raise RuntimeError(f"{answer.request.method} {answer.request.url}: {answer.status_code}")
        self.page = answer.text
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(answer.url).query)
        self.flow = query.get("flow", [self.flow])[0]

    def csrf(self, path):
        """The hidden field of the page's form that goes there; any, where the page has no such form."""
        form = re.search(rf'action="{path}[?"].*?name="csrf" value="([^"]+)"', self.page, re.S)
        if not form and self.flow:
            for screen in "password", "email", "create", "bind":
                page = self.session.get(f"{self.addresses['public']}/web/sign-in", timeout=TIMEOUT, params={
                    "flow": self.flow, "with": screen}).text
                form = form or re.search(rf'action="{path}[?"].*?name="csrf" value="([^"]+)"', page, re.S)
        return form[1] if form else "none"

    @property
    def linked_identity(self):
        return re.search(r'name="identity" value="([^"]+)"', self.page)[1]

    @property
    def asset(self):
        return re.search(r'"/web/assets/([^"]+)"', self.page)[1]

    def open(self):
        """A sign-in that ends at the page of the account."""
        self.get("/web/account")

    def sign_in(self, account):
        self.open()
        self.post("/web/password", email=account.email, password=PASSWORD)
        self.flow = None

    def ask_for_code(self, account):
        self.post("/web/email-code", email=account.email)

    def come_to_choose(self, account):
        """The page of a person who has proven the mailbox of an account that they don't know."""
        self.open()
        self.ask_for_code(account)
        self.post("/web/email-code", email=account.email, code=account.code_in_mail())

    def come_to_consent(self):
        self.get("/oauth/authorize", client_id=self.addresses["oauthClient"]["clientId"], state="s",
                 redirect_uri=LINKING_REDIRECT, response_type="code", scope="profile")

    def leave_for(self, provider):
        """Goes to the provider, to come back with the state that it is sent there with."""
        self.open()
        answer = self.post(f"/web/start/{provider}", allow_redirects=False)
        self.state = urllib.parse.parse_qs(urllib.parse.urlsplit(answer.headers["Location"]).query)["state"][0]

    @cached_property
    def handle(self):
        """Of what Apple has made it post, which is good once."""
        answer = self.session.post(
            f"{self.addresses['public']}/web/callback/apple", timeout=TIMEOUT, allow_redirects=False,
            data={"state": self.state, "error": "user_cancelled_authorize"})
        return urllib.parse.parse_qs(urllib.parse.urlsplit(answer.headers["Location"]).query)["h"][0]


def answered(answer):
    # A busy machine may answer that it is overloaded.
    for _ in range(20):
        if answer.status_code != 503:
            break
        time.sleep(0.5)
        answer = requests.Session().send(answer.request, timeout=TIMEOUT)
    if not answer.ok:
        raise RuntimeError(f"{answer.request.method} {answer.request.url}: {answer.status_code} {answer.text}")
    return answer.json() if answer.content else None
