"""Serves the keys of a JWKS as Google's v1 certificates, on the loopback address.  certificates.py PORT JWKS

They are signed by a key that is made here: of a certificate only the public key is used.
"""

import asyncio
import datetime
import json
import sys
import urllib.request

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from jwt import PyJWKSet


def document(jwks):
    signer = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "federated-signon.system.gserviceaccount.com")])
    now = datetime.datetime.now(datetime.timezone.utc)
    certificates = {}
    for jwk in PyJWKSet.from_dict(jwks).keys:
        certificate = x509.CertificateBuilder(
            name, name, jwk.key, x509.random_serial_number(), now, now + datetime.timedelta(days=1)
        ).sign(signer, hashes.SHA256())
        certificates[jwk.key_id] = certificate.public_bytes(Encoding.PEM).decode()
    return json.dumps(certificates).encode()


class Answer(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        self.transport.write(answer)
        self.transport.close()


async def serve(port):
    server = await asyncio.get_running_loop().create_server(Answer, "127.0.0.1", port)
    await server.serve_forever()


with urllib.request.urlopen(sys.argv[2]) as response:
    body = document(json.load(response))
answer = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%b" % (
    len(body), body)
asyncio.run(serve(int(sys.argv[1])))
