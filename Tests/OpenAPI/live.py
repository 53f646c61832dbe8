"""The hooks of schemathesis. The examples of openapi.yaml stand for live values: before a request is sent, each of them
is replaced by one that the service knows. So a request that is sent as it is documented has to succeed."""
import base64
import hashlib
import json
import os
import time
from functools import cached_property

import schemathesis
from schemathesis.core.failures import Failure

from people import Account, Browser, Person
from world import APPLE_CLIENT, REDIRECT, WEB_CLIENT

ADDRESSES = json.loads(os.environ["OPENAPI_WORLD"])

# The examples of openapi.yaml.
BEARER = "Bearer live"
EMAIL = "kim@example.com"
NEW_EMAIL = "kim@new.example"
CODE = "204816"
WEB_CODE = "pX2Vn9QeTb4cWk7RzJ0sYdLmHf5gUa8iO1yCtB6xNvE"
# That of the example's verifier (RFC 7636, appendix B).
CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
NONCE = "5b2Jq0cW1l"
# The tickets of an unknown identity, of one that has been shown an account, and of a mailed code.
TICKET = "79ufB6ZFgI34wPt4FHlSaehaPumDTXqDoj6RTmSPD1M"
SHOWN_TICKET = "Wq7dXz2NcR0vKbTfJ5mYhLsEo8uGpA3iQ1yCtV9xSkM"
MAILBOX_TICKET = "b2R3Vq8mTnWc0KyHs5LxJdPz7uFgAe1iYt9oXkC4GrM"
EXAMPLE_IDS = {
    "accountId": "01a1fc41-9b43-7f32-8e73-0b16f91ee2fd",
    "sessionId": "01a1fc41-9b43-7a01-afff-a0f49219c796",
    "identityId": "01a1fc41-9b43-7cef-ac4a-1bb95032c35a",
    "providerOrIdentityId": "01a1fc41-9b43-7cef-ac4a-1bb95032c35a",
    "revocationId": "01a1fc41-9d02-7c11-b6a9-5d0f3a7e9c41",
    "eventId": "01a1fc41-9e11-7b02-92c4-0c1d7e5f8a30",
    "clientId": "csc_GgE2dJ3kq0hXvT5mWnYb1A",
    "client_id": "csc_GgE2dJ3kq0hXvT5mWnYb1A",
}
# The flow and the hidden field of a page, and what else a page leads to.
FLOW = "01a1fc41-9f20-7d11-b1c2-3a4f5e6d7c8b"
CSRF = "csrf-of-the-page"
WEB_STATE, HANDLE, ASSET = "state-of-the-flow", "handle-of-the-answer", "asset-of-the-page"
OAUTH_CODE = "zT5vQ8mJc2kXrL0bWnHy4GsPdA7uEiF9oRe6YtBq1Kg"

PAGES = ("/web/", "/oauth/authorize", "/oauth/other-account", "/app-flip")

WITH_PASSWORD = {
    "signInOnPage", "signInOnPageByCode",
    "signInWithPassword", "signInWithEmailCode", "signInByWeb", "changePassword", "verifyEmail", "resetPassword", "mailCode"}
CHANGES_OF_CLIENTS = {
    "readOAuthClient", "changeOAuthClient", "rotateOAuthClientSecret", "disableOAuthClient", "enableOAuthClient"}
PURPOSES = {"signInWithEmailCode": "signIn", "verifyEmail": "verifyEmail", "resetPassword": "resetPassword"}


