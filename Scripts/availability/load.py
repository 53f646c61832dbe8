"""People, a linked client and an administrator who call the service at a steady pace, note what was acknowledged, and say what
was not as it has to be."""
import collections
import dataclasses
import hashlib
import http.client
import json
import threading
import time
import urllib.parse

from .service import ASSERTIONS

JSON, FORM = "application/json", "application/x-www-form-urlencoded"
# A token of the sandbox's is good for an hour.
TOKEN_AGE = 1200


@dataclasses.dataclass
class Call:
    start: float
    end: float
    # Where it went: `balancer`, or a process of the service.
    way: str
    kind: str
    writes: bool
    # `done`, `unavailable` (503 with Retry-After), `unreached`, or `wrong`.
    outcome: str


@dataclasses.dataclass
class Session:
    generation: int = 1
    is_ended: bool = False


class Notes:
    """What was acknowledged, every call, and what went wrong."""

    def __init__(self):
        self._lock = threading.Lock()
        self.sessions, self.accounts, self.identities, self.tokens = {}, set(), {}, {}
        self.calls, self.wrong, self.acknowledged = [], [], 0

    def session(self, identifier, renewals=0, is_ended=False):
        with self._lock:
            self.acknowledged += 1
            session = self.sessions.setdefault(identifier, Session())
            session.generation += renewals
            session.is_ended |= is_ended

    def account(self, identifier):
        with self._lock:
            self.acknowledged += 1
            self.accounts.add(identifier)

    def identity(self, identifier, is_linked):
        """- is_linked: None while its end is being asked for, and it may be there or not."""
        with self._lock:
            self.acknowledged += is_linked is not None
            self.identities[identifier] = is_linked

    def tokens_of_client(self, texts, are_good):
        """Access tokens that a client of account linking was given; None and False as for an identity."""
        with self._lock:
            self.acknowledged += are_good is not None
            self.tokens |= dict.fromkeys((hashlib.sha256(text.encode()).hexdigest() for text in texts), are_good)

    def call(self, call, what=None):
        with self._lock:
            self.calls.append(call)
            if what:
                self.wrong.append((call.end, f"{call.way}: {call.kind}: {what}"))

    def complain(self, what):
        with self._lock:
            self.wrong.append((time.monotonic(), what))

    def copy(self):
        """What has to be in the database from now on."""
        with self._lock:
            return ({key: dataclasses.replace(session) for key, session in self.sessions.items()}, set(self.accounts),
                    dict(self.identities), dict(self.tokens))


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def __getitem__(self, path):
        value = json.loads(self.body)
        for name in path.split("."):
            value = value[name]
        return value


class Client(threading.Thread):
    """One caller, on a connection that is kept: a call every `pause` seconds, but for those that take longer."""

    pause = 0.17

    def __init__(self, load, way, name):
        super().__init__(name=f"{name}-{way}", daemon=True)
        self.load, self.way, self.notes, self.people = load, way, load.notes, load.people
        self._address = load.ways[way]
        self._connection = None
        self._next = time.monotonic()

    def run(self):
        while not self.load.ends.is_set():
            try:
                self.act()
            except Exception as error:  # A defect of this script, or an answer of a form that none has.
                self.notes.complain(f"{self.name}: {error!r}")
                time.sleep(1)

    def ask(self, kind, method, path, body=None, *, good, excused=(), writes=True, content=JSON, headers=None, port=None):
        """The answer if its status is one of the good ones, or excused; else None.

        - excused: statuses that are right because an earlier call has an unknown outcome.
        """
        self._next = max(time.monotonic(), self._next + self.pause)
        if self.load.ends.wait(self._next - time.monotonic()):
            return None
        if isinstance(body, dict):
            body = json.dumps(body) if content == JSON else urllib.parse.urlencode(body)
        start = time.monotonic()
        try:
            if not self._connection:
                self._connection = http.client.HTTPConnection(self._address, port or 8080, timeout=40)
            self._connection.request(method, path, body, {"Content-Type": content} | (headers or {}))
            got = self._connection.getresponse()
            answer = Answer(got.status, got.headers, got.read())
        except (OSError, http.client.HTTPException) as error:
            if self._connection:
                self._connection.close()
            self._connection = None
            # A process that is being restarted is behind the balancer alone out of sight.
            what = f"no answer: {error!r}" if self.way == "balancer" or isinstance(error, TimeoutError) else None
            outcome = "wrong" if what else "unreached"
            self.notes.call(Call(start, time.monotonic(), self.way, kind, writes, outcome), what)
            return None
        what = None
        if answer.status in good or answer.status in excused:
            outcome = "done"
        elif answer.status == 503 and answer.headers.get("Retry-After"):
            outcome = "unavailable"
        else:
            outcome, what = "wrong", f"{answer.status} {answer.body[:300].decode(errors='replace')}"
        self.notes.call(Call(start, time.monotonic(), self.way, kind, writes, outcome), what)
        return answer if outcome == "done" else None

    def until_done(self, *words, excused=(), **options):
        """Asks until the answer is a good one. What was asked before may have been done: then the excused are right too."""
        answer, is_repeated = None, False
        while not answer and not self.load.ends.is_set():
            answer = self.ask(*words, excused=excused if is_repeated else (), **options)
            is_repeated = True
        return answer


