"""People who have accounts at the providers and at the service, made through the sandbox and the API as anybody would."""
import json
import re
import time
import uuid

import requests

from world import APPLE_CLIENT, GOOGLE_CLIENT, PATIENCE

PASSWORD = "correct horse battery staple"


class Person:
    """Somebody new, without an account here."""

    def __init__(self, addresses):
        self.addresses = addresses
        self.name = "p" + uuid.uuid4().hex
        self.email = f"{self.name}@example.com"
        for provider in ("apple", "google"):
            self.control(f"{provider}/persons", name=self.name, email=self.email)

    def control(self, path, **members):
        return answered(requests.post(f"{self.addresses['sandbox']}/control/{path}", json=members, timeout=PATIENCE))

    def call(self, method, path, members=None, bearer=None):
        headers = {"Authorization": f"Bearer {bearer}"} if bearer else {}
        return answered(requests.request(
            method, self.addresses["public"] + path, json=members, headers=headers, timeout=PATIENCE))

    def administer(self, method, path, members=None):
        headers = {"Authorization": f"Bearer {self.addresses['adminKey']}"}
        return answered(requests.request(
            method, self.addresses["private"] + path, json=members, headers=headers, timeout=PATIENCE))

    def apple(self, client=APPLE_CLIENT, **members):
        """What Apple's SDK hands to the app."""
        return self.control("apple/authorize", person=self.name, clientId=client, repeatEmail=True, **members)

    def google(self):
        return self.control("google/authorize", person=self.name, clientId=GOOGLE_CLIENT, forceConsent=True)

    def ticket(self):
        """A link ticket of theirs."""
        token = self.google()["idToken"]
        return self.call("POST", "/v1/sign-in/google", {"idToken": token})["linkTicket"]

    def event(self, provider, **members):
        """A token by which the provider tells of them."""
        client = APPLE_CLIENT if provider == "apple" else GOOGLE_CLIENT
        kind = "email-enabled" if provider == "apple" else "tokens-revoked"
        return self.control(f"{provider}/events", type=kind, person=self.name, clientId=client, **members)["token"]


class Account(Person):
    """Somebody who has an account and a session of it: after signing in with Apple, or by a password."""

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

    def mailed(self, purpose, **members):
        """The code that is mailed to them for a purpose."""
        self.call("POST", "/v1/email-codes", {"email": self.email, "purpose": purpose, **members})
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            with open(self.addresses["mail"]) as mail:
                for line in mail:
                    # The last line may be on its way.
                    if self.email in line and line.endswith("\n"):
                        code = re.search(r"\b\d{3} ?\d{3}\b", json.loads(line)["text"])
                        if code:
                            return code[0]
            time.sleep(0.02)
        raise TimeoutError(f"no code for {purpose}")


def answered(answer):
    # A busy machine may put a request off.
    for _ in range(20):
        if answer.status_code != 503:
            break
        time.sleep(0.5)
        answer = requests.Session().send(answer.request, timeout=PATIENCE)
    if not answer.ok:
        raise RuntimeError(f"{answer.request.method} {answer.request.url}: {answer.status_code} {answer.text}")
    return answer.json() if answer.content else None