class Cast:
    """The persons and objects that the requests of an operation use, each made on first use. They are used until a
    request succeeds, which may have consumed them."""

    def __init__(self, operation, path, by_password):
        self.operation, self.path = operation, path
        self.by_password = by_password
        self.since = time.monotonic()

    @property
    def is_fresh(self):
        """Whether the service does not yet ask the person to authenticate again."""
        return time.monotonic() - self.since < 300

    @cached_property
    def newcomer(self):
        return Person(ADDRESSES)

    @cached_property
    def account(self):
        account = Account(ADDRESSES, self.by_password)
        if self.operation in ("unlinkIdentity", "detachIdentity"):
            account.bind_google()
        return account

    @cached_property
    def revocation(self):
        path = f"/admin/v1/identities/{self.account.identity}/revoke"
        return self.account.administer("POST", path, {"reason": "To be looked at"})["revocationId"]

    @cached_property
    def event(self):
        self.account.event("apple", target=f"{ADDRESSES['public']}/v1/events/apple")
        return self.account.administer("GET", "/admin/v1/provider-events?limit=1")["items"][0]["eventId"]

    @cached_property
    def ticket(self):
        return self.newcomer.ticket()

    @cached_property
    def shown_ticket(self):
        return Account(ADDRESSES).shown_ticket()

    @cached_property
    def mailbox_ticket(self):
        return Account(ADDRESSES).mailbox_ticket()

    @cached_property
    def oauth_code(self):
        return self.account.flip()

    @cached_property
    def tokens(self):
        return self.account.linked()

    @cached_property
    def oauth_client(self):
        """A client of its own for what changes one; the linked one for what is about links."""
        if self.operation not in CHANGES_OF_CLIENTS:
            if self.operation in ("unlinkClient", "unlinkClientOfAccount"):
                self.tokens
            return ADDRESSES["oauthClient"]["clientId"]
        return self.account.administer("POST", "/admin/v1/oauth-clients", {
            "name": "Another", "redirectUris": ["https://another.example.com/linked"]})["clientId"]

    @cached_property
    def browser(self):
        """Before the page whose form is sent, or from which the browser goes on."""
        browser = Browser(ADDRESSES)
        match self.operation:
            case "createOnPage" | "bindOnPage" | "cancelLinkOnPage":
                browser.come_to_choose(Account(ADDRESSES))
            case "unlinkOnPage" | "signOutOnPage":
                account = Account(ADDRESSES, password=True)
                account.bind_google()
                browser.sign_in(account)
            case "renameOnPage" | "changeEmailOnPage" | "changePasswordOnPage" | "exportOnPage" | "deleteOnPage":
                browser.sign_in(Account(ADDRESSES, password=True))
                browser.get(self.path)
            case "linkOnPage" | "endDeviceOnPage" | "signOutEverywhereOnPage":
                browser.sign_in(Account(ADDRESSES, password=True))
            case "keepAddressOnPage":
                account = Account(ADDRESSES, password=True)
                account.administer("POST", f"/admin/v1/accounts/{account.id}/replace-email", {
                    "email": self.newcomer.email, "reason": "To be stopped"})
                browser.sign_in(account)
            case "registerOnPage" | "resetPasswordOnPage":
                browser.get(self.path)
            case "decideOnClient" | "useAnotherAccount":
                browser.sign_in(Account(ADDRESSES, password=True))
                browser.come_to_consent()
            case "takeAppleAnswer" | "finishApple":
                browser.leave_for("apple")
            case "finishGoogle":
                browser.leave_for("google")
            case _:
                browser.open()
        return browser

    @cached_property
    def web_code(self):
        return self.account.web_code(CHALLENGE)

    @cached_property
    def code(self):
        if self.operation == "bindAccount":
            return self.account.mailed("bind", linkTicket=self.ticket)
        if self.operation == "signInOnPageByCode":
            self.browser.ask_for_code(self.account)
            return self.account.code_in_mail()
        return self.account.mailed(PURPOSES[self.operation])


