"""Ten thousand tokens that are made to be expensive."""

import http.client
import json
import socket
import time

from world import SIGN_IN, percentile

TRIES = 10_000
WARM_UP = 1_000


def post(world, token):
    def attempt(connection):
        body = json.dumps({"idToken": token})
        start = time.monotonic()
        connection.request("POST", SIGN_IN, body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        status = response.status
        response.read()
        return status, time.monotonic() - start

    return attempt


def answer_to(world, head, rest):
    """The status that comes while the rest is still being sent, and the seconds from the head's last byte to it."""
    with socket.create_connection(("127.0.0.1", world.service.port), timeout=30) as client:
        client.sendall(head)
        start = time.monotonic()
        try:
            client.sendall(rest)
        except OSError:
            pass  # The service has closed the connection.
        answer = client.recv(4_096)
        return int(answer.split(b" ", 2)[1]) if answer else 0, time.monotonic() - start


def run(world, seconds, report):
    person = world.person("good")
    megabyte = b"." * 1_000_000
    body_head = (f"POST {SIGN_IN} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
                 f"Content-Length: {len(megabyte) + 14}\r\n\r\n{{\"idToken\":\"").encode()
    field_head = b"GET /v1/account HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer "
    bombs = {
        "a token of 16 KiB of dots": (401, post(world, "." * 16_384)),
        "a token of 16 KiB and a byte": (400, post(world, "a" * 16_385)),
        "a megabyte of dots": (413, lambda _: answer_to(world, body_head, megabyte)),
        "a header of two megabytes": (400, lambda _: answer_to(world, field_head, b"a" * 2_000_000)),
    }
    connection = http.client.HTTPConnection("127.0.0.1", world.service.port, timeout=30)
    latencies = {name: [] for name in bombs}
    wrong = []
    memory = 0
    for number in range(TRIES + WARM_UP):
        if number == WARM_UP:
            memory = world.service.memory("VmRSS")
        name = list(bombs)[number % len(bombs)]
        expected, attempt = bombs[name]
        status, latency = attempt(connection)
        if number >= WARM_UP:
            latencies[name].append(latency)
        if status != expected:
            wrong.append((name, status))
    growth = world.service.memory("VmRSS") - memory
    for name, values in latencies.items():
        report.latency(name, values)
    report.latency("good tokens afterwards", person.sign_in_for(5))
    report.say("memory before / growth", f"{memory:.1f} MB / {growth:.2f} MB")
    report.bound("every answer is the refusal that it should be", not wrong)
    if wrong:
        report.say("others", wrong[:5])
    for name in list(bombs)[:2]:
        report.bound(f"{name}: half of the answers within 5 ms", percentile(latencies[name], 0.5) < 0.005)
    report.bound("memory grows by 1 MB at most", growth <= 1)