class Devices(Client):
    """One person who signs in with one device after the other, renews the session, looks at the account, and signs out."""

    def __init__(self, load, way, name):
        super().__init__(load, way, name)
        self._person, self._token, self._since = f"{name}-{way}".lower(), None, 0
        self._signs_out_everywhere = False

    def _identity_token(self):
        if not self._since or time.monotonic() > self._since + TOKEN_AGE:
            self._token, self._since = self.people.google(self._person), time.monotonic()
        return {"idToken": self._token}

    def prepare(self):
        self.people.add(self._person)
        ticket = self.until_done("sign-in", "POST", "/v1/sign-in/google", self._identity_token(), good={200})
        created = self.until_done("create", "POST", "/v1/links/create", {"linkTicket": ticket["linkTicket"]}, good={201})
        self.notes.account(created["account.accountId"])

    def sign_in(self):
        answer = self.ask("sign-in", "POST", "/v1/sign-in/google", self._identity_token(), good={200})
        if answer:
            self.notes.session(answer["session.sessionId"])
        return answer

    def act(self):
        signed_in = self.sign_in()
        if not signed_in:
            return
        session, access = signed_in["session.sessionId"], signed_in["session.accessToken"]
        refresh = signed_in["session.refreshToken"]
        for _ in range(2):
            # A rotation that was not answered may be repeated.
            renewed = self.until_done("refresh", "POST", "/v1/sessions/refresh", {"refreshToken": refresh}, good={200})
            if not renewed:
                return
            self.notes.session(session, renewals=1)
            access, refresh = renewed["accessToken"], renewed["refreshToken"]
            self.ask("account", "GET", "/v1/account", good={200}, writes=False, headers={"Authorization": f"Bearer {access}"})
        self._signs_out_everywhere = not self._signs_out_everywhere
        scope = "current"
        if self._signs_out_everywhere:
            # The provider's tokens until then count no more.
            scope, self._since = "all", 0
        # One that was not answered may have been done: then its session's credentials are good no more.
        if self.ask("revoke", "POST", "/v1/sessions/revoke", {"scope": scope}, good={204},
                    headers={"Authorization": f"Bearer {access}"}):
            self.notes.session(session, is_ended=True)


class SignIns(Devices):
    """One person who signs in and does nothing else: straight at a process, to see each way to the database by itself."""

    def act(self):
        self.sign_in()


class Readers(Devices):
    """One person with one device that looks at the account again and again, with what needs no write."""

    # Renewed long before the access token's end.
    RENEWAL = 300

    def prepare(self):
        super().prepare()
        self._session, self._renewed = self.sign_in(), time.monotonic()
        self._refresh = self._session["session.refreshToken"]
        self._access = self._session["session.accessToken"]

    def act(self):
        if time.monotonic() > self._renewed + self.RENEWAL:
            renewed = self.ask("refresh", "POST", "/v1/sessions/refresh", {"refreshToken": self._refresh}, good={200})
            if renewed:
                self._access, self._refresh = renewed["accessToken"], renewed["refreshToken"]
                self._renewed = time.monotonic()
        bearer = {"Authorization": f"Bearer {self._access}"}
        self.ask("account", "GET", "/v1/account", good={200}, writes=False, headers=bearer)
        self.ask("sessions", "GET", "/v1/sessions", good={200}, writes=False, headers=bearer)


