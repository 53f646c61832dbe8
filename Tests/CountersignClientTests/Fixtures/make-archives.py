#!/usr/bin/env python3
"""Makes the keyed archives beside it, in the form in which GTMAppAuth stores sessions, as its source and AppAuth's show
it. None was written by those libraries or by Apple's archiver. All secrets are made up.

Linux can't write them with Foundation: NSKeyedArchiver ignores class names that are set for writing.
"""
import base64
import datetime
import json
import pathlib
import plistlib

HERE = pathlib.Path(__file__).parent
# NSDate counts from 2001. 2026-11-21T04:00:00.75Z.
EXPIRES = datetime.datetime(2026, 11, 21, 4, 0, 0) - datetime.datetime(2001, 1, 1)
EXPIRES_AT = EXPIRES.total_seconds() + 0.75


class Archive:
    """Numbers objects as NSKeyedArchiver does: each once, referred to by its UID."""

    def __init__(self):
        self.objects = ["$null"]
        self.classes = {}
        self.seen = {}

    def value(self, value):
        """What stands in an object for a value of one of its keys."""
        if value is None:
            return plistlib.UID(0)
        if isinstance(value, (bool, int, float)):
            return value
        return self.add(value)

    def add(self, value):
        if isinstance(value, Object):
            if id(value) in self.seen:
                return self.seen[id(value)]
            index = len(self.objects)
            self.objects.append(None)
            self.seen[id(value)] = plistlib.UID(index)
            encoded = {key: self.value(member) for key, member in value.members.items()}
            encoded.update({key: [self.value(item) for item in items] for key, items in value.lists.items()})
            encoded["$class"] = self.class_uid(value.name, value.ancestors)
            self.objects[index] = encoded
            return plistlib.UID(index)
        self.objects.append(value)
        return plistlib.UID(len(self.objects) - 1)

    def class_uid(self, name, ancestors):
        if name not in self.classes:
            self.objects.append({"$classname": name, "$classes": [name, *ancestors]})
            self.classes[name] = plistlib.UID(len(self.objects) - 1)
        return self.classes[name]

    def write(self, name, root):
        document = {
            "$version": 100000,
            "$archiver": "NSKeyedArchiver",
            "$top": {"root": self.add(root)},
            "$objects": self.objects,
        }
        (HERE / name).write_bytes(plistlib.dumps(document, fmt=plistlib.FMT_BINARY))


class Object:
    def __init__(self, name, members, lists=None, ancestors=("NSObject",)):
        self.name, self.members, self.lists, self.ancestors = name, members, lists or {}, ancestors


class Number(Object):
    """A number as an object, where it is not a primitive of its key."""

    def __init__(self, value):
        super().__init__("NSNumber", {"NS.intval": value}, ancestors=("NSValue", "NSObject"))


def url(text):
    return Object("NSURL", {"NS.base": None, "NS.relative": text})


def date(time):
    return Object("NSDate", {"NS.time": time})


def dictionary(members):
    return Object("NSDictionary", {}, {"NS.keys": list(members.keys()), "NS.objects": list(members.values())})


def id_token(email="ana@example.net", verified="true"):
    def part(value):
        text = json.dumps(value, separators=(",", ":")).encode()
        return base64.urlsafe_b64encode(text).rstrip(b"=").decode()

    claims = {
        "iss": "https://accounts.google.com", "sub": "10769150350006150715113082367", "aud": "server.example",
        "azp": "7f3a.apps.googleusercontent.com", "iat": 1795230000, "exp": 1795233600, "email": email,
        "email_verified": verified,
    }
    return ".".join([part({"alg": "RS256", "kid": "k1"}), part(claims), "c2lnbmF0dXJl"])


def configuration(**other):
    return Object("OIDServiceConfiguration", {
        "authorizationEndpoint": url("https://accounts.google.com/o/oauth2/v2/auth"),
        "tokenEndpoint": url("https://www.googleapis.com/oauth2/v4/token"),
        "issuer": None, "registrationEndpoint": None, "endSessionEndpoint": None, "discoveryDocument": None,
        **other,
    })


def authorization_request(service, **other):
    return Object("OIDAuthorizationRequest", {
        "configuration": service, "response_type": "code", "client_id": "7f3a.apps.googleusercontent.com",
        "client_secret": None, "scope": "openid email profile",
        "redirect_uri": url("com.googleusercontent.apps.7f3a:/oauth2callback"), "state": "made-up-state",
        "nonce": "made-up-nonce", "code_verifier": "made-up-verifier", "code_challenge": "made-up-challenge",
        "code_challenge_method": "S256", "additionalParameters": dictionary({"audience": "server.example"}),
        **other,
    })


