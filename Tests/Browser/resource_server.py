"""An API that another program guards: Apache with Debian's mod_auth_openidc.

By introspection it takes the access tokens of the OAuth server, by the key set those of the service's own sessions. It
asks the service by HTTPS only, which Apache itself puts before it.
"""
import contextlib
import secrets
import time
import urllib.error
import urllib.request

from linking import Authlib, decide, to_consent
from registry import test
from signing_in import answer, new_person
from stack import TIMEOUT, LinkingClient, Processes, free_ports, run
from visitor import Visitor

CONFIGURATION = """
ServerName 127.0.0.1
PidFile {state}/httpd.pid
ErrorLog {state}/error.log
DefaultRuntimeDir {state}
DocumentRoot {state}/documents
LoadModule mpm_event_module {modules}/mod_mpm_event.so
LoadModule authn_core_module {modules}/mod_authn_core.so
LoadModule authz_core_module {modules}/mod_authz_core.so
LoadModule authz_user_module {modules}/mod_authz_user.so
LoadModule ssl_module {modules}/mod_ssl.so
LoadModule proxy_module {modules}/mod_proxy.so
LoadModule proxy_http_module {modules}/mod_proxy_http.so
LoadModule auth_openidc_module {modules}/mod_auth_openidc.so
Listen 127.0.0.1:{introspecting}
Listen 127.0.0.1:{verifying}
Listen 127.0.0.1:{encrypting}
OIDCCryptoPassphrase {passphrase}
OIDCCABundlePath {state}/certificate.pem
<VirtualHost 127.0.0.1:{encrypting}>
    SSLEngine on
    SSLCertificateFile {state}/certificate.pem
    SSLCertificateKeyFile {state}/key.pem
    ProxyPass / {service}/
</VirtualHost>
<VirtualHost 127.0.0.1:{introspecting}>
    OIDCOAuthIntrospectionEndpoint https://127.0.0.1:{encrypting}/oauth/introspect
    OIDCOAuthIntrospectionEndpointAuth client_secret_basic
    OIDCOAuthClientID {client_id}
    OIDCOAuthClientSecret {client_secret}
    OIDCOAuthTokenExpiryClaim exp absolute mandatory
    OIDCOAuthRemoteUserClaim sub
    <Location />
        AuthType oauth20
        # Asks each time: a token that was revoked is refused at once.
        OIDCOAuthTokenIntrospectionInterval -1
        Require claim scope~(^|[[:space:]])devices[.]read([[:space:]]|$)
    </Location>
</VirtualHost>
<VirtualHost 127.0.0.1:{verifying}>
    OIDCOAuthVerifyJwksUri https://127.0.0.1:{encrypting}/.well-known/jwks.json
    OIDCOAuthRemoteUserClaim sub
    <Location />
        AuthType oauth20
        <RequireAll>
            Require claim iss:{service}
            Require claim aud:{service}
        </RequireAll>
    </Location>
</VirtualHost>
"""


@contextlib.contextmanager
def apache(stack, client):
    """The addresses of the API: by introspection, and by the key set."""
    state = stack.state / "apache"
    (state / "documents").mkdir(parents=True, exist_ok=True)
    (state / "documents/index.html").write_text("the devices\n")
    run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
        "-subj", "/CN=service", "-addext", "subjectAltName=IP:127.0.0.1",
        "-keyout", state / "key.pem", "-out", state / "certificate.pem")
    *ports, encrypting = free_ports(3)
    (state / "httpd.conf").touch(0o600)
    (state / "httpd.conf").write_text(CONFIGURATION.format(
        state=state, modules="/usr/lib/apache2/modules", introspecting=ports[0], verifying=ports[1], encrypting=encrypting,
        passphrase=secrets.token_hex(16), service=stack.service, client_id=client.id, client_secret=client.secret))
    with Processes() as processes:
        process = processes.start(
            state / "apache.log", "/usr/sbin/apache2", "-D", "FOREGROUND", "-f", state / "httpd.conf")
        addresses = [f"http://127.0.0.1:{port}/index.html" for port in ports]
        end = time.monotonic() + TIMEOUT
        while process.poll() is None and time.monotonic() < end:
            with contextlib.suppress(urllib.error.URLError):
                assert [ask(address, "none")[0] for address in addresses] == [401, 401]
                break
            time.sleep(0.05)
        else:
            raise AssertionError((state / "apache.log").read_text()[-2000:])
        yield addresses


def ask(address, token):
    request = urllib.request.Request(address, headers={"Authorization": f"Bearer {token}"})
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, ""


@test
def apache_guards_an_api(browser, stack):
    home = LinkingClient(stack)
    api = LinkingClient(stack, "The API itself", "--introspect")
    linking, person, visitor = Authlib(stack, home), new_person(stack), Visitor(browser, stack)
    visitor.page.goto(linking.url())
    to_consent(visitor, person)
    url, _ = decide(visitor, stack, "allow")
    token = linking.fetch(url)
    # The same person in the app.
    attempt = stack.attempt()
    visitor.open(attempt)
    visitor.sign_in(person, "google")
    status, signed_in = attempt.exchange(answer(stack))
    assert status == 200, signed_in
    visitor.close()
    session = signed_in["session"]["accessToken"]

    with apache(stack, api) as (introspecting, verifying):
        assert ask(introspecting, token["access_token"]) == (200, "the devices\n")
        assert ask(verifying, session) == (200, "the devices\n")
        # Neither is good where the other is, nor is one with another signature.
        assert ask(introspecting, session)[0] == 401
        assert ask(verifying, token["access_token"])[0] == 401
        forged = session[:-8] + ("AAAAAAAA" if session[-8:] != "AAAAAAAA" else "BBBBBBBB")
        assert ask(verifying, forged)[0] == 401
        # A token without the scope.
        linking.session.scope = "profile"
        narrow = linking.session.refresh_token(f"{stack.service}/oauth/token", scope="profile")
        assert ask(introspecting, narrow["access_token"])[0] == 401
        assert linking.revoke(token["refresh_token"]).status_code == 200
        assert ask(introspecting, token["access_token"])[0] == 401
