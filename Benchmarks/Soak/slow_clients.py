"""Four thousand slow clients of sixteen networks, twice as many as the service takes, and sign-ins of a fast one: on a
connection that it has had before, and on one after the other that it opens beside them."""

import http.client
import multiprocessing
import socket
import threading
import time

CLIENTS = 4_000
NETWORKS = 16
# Seconds: the longest time limit of a connection is 75 s of being idle, and half of the clients get theirs when the
# other half is gone; the rest is for the machine.
REAPED_WITHIN = 180


def connect(port, kind, network):
    """A client that writes a header or a body without end, or reads nothing of many answers."""
    client = socket.socket()
    # Networks of one /16 would share what two may have.
    client.bind((f"127.{network}.0.1", 0))
    if kind == "read":
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1_024)
    client.settimeout(30)
    client.connect(("127.0.0.1", port))
    client.setblocking(False)
    head = {
        "headers": "GET /.well-known/jwks.json HTTP/1.1\r\nHost: a\r\n",
        "body": "POST /v1/links/cancel HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
                "Content-Length: 1000\r\n\r\n{",
        "read": "GET /.well-known/jwks.json HTTP/1.1\r\nHost: a\r\n\r\n" * 30,
    }[kind]
    try:
        client.send(head.encode())
    except OSError:
        # Closed by the service already.
        pass
    return client


def drip(port, until, opened):
    """Opens them all, then sends each a few bytes every two seconds for as long as the service takes them."""
    kinds = ["headers", "body", "read"]
    clients = [(kinds[i % 3], connect(port, kinds[i % 3], 1 + i % NETWORKS)) for i in range(CLIENTS)]
    opened.set()
    drop = {"headers": b"X-A: b\r\n", "body": b" ", "read": b""}
    while time.monotonic() < until and clients:
        left = []
        for kind, client in clients:
            try:
                if drop[kind]:
                    client.send(drop[kind])
                left.append((kind, client))
            except BlockingIOError:
                left.append((kind, client))
            except OSError:
                client.close()
        clients = left
        time.sleep(2)
    # Held open to the end: the service has to close them.
    time.sleep(max(0, until - time.monotonic()))


class Newcomer(threading.Thread):
    """Signs in again and again, each time with a connection of its own, until it is stopped. What waits for the connection
    is part of the time, and so is what waited in vain."""

    def __init__(self, person, port):
        super().__init__(daemon=True)
        self.person, self.port, self.latencies, self.turned_away = person, port, [], 0
        self.stopped = threading.Event()

    def run(self):
        while not self.stopped.wait(0.02):
            begin = time.monotonic()
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
            try:
                self.person.sign_in(connection)
            except (OSError, http.client.HTTPException):
                self.turned_away += 1
            finally:
                connection.close()
            self.latencies.append(time.monotonic() - begin)

    def stop(self):
        self.stopped.set()
        self.join()


def run(world, seconds, report):
    seconds = max(seconds, REAPED_WITHIN)
    world.service.stop()
    world.service.configure(COUNTERSIGN_LIMITS_CONNECTIONS_PER_NETWORK="256")
    world.service.start()
    person = world.person("quick")
    report.latency("sign-ins, no slow clients", person.sign_in_for(10))
    newcomer = Newcomer(world.person("newcomer"), world.service.port)
    sockets, memory = world.service.open_sockets(), world.service.memory("VmRSS")
    opened = multiprocessing.Event()
    start = time.monotonic()
    slow = multiprocessing.Process(target=drip, args=(world.service.port, start + seconds, opened))
    slow.start()
    newcomer.start()
    if not opened.wait(60):
        raise SystemExit("the slow clients could not connect")
    report.say("open connections", world.service.open_sockets() - sockets)
    report.say("memory for them", f"{world.service.memory('VmRSS') - memory:.1f} MB")
    reaped = []

    def is_over():
        if not reaped and world.service.open_sockets() <= sockets + 3:
            reaped.append(time.monotonic() - start)
        return time.monotonic() > start + seconds

    latencies = person.sign_in_until(is_over, pause=0.02)
    newcomer.stop()
    connecting = []
    for _ in range(50):
        begin = time.monotonic()
        connection = http.client.HTTPConnection("127.0.0.1", world.service.port, timeout=30)
        person.sign_in(connection)
        connection.close()
        connecting.append(time.monotonic() - begin)
    slow.join()
    report.latency("sign-ins beside them", latencies)
    report.latency("sign-ins beside them, each with a connection", newcomer.latencies)
    report.say("connections turned away", newcomer.turned_away)
    report.latency("sign-ins afterwards, each with a connection", connecting)
    report.say("all gone after", f"{reaped[0]:.0f} s" if reaped else "never")
    report.bound("p99 of the others under 200 ms", sorted(latencies)[int(len(latencies) * 0.99)] < 0.2)
    report.bound(f"all of them reaped within {REAPED_WITHIN} s", bool(reaped) and reaped[0] <= REAPED_WITHIN)
