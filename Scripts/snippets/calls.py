"""A service that the clients of docs/getting-started/calling.md are run against. Tests/Snippets has the programs that use them."""
import http.server
import subprocess
import threading


class Service(http.server.ThreadingHTTPServer):
    def __init__(self):
        super().__init__(("127.0.0.1", 0), Answers)
        self.binds = 0
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"


class Answers(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path == "/v1/links/bind":
            # The connection ends without an answer.
            self.server.binds += 1

    def log_message(self, *_):
        pass


def faults(page, command):
    """Of a program that takes the service's URL."""
    with Service() as service:
        result = subprocess.run(
            [*command, service.url], text=True, timeout=120, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        service.shutdown()
    found = [] if result.returncode == 0 else [f"{page}: {result.stdout.strip()}"]
    if service.binds != 1:
        found.append(f"{page}: a bind whose answer is lost is sent {service.binds} times")
    return found
