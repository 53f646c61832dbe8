"""Sessions that are refreshed by several clients."""

import concurrent.futures
import http.client
import json
import pathlib
import time

# Sessions that are refreshed in turn, and by how many clients.
SESSIONS = 4_000
CLIENTS = 16


class Refreshing:
    """Clients that refresh sessions of many persons in turn, each with the token that the answer before has brought."""

    def __init__(self, bench):
        tokens = pathlib.Path(bench.tokens).read_text(encoding="ascii").split()[:SESSIONS]
        self.pool = concurrent.futures.ThreadPoolExecutor(CLIENTS)
        self.clients = [
            (http.client.HTTPConnection("127.0.0.1", bench.service.port), tokens[number::CLIENTS])
            for number in range(CLIENTS)]
        self.clients = list(self.pool.map(self.open, self.clients))

    def open(self, client):
        connection, tokens = client
        answers = [self.post(connection, "/v1/sign-in/google", {"idToken": token}) for token in tokens]
        return connection, [answer["session"]["refreshToken"] for answer in answers]

    @staticmethod
    def post(connection, path, body):
        connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        response = connection.getresponse()
        answer = json.load(response)
        if response.status != 200:
            raise SystemExit(f"{path}: {response.status} {answer}")
        return answer

    def go_on(self, seconds):
        end = time.monotonic() + seconds

        def refresh(client):
            connection, tokens = client
            count = 0
            while time.monotonic() < end:
                number = count % len(tokens)
                answer = self.post(connection, "/v1/sessions/refresh", {"refreshToken": tokens[number]})
                tokens[number] = answer["refreshToken"]
                count += 1
            return count

        return sum(self.pool.map(refresh, self.clients))
