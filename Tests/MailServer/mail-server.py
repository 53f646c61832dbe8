#!/usr/bin/python3
"""A mail server for tests: aiosmtpd on a free port of this machine. Each message is a line of JSON on standard output, with
what Python's own email package reads in it; the first line is the port. Ends when standard input does."""
import argparse
import asyncio
import base64
import email
import email.policy
import json
import ssl
import sys

from aiosmtpd.smtp import SMTP, AuthResult

parser = argparse.ArgumentParser()
parser.add_argument("--certificate", help="a PEM file of certificate and key: STARTTLS is offered, and required")
parser.add_argument("--tls-first", action="store_true", help="TLS before the greeting instead")
parser.add_argument("--login", help="USER:PASSWORD that clients have to send")
parser.add_argument("--for-servers", action="store_true", help="neither AUTH nor SMTPUTF8 is offered")
options = parser.parse_args()


def say(value):
    print(json.dumps(value), flush=True)


def read(part):
    """The text of a part. Lines end in CR LF in transit."""
    return part and part.get_content().replace("\r\n", "\n")


class Handler:
    """Accepts everything except for recipients whose local part asks for a refusal: `rcpt-550`, `data-451`, and
    `once-450`, which is refused the first time only."""

    def __init__(self):
        self.seen = set()

    def refusal(self, address, command):
        word, _, code = address.partition("@")[0].partition("-")
        if word == command or (word == "once" and command == "rcpt" and address not in self.seen):
            self.seen.add(address)
            return f"{code[:3]} {code[0]}.2.0 <{address}> is not wanted here"
        return None

    async def handle_RCPT(self, server, session, envelope, address, rcpt_options):
        refusal = self.refusal(address, "rcpt")
        if refusal is None:
            envelope.rcpt_tos.append(address)
        return refusal or "250 2.1.5 OK"

    async def handle_DATA(self, server, session, envelope):
        for address in envelope.rcpt_tos:
            if refusal := self.refusal(address, "data"):
                return refusal
        message = email.message_from_bytes(envelope.content, policy=email.policy.default)
        text, html = message.get_body(("plain",)), message.get_body(("html",))
        say({
            "sender": envelope.mail_from,
            "recipients": envelope.rcpt_tos,
            "options": envelope.mail_options,
            "isEncrypted": server.transport.get_extra_info("sslcontext") is not None,
            "isAuthenticated": bool(session.authenticated),
            "content": base64.b64encode(envelope.content).decode(),
            "headers": [[name, str(value)] for name, value in message.items()],
            "text": read(text),
            "html": read(html),
            "defects": [str(defect) for part in message.walk() for defect in part.defects]
            + [str(defect) for value in message.values() for defect in value.defects],
        })
        return "250 2.0.0 OK"


def authenticate(server, session, envelope, mechanism, credentials):
    given = b":".join([credentials.login, credentials.password]).decode()
    return AuthResult(success=given == options.login, handled=False)


def protocol(handler, tls):
    starts = tls if not options.tls_first else None
    return SMTP(
        handler, hostname="mail.test", tls_context=starts, require_starttls=starts is not None,
        enable_SMTPUTF8=not options.for_servers, auth_required=options.login is not None,
        auth_require_tls=starts is not None or options.for_servers,
        authenticator=authenticate if options.login else None)


async def main():
    loop = asyncio.get_running_loop()
    tls = None
    if options.certificate:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(options.certificate)
    handler = Handler()
    server = await loop.create_server(
        lambda: protocol(handler, tls), "127.0.0.1", 0, ssl=tls if options.tls_first else None)
    say(server.sockets[0].getsockname()[1])
    await loop.run_in_executor(None, sys.stdin.read)


asyncio.run(main())
