"""People with accounts at the providers and at the service, made through the sandbox and the public API."""
import json
import re
import time
import urllib.parse
import uuid

import requests

from world import APPLE_CLIENT, GOOGLE_CLIENT, LINKING_AUDIENCE, TIMEOUT, WEB_APP, WEB_REDIRECT

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
        raise TimeoutError(f"no code for {purpose}")


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
