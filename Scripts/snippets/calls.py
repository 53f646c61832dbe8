"""A service that the clients of docs/getting-started/calling.md are run against, and a backend in the same place. Tests/Snippets
has the programs that use them."""
import http.server
import json
import os
import subprocess
import threading


class Service(http.server.ThreadingHTTPServer):
    """Has one session, whose refresh tokens are good once and whose access token has expired to begin with."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Answers)
        self.binds, self.refreshes, self.number, self.has_expired = 0, [], 1, True
        self.lock = threading.Lock()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"

    def refresh(self, token):
        with self.lock:
            self.refreshes.append(token)
            if token != f"refresh-{self.number}":
                return 401, {"code": "refresh_token_reused"}
            self.number, self.has_expired = self.number + 1, False
            return 200, {"sessionId": "session", "accessToken": f"access-{self.number}", "refreshToken": f"refresh-{self.number}"}


class Answers(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path == "/v1/links/bind":
            # The connection ends without an answer.
            self.server.binds += 1
        elif self.path == "/v1/sessions/refresh":
            self.answer(*self.server.refresh(json.loads(body)["refreshToken"]))
        else:
            self.server.has_expired = True
            self.answer(204)

    def do_GET(self):
        is_good = self.headers["Authorization"] == f"Bearer access-{self.server.number}" and not self.server.has_expired
        if self.path == "/lamp":
            # As the backends of docs/getting-started/tokens.md refuse.
            self.answer(*(200, {"name": "Kim’s lamp"}) if is_good else (401,))
        else:
            self.answer(*(200, {"accountId": "1"}) if is_good else (401, {"code": "invalid_session"}))

    def answer(self, status, members=None):
        self.send_response(status)
        self.end_headers()
        if members:
            self.wfile.write(json.dumps(members).encode())

    def log_message(self, *_):
        pass


def faults(page, command):
    """Of a program that takes the service's URL."""
    with Service() as service:
        result = subprocess.run(
            [*command, service.url], env=os.environ | {"SWIFT_BACKTRACE": "enable=no"}, text=True, timeout=120,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        service.shutdown()
    found = [] if result.returncode == 0 else [f"{page}: {result.stdout.strip()}"]
    if service.binds != 1:
        found.append(f"{page}: a bind whose answer is lost is sent {service.binds} times")
    if service.refreshes != ["refresh-1", "refresh-2", "refresh-3"]:
        found.append(f"{page}: three access tokens that expire are refreshed by {service.refreshes}")
    return found
