"""Runs the web apps and the desktop app of docs/getting-started/web.md as they stand there, and signs in to each with a
browser of its own. Scripts/example calls it.

    apps.py SERVICE APP      the public URL, and the name in `web.apps` whose redirect URI is http://127.0.0.1/signed-in
"""
import contextlib
import html.parser
import http.client
import json
import os
import re
import secrets
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from snippets.blocks import ROOT, block  # noqa: E402

PAGE = "docs/getting-started/web.md"
PASSWORD = "correct horse battery staple"
# Other sites of the domain set them too, in every form that browsers send.
ODD_COOKIES = {"consent": '{"ads":false}', "a@b": "1"}


class Forms(html.parser.HTMLParser):
    """The forms of a page: their action and the fields that are filled already."""

    def __init__(self, page):
        super().__init__()
        self.forms = []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag == "form":
            self.forms.append((attributes["action"], {}))
        elif tag == "input" and self.forms and attributes.get("type") == "hidden":
            self.forms[-1][1][attributes["name"]] = attributes.get("value", "")


class Browser:
    """As much of one as pages without script need: cookies by host and port, redirects, forms."""

    class NoRedirect(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *_):
            return None

    def __init__(self):
        self.opener = urllib.request.build_opener(self.NoRedirect)
        self.cookies, self.url, self.page, self.status = {}, "", "", 0

    def open(self, url, fields=None):
        for _ in range(10):
            jar = self.cookies.setdefault(urllib.parse.urlsplit(url).netloc, {})
            request = urllib.request.Request(url, None if fields is None else urllib.parse.urlencode(fields).encode())
            if jar:
                request.add_header("Cookie", "; ".join(f"{name}={value}" for name, value in jar.items()))
            try:
                answer = self.opener.open(request, timeout=30)
            except urllib.error.HTTPError as error:
                answer = error
            for cookie in answer.headers.get_all("Set-Cookie", []):
                name, value = cookie.split(";")[0].split("=", 1)
                jar[name] = value
            self.url, self.page, self.status = url, answer.read().decode(), answer.status
            if not 300 <= self.status < 400:
                return self.page
            url, fields = urllib.parse.urljoin(url, answer.headers["Location"]), None
        raise AssertionError(f"ten redirects, the last to {url}")

    def submit(self, path, **fields):
        action, hidden = next(form for form in Forms(self.page).forms if form[0].startswith(path))
        return self.open(urllib.parse.urljoin(self.url, action), hidden | fields)


def post(url, members, **headers):
    request = urllib.request.Request(url, json.dumps(members).encode(), {"Content-Type": "application/json", **headers})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.loads(answer.read() or b"null")


def end_sessions(service, email):
    """As by another device of the person's."""
    session = post(f"{service}/v1/sign-in/password", {"email": email, "password": PASSWORD})["session"]
    post(f"{service}/v1/sessions/revoke", {"scope": "all"}, Authorization=f"Bearer {session['accessToken']}")


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


@contextlib.contextmanager
def running(command, port, folder):
    with open(folder / "app.log", "w") as log:
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
    try:
        for _ in range(200):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            if process.poll() is not None:
                raise AssertionError((folder / "app.log").read_text())
            time.sleep(0.1)
        yield
    finally:
        process.terminate()
        process.wait()


def expect(condition, what, browser):
    if not condition:
        raise AssertionError(f"{what}: {browser.url} says {browser.status} {browser.page[:400]}")


def replaced(snippet, changes):
    """The text with each of these in place of what stands there once; no change is changed by another."""
    for old in changes:
        assert snippet.text.count(old) == 1, f"{snippet} has {old} {snippet.text.count(old)} times"
    return re.sub("|".join(map(re.escape, changes)), lambda match: changes[match[0]], snippet.text)