class Staging:
    """One request and the live values for its examples."""

    casts = {}

    def __init__(self, case):
        self.operation = case.operation.definition.raw["operationId"]
        self.path = case.operation.path
        self.body = case.body if isinstance(case.body, dict) else {}
        by_password = self.operation in WITH_PASSWORD or "password" in self.body or "emailCode" in self.body
        key = self.operation, by_password
        if key not in self.casts or not self.casts[key].is_fresh:
            self.casts[key] = Cast(self.operation, self.path, by_password)
        self.cast = self.casts[key]

    @classmethod
    def used_up(cls, operation):
        cls.casts = {key: cast for key, cast in cls.casts.items() if key[0] != operation}

    @property
    def is_proven(self):
        """Whether the request proves an account without a session."""
        return self.operation == "bindAccount" and (
            "email" in self.body or self.body.get("linkTicket") == SHOWN_TICKET)

    @cached_property
    def apple(self):
        members = {}
        if self.body.get("nonce") == NONCE:
            members["nonce"] = hashlib.sha256(NONCE.encode()).hexdigest()
        if self.body.get("redirectUri") == REDIRECT:
            members["redirectUri"] = REDIRECT
        client = WEB_CLIENT if self.body.get("clientId") == WEB_CLIENT else APPLE_CLIENT
        return self.cast.newcomer.apple(client, **members)

    @cached_property
    def google(self):
        return (self.cast.account if self.operation == "linkIdentity" else self.cast.newcomer).google()

    def member(self, name, value):
        """The live value for an example in a body; any other value is returned as it is."""
        if not isinstance(value, str):
            return value
        match name:
            case "identityToken" if value.startswith("eyJ"):
                return self.apple["identityToken"]
            case "authorizationCode" if value.startswith("c0ffee"):
                return self.apple["authorizationCode"]
            case "idToken" if value.startswith("eyJ"):
                return self.google["idToken"]
            case "serverAuthCode" if value.startswith("4/0A"):
                return self.google["serverAuthCode"]
            case "linkTicket" if value == TICKET:
                return self.cast.ticket
            case "linkTicket" if value == SHOWN_TICKET:
                return self.cast.shown_ticket
            case "linkTicket" if value == MAILBOX_TICKET:
                return self.cast.mailbox_ticket
            case "refreshToken" if value.startswith("AQRk"):
                return self.cast.account.session["refreshToken"]
            case "payload" if value.startswith("eyJ"):
                return self.cast.newcomer.event("apple")
            case "code" if value == OAUTH_CODE:
                return self.cast.oauth_code
            case "refresh_token" | "token" if value.startswith("rt_"):
                return self.cast.tokens["refresh_token"]
            case "assertion" if value.startswith("eyJ"):
                return self.cast.newcomer.assertion()
            case "client_id" if value == EXAMPLE_IDS["client_id"]:
                return ADDRESSES["oauthClient"]["clientId"]
            case "csrf" if value == CSRF:
                return self.cast.browser.csrf(self.path.replace("{provider}", "google"))
            case "state" if value == WEB_STATE:
                return self.cast.browser.state
            case "identity" if value == EXAMPLE_IDS["identityId"]:
                return self.cast.browser.linked_identity
            case "code" if value == WEB_CODE:
                return self.cast.web_code
            case "code" | "emailCode" if value == CODE:
                return self.cast.code
            case "email" if value == EMAIL:
                return (self.cast.newcomer if self.operation == "registerAccount" else self.cast.account).email
            case "email" if value == NEW_EMAIL:
                return self.cast.newcomer.email
        return value

    def parameter(self, name, value):
        """The live value for an example in a path or a query."""
        match name:
            case "flow" if value == FLOW:
                return self.cast.browser.flow
            case "state" if value == WEB_STATE:
                return self.cast.browser.state
            case "h" if value == HANDLE:
                return self.cast.browser.handle
            case "asset" if value == ASSET:
                return self.cast.browser.asset
        if EXAMPLE_IDS.get(name) != value:
            return value
        if name in ("clientId", "client_id"):
            return self.cast.oauth_client
        account = self.cast.account
        match name:
            case "accountId":
                return account.id
            case "sessionId":
                return account.session["sessionId"]
            case "identityId" | "providerOrIdentityId":
                return account.identity
            case "revocationId":
                return self.cast.revocation
            case "eventId":
                return self.cast.event


@schemathesis.auth()
class Session:
    """A placeholder for a bearer token, which `before_call` replaces."""

    def get(self, case, context):
        return BEARER

    def set(self, case, data, context):
        case.headers["Authorization"] = data


@schemathesis.serializer("application/secevent+jwt")
def compact(context, value):
    return value if isinstance(value, bytes) else str(value).encode()


