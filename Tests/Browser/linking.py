"""People link their account to another service, whose OAuth client is a library of others: Authlib, requests-oauthlib."""
import base64
import os
import re
import secrets

import authlib.integrations.requests_client as authlib
import requests
import requests_oauthlib
from oauthlib.oauth2 import OAuth2Error as OAuthlibError
from authlib.integrations.base_client import OAuthError as AuthlibError
from registry import test
from signing_in import answer, expect_nothing_refused, new_person
from stack import LinkingClient
from visitor import Visitor

# Both refuse plain HTTP otherwise, on loopback too.
os.environ["AUTHLIB_INSECURE_TRANSPORT"] = os.environ["OAUTHLIB_INSECURE_TRANSPORT"] = "1"

SENTENCES = {"en-GB": "See the devices of your home", "de-DE": "Die Geräte in Ihrem Zuhause sehen"}


class Authlib:
    """The client with Authlib; the secret goes in the header field."""

    def __init__(self, stack, client):
        self.stack, self.verifier = stack, secrets.token_urlsafe(48)
        self.session = authlib.OAuth2Session(
            client.id, client.secret, scope=" ".join(client.SCOPES), redirect_uri=client.redirect_uri,
            code_challenge_method="S256", token_endpoint_auth_method="client_secret_basic",
            revocation_endpoint_auth_method="client_secret_basic")

    def url(self):
        url, self.state = self.session.create_authorization_url(
            f"{self.stack.service}/oauth/authorize", code_verifier=self.verifier)
        return url

    def fetch(self, url):
        return self.session.fetch_token(
            f"{self.stack.service}/oauth/token", authorization_response=url, state=self.state,
            code_verifier=self.verifier)

    def refresh(self):
        return self.session.refresh_token(f"{self.stack.service}/oauth/token")

    def introspect(self, token):
        return self.session.introspect_token(f"{self.stack.service}/oauth/introspect", token).json()

    def revoke(self, token):
        return self.session.revoke_token(f"{self.stack.service}/oauth/revoke", token, "refresh_token")

    refusals = AuthlibError


class RequestsOAuthlib:
    """The client with requests-oauthlib; the secret goes in the body."""

    def __init__(self, stack, client):
        self.stack, self.client = stack, client
        self.session = requests_oauthlib.OAuth2Session(
            client.id, scope=list(client.SCOPES), redirect_uri=client.redirect_uri, pkce="S256")

    @property
    def credentials(self):
        return {"client_id": self.client.id, "client_secret": self.client.secret}

    def url(self):
        url, self.state = self.session.authorization_url(f"{self.stack.service}/oauth/authorize")
        return url

    def fetch(self, url):
        return self.session.fetch_token(
            f"{self.stack.service}/oauth/token", authorization_response=url, client_secret=self.client.secret,
            include_client_id=True)

    def refresh(self):
        return self.session.refresh_token(f"{self.stack.service}/oauth/token", **self.credentials)

    def introspect(self, token):
        return requests.post(
            f"{self.stack.service}/oauth/introspect", data={"token": token} | self.credentials, timeout=20).json()

    def revoke(self, token):
        url, headers, body = self.session._client.prepare_token_revocation_request(
            f"{self.stack.service}/oauth/revoke", token)
        pair = base64.b64encode(f"{self.client.id}:{self.client.secret}".encode()).decode()
        return requests.post(url, data=body, headers=headers | {"Authorization": f"Basic {pair}"}, timeout=20)

    refusals = OAuthlibError


def to_consent(visitor, person):
    """From the chooser through the provider and a new account to the question."""
    visitor.sign_in(person, "google")
    return visitor.click('form[action^="/web/link/create"] button')


def decide(visitor, stack, word):
    """The address to which the browser was sent, by a button that the keyboard reaches."""
    page = visitor.page
    page.focus(f"button[name=consent][value={word}]")
    with page.expect_navigation(wait_until="commit"):
        page.keyboard.press("Enter")
    page.wait_for_url(re.compile("^" + re.escape(stack.app.redirect_uri)))
    return page.url, answer(stack)


@test(way=["Authlib, en-GB", "RequestsOAuthlib, de-DE"])
def refused_then_allowed(browser, stack, way):
    library, language = way.split(", ")
    client = LinkingClient(stack)
    linking = globals()[library](stack, client)
    # Google runs this mailbox, so the address is proven.
    email = f"{secrets.token_hex(8)}@gmail.com"
    person = new_person(stack, email=email)
    visitor = Visitor(browser, stack, locale=language)

    visitor.page.goto(linking.url())
    page = to_consent(visitor, person)
    text = page.inner_text("main")
    assert page.get_attribute("html", "lang") == language[:2], text
    assert "Acme Home" in text and SENTENCES[language] in text, text
    _, came = decide(visitor, stack, "deny")
    assert (came["error"], came["state"], came["iss"]) == ("access_denied", linking.state, stack.service), came

    # Signed in by now: only the question is left, and it is asked again.
    visitor.page.goto(linking.url())
    url, came = decide(visitor, stack, "allow")
    assert (came["state"], came["iss"]) == (linking.state, stack.service), came
    token = linking.fetch(url)
    assert token["token_type"] == "Bearer" and token["expires_in"] == 3600, token
    information = linking.session.get(f"{stack.service}/oauth/userinfo").json()
    assert (information["email"], information["email_verified"]) == (email, True), information
    assert linking.introspect(token["access_token"])["active"] is True

    fresh = linking.refresh()
    assert fresh["access_token"] != token["access_token"], fresh
    assert linking.session.get(f"{stack.service}/oauth/userinfo").status_code == 200
    assert linking.revoke(token["refresh_token"]).status_code == 200
    assert linking.introspect(fresh["access_token"]) == {"active": False}
    try:
        linking.refresh()
    except linking.refusals as refusal:
        assert refusal.error == "invalid_grant", refusal
    else:
        raise AssertionError("a token that was given back was refreshed")
    expect_nothing_refused(visitor)
    visitor.close()


@test
def unlinked_on_the_page_of_the_account(browser, stack):
    client = LinkingClient(stack, "Thermostat & Söhne")
    linking = Authlib(stack, client)
    visitor = Visitor(browser, stack)
    visitor.page.goto(linking.url())
    to_consent(visitor, new_person(stack))
    url, _ = decide(visitor, stack, "allow")
    token = linking.fetch(url)
    page = visitor.account()
    assert "Thermostat & Söhne" in page.inner_text("main")
    for _ in "asked", "answered":
        assert linking.introspect(token["access_token"])["active"]
        visitor.click(f'button[name=client][value="{client.id}"]')
    assert linking.introspect(token["access_token"]) == {"active": False}
    expect_nothing_refused(visitor)
    visitor.close()