def get(port, target, **headers):
    """The answer to a target that no browser asks for, or without what a browser does with it."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    with contextlib.closing(connection):
        connection.request("GET", target, headers=headers)
        return connection.getresponse()


def written(language, service, app, port, folder):
    """The block and the file of it that listens at this port."""
    here = f"http://127.0.0.1:{port}"
    snippet = block(PAGE, language, "https://app.example.com")
    text = replaced(snippet, {
        '"https://auth.example.com"': f'"{service}"', '"https://app.example.com"': f'"{here}"', '"lamp"': f'"{app}"',
        **({'listen(8000,': f"listen({port},"} if language == "javascript" else {'"127.0.0.1", 8000,': f'"127.0.0.1", {port},'}),
    })
    file = folder / ("app.mjs" if language == "javascript" else "app.py")
    file.write_text(text)
    return snippet, file


def web_app(language, command, service, app, email, folder):
    port = free_port()
    here = f"http://127.0.0.1:{port}"
    snippet, file = written(language, service, app, port, folder)
    # Beside a request that is never finished.
    with running([*command, str(file)], port, folder), socket.create_connection(("127.0.0.1", port)) as half:
        half.sendall(b"GET / HTTP/1.1\r\n")
        browser = Browser()
        cookies = browser.cookies[urllib.parse.urlsplit(here).netloc] = dict(ODD_COOKIES)
        expect("Sign in at" in browser.open(here + "/"), "nobody is signed in", browser)
        browser.open(here + "/sign-in")
        expect(browser.url.startswith(service), "the service's page", browser)
        browser.submit("/web/password", email=email, password=PASSWORD)
        expect(browser.url == here + "/" and email in browser.page, "signed in as whom the page was given", browser)
        kept = {name: value for name, value in cookies.items() if name not in ODD_COOKIES}
        assert all(len(value) >= 43 for value in kept.values()) and len(kept) == 1, kept

        # Who cancels is back where they began, and reads of no failure.
        cancelling = Browser()
        cancelling.open(here + "/sign-in")
        cancelling.submit("/web/cancel")
        expect(cancelling.url == here + "/" and cancelling.status == 200, "back after a cancel", cancelling)
        expect("Sign in at" in cancelling.page and "not work" not in cancelling.page, "signed out still", cancelling)

        # A link with somebody else's answer signs nobody in.
        other = Browser()
        other.open(here + "/sign-in")
        asked = other.url, other.page
        other.open(f"{here}/signed-in?code=x&state=y&iss={urllib.parse.quote(service)}")
        expect(other.status == 400, "another attempt's answer is refused", other)
        other.open(here + "/")
        expect("Sign in at" in other.page, "and nobody is signed in by it", other)
        # Nor does it end the attempt under way.
        other.url, other.page = asked
        other.submit("/web/password", email=email, password=PASSWORD)
        expect(other.url == here + "/" and email in other.page, "signed in by the attempt's own answer", other)
        assert (status := get(port, "/signed-in?code=x").status) == 400, f"{snippet} answers {status} without an attempt"
        for target in "//", "//a:b/", "/%ff?%":
            assert 200 <= (status := get(port, target).status) < 500, f"{snippet} answers {status} to {target}"
        if language == "javascript":
            # A session that has ended elsewhere leads to the sign-in.
            end_sessions(service, email)
            browser.open(here + "/")
            expect(browser.url.startswith(service), "the service's page, since the session has ended", browser)
            browser.submit("/web/password", email=email, password=PASSWORD)
            expect(browser.url == here + "/" and email in browser.page, "signed in again", browser)
            browser.open(here + "/sign-out", {})
            expect("Sign in at" in browser.page, "signed out", browser)
    print(f"   {snippet}: a web app in {language} signs in")


def web_app_alone(language, command, app, folder):
    """The same while the service is away."""
    port = free_port()
    with socket.socket() as refusing:
        refusing.bind(("127.0.0.1", 0))
        service = f"http://127.0.0.1:{refusing.getsockname()[1]}"
        snippet, file = written(language, service, app, port, folder)
        with running([*command, str(file)], port, folder):
            begun = get(port, "/sign-in")
            asked = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(begun.headers["Location"]).query))
            came = urllib.parse.urlencode({"code": "x", "state": asked["state"], "iss": service})
            status = get(port, f"/signed-in?{came}", Cookie=begun.headers["Set-Cookie"].split(";")[0]).status
            assert status == 503, f"{snippet} answers {status} while the service is away"


def desktop_app(service, app, email):
    snippet = block(PAGE, "python", "webbrowser.open")
    space, failures, idle = {}, [], []
    exec(compile(replaced(snippet, {'"https://auth.example.com"': f'"{service}"', '"lamp"': f'"{app}"'}), str(snippet), "exec"), space)

    def open_browser(url):
        browser = Browser()

        def visit():
            try:
                # Browsers also open connections that they send nothing on.
                asked = urllib.parse.parse_qs(urllib.parse.urlsplit(url).query)
                listener = urllib.parse.urlsplit(asked["redirect_uri"][0])
                idle.append(socket.create_connection((listener.hostname, listener.port)))
                browser.open(url)
                browser.submit("/web/password", email=email, password=PASSWORD)
            except BaseException as error:
                failures.append(error)
                for connection in idle:
                    connection.close()
                # The app waits for an answer, so it gets one, which is not the service's.
                asked = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(url).query))
                urllib.request.urlopen(f"{asked['redirect_uri']}?{urllib.parse.urlencode({'state': asked['state']})}", timeout=30)
        threading.Thread(target=visit, daemon=True).start()

    space["webbrowser"].open = open_browser
    try:
        answer = space["sign_in"]()
    except RuntimeError as error:
        raise failures[0] if failures else error
    assert answer["status"] == "signedIn" and answer["account"]["email"] == email, answer
    print(f"   {snippet}: a desktop app signs in")


def main(service, app):
    folder = ROOT / ".local/snippets/apps"
    modules = folder / "node_modules"
    modules.mkdir(parents=True, exist_ok=True)
    link = modules / "countersign-client"
    link.unlink(missing_ok=True)
    link.symlink_to(ROOT / "clients/javascript")
    email = f"web-app.{secrets.token_hex(4)}@example.com"
    made = post(f"{service}/v1/accounts", {"email": email, "password": PASSWORD})
    assert made["status"] == "signedIn"
    node = subprocess.run([ROOT / "Scripts/node"], check=True, text=True, stdout=subprocess.PIPE).stdout.strip()
    print("\n== The apps of the page on sign-in by the browser")
    for language, command in ("javascript", [node]), ("python", [sys.executable]):
        web_app(language, command, service, app, email, folder)
        web_app_alone(language, command, app, folder)
    desktop_app(service, app, email)


if __name__ == "__main__":
    main(*sys.argv[1:])
