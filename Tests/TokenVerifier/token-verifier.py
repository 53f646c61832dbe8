#!/usr/bin/python3
"""A resource server for tests: verifies access tokens by a JOSE library that knows only our key sets.

Reads one token per line and answers each with a line: `ok`, or the error. Caches the key set for as long as its
Cache-Control allows, times a factor that shortens it for tests, and never fetches it because of an unknown key."""
import argparse
import itertools
import json
import re
import sys
import time
import urllib.request

parser = argparse.ArgumentParser()
parser.add_argument("library", choices=["pyjwt", "authlib", "jose", "joserfc"])
parser.add_argument("--issuer", required=True)
parser.add_argument("--audience", required=True)
parser.add_argument("--scale", type=float, default=1.0)
parser.add_argument("addresses", nargs="+", help="of the key set, asked in turn")
options = parser.parse_args()
addresses = itertools.cycle(options.addresses)


def fetch():
    with urllib.request.urlopen(next(addresses), timeout=30) as answer:
        age = int(re.search(r"max-age=(\d+)", answer.headers["Cache-Control"])[1])
        return json.load(answer), time.monotonic() + age * options.scale


def pyjwt(token, keys):
    import jwt

    key = next(key for key in jwt.PyJWKSet.from_dict(keys).keys if key.key_id == jwt.get_unverified_header(token)["kid"])
    jwt.decode(token, key.key, algorithms=["ES256"], issuer=options.issuer, audience=options.audience)


def authlib(token, keys):
    from authlib.jose import JsonWebKey, JsonWebToken

    rules = {"iss": {"essential": True, "value": options.issuer}, "aud": {"essential": True, "value": options.audience}}
    claims = JsonWebToken(["ES256"]).decode(token, JsonWebKey.import_key_set(keys), claims_options=rules)
    claims.validate()


def jose(token, keys):
    from jose import jwt

    kid = jwt.get_unverified_header(token)["kid"]
    key = next(key for key in keys["keys"] if key["kid"] == kid)
    jwt.decode(token, key, algorithms=["ES256"], issuer=options.issuer, audience=options.audience)


def joserfc(token, keys):
    from joserfc import jwk, jwt

    token = jwt.decode(token, jwk.KeySet.import_key_set(keys), algorithms=["ES256"])
    rules = {"iss": {"essential": True, "value": options.issuer}, "aud": {"essential": True, "value": options.audience}}
    jwt.JWTClaimsRegistry(**rules).validate(token.claims)


verify = globals()[options.library]
keys, expiry = fetch()
print("ready", flush=True)
for line in sys.stdin:
    try:
        if time.monotonic() >= expiry:
            keys, expiry = fetch()
        verify(line.strip(), keys)
        print("ok", flush=True)
    except Exception as error:
        print(f"{options.library}: {type(error).__name__} {error}".replace("\n", " "), flush=True)