class Newcomers(Client):
    """One new person after the other: creates an account by Google, binds Apple to it, takes Apple off again, signs out."""

    _count = 0

    def act(self):
        self._count += 1
        person = f"{self.name.lower()}-{self._count}"
        self.people.add(person)
        created = self._enter("create", "google", {"idToken": self.people.google(person)}, 201)
        if not created:
            return
        bearer = {"Authorization": f"Bearer {created['session.accessToken']}"}
        bound = self._enter("bind", "apple", {"identityToken": self.people.apple(person)}, 200, bearer)
        if not bound:
            return
        identity = bound["identity.identityId"]
        if bound["account.accountId"] != created["account.accountId"]:
            self.notes.complain(f"bind: {bound.body}: not the account of {created.body}")
        self.notes.identity(identity, is_linked=None)
        if self.until_done("unlink", "DELETE", f"/v1/account/identities/{identity}", good={202}, excused={404}, headers=bearer):
            self.notes.identity(identity, is_linked=False)
        if self.ask("revoke", "POST", "/v1/sessions/revoke", {"scope": "current"}, good={204}, headers=bearer):
            self.notes.session(created["session.sessionId"], is_ended=True)

    def _enter(self, kind, provider, credential, done, headers=None):
        """Signs in and creates or binds, until there is a session. Whether a try had won that was not answered shows at the
        next sign-in."""
        is_repeated = False
        while not self.load.ends.is_set():
            signed_in = self.ask("sign-in", "POST", f"/v1/sign-in/{provider}", credential, good={200})
            if not signed_in:
                continue
            answer = signed_in
            if signed_in["status"] == "linkRequired":
                answer = self.ask(kind, "POST", f"/v1/links/{kind}", {"linkTicket": signed_in["linkTicket"]}, good={done},
                                  excused={409, 410} if is_repeated else (), headers=headers)
                is_repeated = True
                if not answer or answer.status != done:
                    continue
            elif not is_repeated:
                self.notes.complain(f"{kind}: a new person was signed in: {signed_in.body}")
            self.notes.account(answer["account.accountId"])
            self.notes.identity(answer["identity.identityId"], is_linked=True)
            self.notes.session(answer["session.sessionId"])
            return answer
        return None


class Linked(Client):
    """A client of account linking that refreshes its tokens, asks who the person is, and now and then revokes."""

    ROUNDS = 15

    def prepare(self):
        self._person = self.name.lower()
        self.people.add(self._person)
        self._intent = "create"

    def _token(self, kind, fields, **options):
        return self.until_done(kind, "POST", "/oauth/token", fields | self.load.client, good={200}, content=FORM, **options)

    def act(self):
        assertion = self.people.google(self._person, ASSERTIONS)
        fields = {"grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer", "assertion": assertion}
        # A creation that was not answered and had won is refused the next time: then the account is there to be got.
        tokens = self._token("assertion", fields | {"intent": self._intent}, excused={401} if self._intent == "create" else ())
        if tokens and tokens.status == 401:
            tokens = self._token("assertion", fields | {"intent": "get"})
        self._intent = "get"
        issued = []
        for _ in range(self.ROUNDS):
            if not tokens:
                return
            issued.append(access := tokens["access_token"])
            self.notes.tokens_of_client([access], True)
            self.ask("userinfo", "GET", "/oauth/userinfo", good={200}, writes=False,
                     headers={"Authorization": f"Bearer {access}"})
            self.ask("introspection", "POST", "/oauth/introspect", {"token": access} | self.load.client, good={200},
                     writes=False, content=FORM)
            tokens = self._token("OAuth refresh", {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]})
        # With the refresh token all end that it has brought.
        self.notes.tokens_of_client(issued, None)
        if tokens and self.until_done("OAuth revoke", "POST", "/oauth/revoke", {"token": tokens["refresh_token"]}
                                      | self.load.client, good={200}, content=FORM):
            self.notes.tokens_of_client(issued, False)


class Administrator(Client):
    """Opens pages of the console, of one process."""

    pause = 0.5
    PAGES = ("/console/", "/console/accounts?q=devices", "/console/audit", "/console/revocations")

    def prepare(self):
        answer = self.until_done("console sign-in", "POST", "/console/sign-in", {"key": self.load.key}, good={303},
                                 content=FORM, port=8081)
        self._cookie = answer.headers["Set-Cookie"].partition(";")[0]

    def act(self):
        for page in self.PAGES:
            self.ask("console", "GET", page, good={200}, writes=False, headers={"Cookie": self._cookie}, port=8081)


class Load:
    """All of them. `balancer` is HAProxy before both processes."""

    CALLERS = [(Devices, "balancer", 3), (Newcomers, "balancer", 3), (Linked, "balancer", 1), (Readers, "balancer", 1),
               (SignIns, "countersign-1", 1), (SignIns, "countersign-2", 1),
               (Administrator, "countersign-1", 1), (Administrator, "countersign-2", 1)]

    def __init__(self, people, ways, client, key):
        self.people, self.ways, self.client, self.key = people, ways, client, key
        self.notes, self.ends = Notes(), threading.Event()
        self._callers = [kind(self, way, f"{kind.__name__}{number}")
                         for kind, way, count in self.CALLERS for number in range(count)]

    def start(self):
        for caller in self._callers:
            if hasattr(caller, "prepare"):
                caller.prepare()
        for caller in self._callers:
            caller.start()

    def end(self):
        self.ends.set()
        for caller in self._callers:
            caller.join(45)

    def kinds(self, start, end):
        """How many calls of each kind were done between the two moments."""
        return collections.Counter(call.kind for call in self.notes.calls if start <= call.end < end and call.outcome == "done")