@schemathesis.hook
def before_call(context, case, kwargs):
    stage = Staging(case)
    for parameters in (case.path_parameters, case.query):
        for name, value in (parameters or {}).items():
            parameters[name] = stage.parameter(name, value) if isinstance(value, str) else value
    if isinstance(case.body, dict):
        case.body = {name: stage.member(name, value) for name, value in case.body.items()}
    elif stage.operation == "takeGoogleEvent" and isinstance(case.body, str) and case.body.startswith("eyJ"):
        case.body = stage.cast.newcomer.event("google")
    if stage.path.startswith(PAGES) and "browser" in vars(stage.cast):
        case.headers["Cookie"] = stage.cast.browser.cookies
    if case.headers.get("Authorization") == BEARER:
        schemes = {name for each in case.operation.definition.raw.get("security", []) for name in each}
        if "adminKey" in schemes:
            case.headers["Authorization"] = f"Bearer {ADDRESSES['adminKey']}"
        elif "client" in schemes:
            client = ADDRESSES["oauthClient"]
            pair = base64.b64encode(f"{client['clientId']}:{client['clientSecret']}".encode()).decode()
            case.headers["Authorization"] = f"Basic {pair}"
        elif "clientToken" in schemes:
            case.headers["Authorization"] = f"Bearer {stage.cast.tokens['access_token']}"
        elif "session" in schemes and not stage.is_proven:
            case.headers["Authorization"] = f"Bearer {stage.cast.account.bearer}"
        else:
            del case.headers["Authorization"]


@schemathesis.hook
def after_call(context, case, response):
    # A page's form leads on.
    is_page = case.operation.path.startswith(PAGES)
    spends = case.method != "GET" or "/callback/" in case.operation.path
    if spends and response.status_code < (400 if is_page else 300):
        Staging.used_up(case.operation.definition.raw["operationId"])


class ExampleRefused(Failure):
    pass


@schemathesis.check
def example_succeeds(context, response, case):
    # A page may lead on.
    if case.meta and case.meta.phase.name == "examples" and not 200 <= response.status_code < 400:
        raise ExampleRefused(
            operation=case.operation.label, title="An example is refused", message=response.text, case_id=case.id)


class HeaderMissing(Failure):
    pass


# Seconds for which others than the key set may be kept.
SHARED = {
    "/.well-known/jwks.json": 300, "/.well-known/openid-configuration": 300, "/web/assets/{asset}": 31_536_000,
    "/.well-known/oauth-authorization-server": 60, "/.well-known/apple-app-site-association": 3600,
    "/.well-known/assetlinks.json": 3600}
OAUTH = {"/oauth/token", "/oauth/revoke", "/oauth/introspect", "/oauth/userinfo"}


@schemathesis.check
def common_headers(context, response, case):
    """The headers of every answer."""
    headers = {name.lower(): values[0] for name, values in response.headers.items()}
    path = case.operation.path
    shared = path in SHARED and response.status_code == 200
    expected = {
        "x-content-type-options": "nosniff",
        "cache-control": f"public, max-age={SHARED[path]}" if shared else "no-store"}
    # Clients hear of another scheme, or of more than its name (RFC 6749 §5.2, RFC 6750 §3).
    if response.status_code == 401 and path not in OAUTH:
        expected["www-authenticate"] = "Bearer"
    wrong = [name for name, value in expected.items() if headers.get(name) != value]
    wrong += [name for name in ("x-request-id",) if not headers.get(name)]
    cookie = [] if path.startswith(PAGES) else ["set-cookie"]
    wrong += [name for name in (*cookie, "access-control-allow-origin") if name in headers]
    if response.status_code == 401 and not headers.get("www-authenticate"):
        wrong.append("www-authenticate")
    if response.status_code in (429, 503) and not headers.get("retry-after"):
        wrong.append("retry-after")
    if wrong:
        raise HeaderMissing(
            operation=case.operation.label, title="Headers", message=", ".join(wrong), case_id=case.id)