def authorization_response(request, **other):
    return Object("OIDAuthorizationResponse", {
        "request": request, "code": "4/made-up-code", "state": "made-up-state", "access_token": None,
        "expires_in": None, "token_type": None, "id_token": None, "scope": None,
        "additionalParameters": dictionary({}), **other,
    })


def token_response(service, **other):
    request = Object("OIDTokenRequest", {
        "configuration": service, "grant_type": "authorization_code", "code": "4/made-up-code",
        "client_id": "7f3a.apps.googleusercontent.com", "client_secret": None,
        "redirect_uri": url("com.googleusercontent.apps.7f3a:/oauth2callback"), "scope": None, "refresh_token": None,
        "code_verifier": "made-up-verifier", "additionalParameters": dictionary({}), "additionalHeaders": None,
    })
    return Object("OIDTokenResponse", {
        "request": request, "access_token": "ya29.made-up-access", "expires_in": date(EXPIRES_AT),
        "token_type": "Bearer", "id_token": id_token(), "refresh_token": "1//made-up-refresh",
        "scope": "openid email", "additionalParameters": dictionary({"server_code": "4/made-up-server-code"}),
        **other,
    })


def session(authorization, token, state=None, **other):
    return Object("GTMAppAuthFetcherAuthorization", {
        "authState": Object("OIDAuthState", {
            "lastAuthorizationResponse": authorization, "lastTokenResponse": token, "authorizationError": None,
            "scope": "openid email", "refreshToken": "1//made-up-refresh", "needsTokenRefresh": False,
            **(state or {}),
        }),
        "serviceProvider": None, "userID": "10769150350006150715113082367", "userEmail": "ana@example.net",
        "userEmailIsVerified": "true", **other,
    })


def usual(state=None, token=None, **other):
    service = configuration()
    return session(
        authorization_response(authorization_request(service)), token_response(service, **(token or {})), state, **other)


def error(domain, code):
    info = dictionary({"NSLocalizedDescription": "made up"})
    return Object("NSError", {"NSCode": code, "NSDomain": domain, "NSUserInfo": info})


Archive().write("session.archive", usual())
Archive().write("needs-refresh.archive", usual({"needsTokenRefresh": True}))
Archive().write(
    "refused.archive", usual({"authorizationError": error("org.openid.appauth.oauth_token", -10)}))
Archive().write("no-labels.archive", usual(
    None, {"id_token": None}, userID=None, userEmail=None, userEmailIsVerified=None))
Archive().write("no-id-token.archive", usual(None, {"id_token": "not a JWT"}, userEmailIsVerified="y"))
discovered = configuration(
    tokenEndpoint=url("https://idp.example/token"), authorizationEndpoint=url("https://idp.example/authorize"),
    issuer=url("https://idp.example"),
    discoveryDocument=Object("OIDServiceDiscovery", {"discoveryDictionary": dictionary({"issuer": "https://idp.example"})}))
secret = authorization_request(discovered, client_id="web client", client_secret="s:cr+t made up")
Archive().write("discovered.archive", session(
    authorization_response(
        secret, access_token="at-made-up-implicit", expires_in=date(EXPIRES_AT), id_token=id_token(), scope="email"),
    None, {"scope": None, "refreshToken": None}, serviceProvider="Example"))
Archive().write("no-configuration.archive", session(
    authorization_response(authorization_request(None)), None))
Archive().write("wrong-types.archive", usual({"refreshToken": Number(7)}))
Archive().write("another-class.archive", dictionary({"access_token": "ya29.made-up-access"}))
# A text in a text, and objects that are in themselves, which a reader that follows them never leaves.
inner = Object("NSString", {"NS.string": "1//made-up-refresh"})
Archive().write("text-in-text.archive", usual({"refreshToken": Object("NSMutableString", {"NS.string": inner})}))
endless = Object("NSString", {})
endless.members["NS.string"] = endless
Archive().write("endless-text.archive", usual({"refreshToken": endless}))
endless = url("token")
endless.members["NS.base"] = endless
Archive().write("endless-url.archive", session(
    authorization_response(authorization_request(configuration(tokenEndpoint=endless))), None))
