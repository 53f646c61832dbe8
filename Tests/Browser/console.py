"""An administrator at the console: every page and every act, by mouse and by keyboard, wide and narrow, light and dark."""
import json
import pathlib
import re
import time

from administrator import HANDS, MARKUP, Administrator, Key, Person, administrator, crowd, given_up_revocation
from axe_playwright_python.sync_playwright import Axe
from keyboard import unreached
from pages import NARROW, PHONE, RULES, picture, size
from registry import test
from stack import LinkingClient

WIDE = 1440, 900
NAV = ["Overview", "Accounts", "Revocations", "Provider events", "Audit", "Webhooks", "OAuth clients", "Admin keys",
       "System"]
COOKIE = "csn_console"


def cookies(visitor):
    return [cookie for cookie in visitor.context.cookies() if cookie["name"] == COOKIE]


def audited(visitor, type, reason=None, **columns):
    """That the trail has a row of an act, with the name of the administrator's key."""
    stack = visitor.stack
    conditions = {"type": type, "actor": "administrator", "actor_name": visitor.key.name} | columns
    if reason is not None:
        conditions["reason"] = reason
    where = " AND ".join(f"{column} = $${value}$$" for column, value in conditions.items())
    assert stack.sql(f"SELECT count(*) FROM audit_events WHERE {where}") == "1", where


def expect_nothing_refused(visitor):
    assert visitor.complaints == [], visitor.complaints


# Signing in

@test
def console_sign_in_and_out(browser, stack):
    visitor = Administrator(browser, stack)
    key = Key(stack, "sign-in", "read")
    page = visitor.open("/console/accounts?q=nobody")
    assert page.locator("h1").inner_text() == "Sign in"
    assert page.get_by_role("navigation").count() == 0
    for wrong in "csa_wrong", "c" * 300, MARKUP:
        visitor.sign_in(wrong)
        assert page.get_by_role("alert").count() == 1, page.inner_text("main")
        assert page.get_by_label("Admin key").input_value() == ""
        assert cookies(visitor) == []
    visitor.sign_in(key.secret)
    # Where it was going.
    assert page.url == f"{stack.private}/console/accounts?q=nobody", page.url
    cookie, = cookies(visitor)
    assert (cookie["httpOnly"], cookie["sameSite"], cookie["path"]) == (True, "Strict", "/console"), cookie
    assert cookie["expires"] == -1, cookie
    assert stack.sql(
        f"SELECT actor_name FROM audit_events WHERE type = 'console_opened' AND reason = '{key.id}'") == "sign-in"

    visitor.press("Sign out", within="header")
    assert page.locator("h1").inner_text() == "Sign in" and cookies(visitor) == []
    page.go_back()
    page.reload()
    assert page.locator("h1").inner_text() == "Sign in", page.inner_text("main")
    # The cookie itself has ended, too.
    visitor.context.add_cookies([cookie])
    visitor.open()
    assert page.locator("h1").inner_text() == "Sign in", page.inner_text("main")
    expect_nothing_refused(visitor)
    visitor.close()


@test
def console_ends_when_the_key_is_revoked(browser, stack):
    visitor = administrator(browser, stack, name="revoked")
    page = visitor.open("/console/system")
    assert page.locator("h1").inner_text() == "System"
    stack.countersign("admin-key", "revoke", visitor.key.id)
    visitor.click('nav a:has-text("Audit")')
    assert page.locator("h1").inner_text() == "Sign in"
    visitor.sign_in(visitor.key.secret)
    assert page.get_by_role("alert").count() == 1
    visitor.close()


@test
def console_ends_after_half_an_hour_and_after_eight(browser, stack):
    visitor = administrator(browser, stack, "read")
    mine = f"UPDATE console_sessions SET %s WHERE key_id = '{visitor.key.id}'"

    def title():
        return visitor.open("/console/accounts").locator("h1").inner_text()

    stack.sql(mine % "last_used_at = last_used_at - interval '29 minutes'")
    assert title() == "Accounts"
    stack.sql(mine % "last_used_at = last_used_at - interval '30 minutes'")
    assert title() == "Sign in"
    visitor.sign_in(visitor.key.secret)
    assert visitor.page.locator("h1").inner_text() == "Accounts"
    stack.sql(mine % "created_at = created_at - interval '8 hours'")
    assert title() == "Sign in"
    visitor.close()


@test
def console_form_of_another_site_is_refused(browser, stack):
    visitor, person = administrator(browser, stack), Person(stack)
    page = visitor.open(f"{person.path}/disable")
    csrf = page.locator('main form[method=post] input[name=csrf]').get_attribute("value")
    other = visitor.tab()
    # Of another site, so without the cookie; and of another origin of the same site, which sends it.
    for origin in stack.sandbox, f"http://127.0.0.1:{stack.app.server_port}":
        other.goto(f"{origin}/apple/.well-known/openid-configuration")
        other.set_content(
            f'<form method="post" action="{stack.private}{person.path}/disable"><input name="csrf" value="{csrf}">'
            '<input name="reason" value="win"><button>Click here to win</button></form>')
        with other.expect_navigation() as navigation:
            other.click("button")
        assert navigation.value.status == 403, (origin, navigation.value.status)
    assert stack.sql(f"SELECT status FROM accounts WHERE account_id = '{person.id}'") == "active"
    visitor.close()


# Scopes

@test
def console_shows_what_the_key_may_do(browser, stack):
    there = crowd(stack, browser)
    paths = [there["hostile"].path, there["disabled"].path, there["replaced"].path, there["blocked"].path,
             "/console/revocations", "/console/provider-events", "/console/webhooks", "/console/oauth-clients"]
    # The endpoint of webhooks is not paused, and nothing of it waits: it has no Resume.
    manage = {"Disable", "Enable", "Sign out everywhere", "Replace address", "Stop replacement", "Send sign-in code",
              "Change name", "Export", "Delete", "End session", "Unlink client", "Unlink", "Unblock", "Test", "Pause",
              "Replay"}
    for scopes, wanted in (("read",), set()), (("read", "revoke"), {"Revoke", "Retry"}), (("read", "manage"), manage):
        visitor = administrator(browser, stack, *scopes)
        nav = visitor.page.locator("nav a").all_inner_texts()
        assert nav == [name for name in NAV if name != "Admin keys" or "manage" in scopes], nav
        shown = set()
        for path in paths:
            shown.update(visitor.open(path).locator("main button").all_inner_texts())
        assert shown == wanted, (scopes, shown)
        visitor.close()

    visitor = administrator(browser, stack, "read")
    identity = there["blocked"].identity_id
    for path in [
        f"{there['blocked'].path}/disable", f"{there['blocked'].path}/delete", f"/console/identities/{identity}/unlink",
        f"/console/identities/{identity}/revoke", f"/console/identities/{identity}/unblock",
        f"/console/revocations/{there['failed']}/retry", "/console/admin-keys", "/console/webhooks/crm/pause",
        f"{there['hostile'].path}/unlink-client/{there['client'].id}",
    ]:
        visitor.open(path)
        assert visitor.response.status == 403, (path, visitor.response.status)
        assert visitor.page.locator("h1").inner_text() == "Not allowed"
    visitor.close()

    visitor = administrator(browser, stack, "revoke")
    assert visitor.page.locator("h1").inner_text() == "Overview"
    assert visitor.page.locator("nav a").all_inner_texts() == ["Overview"]
    assert visitor.page.locator("main a[href^='/console/accounts']").count() == 0
    visitor.open("/console/accounts")
    assert visitor.response.status == 403
    visitor.close()


# Finding

@test
def console_search(browser, stack):
    visitor = administrator(browser, stack, "read")
    person = Person(stack, name="searched.for", display_name="Noor Searched", email="Searched.For+x@example.com")
    other = Person(stack, name="searched.too", display_name="Noor Searched", email="searched.too@example.com")
    session = person.session["sessionId"]
    for text, wanted in {
        "searched.for+X@example.com": [person.id],
        person.id: [person.id], person.identity_id: [person.id], session: [person.id],
        f"google:{person.subject}": [person.id], f"apple:{person.subject}": [],
        "noor searched": [person.id, other.id], "Noor": [],
        "searched.": [person.id, other.id], "SEARCHED.T": [other.id],
        "00000000-0000-7000-8000-000000000000": [], MARKUP: [], "%": [], "no such beginning": [],
    }.items():
        found = visitor.search(text)
        assert sorted(found) == sorted(wanted), (text, found)
        assert visitor.page.get_by_role("searchbox").input_value() == text
        if not wanted:
            assert "There is no such account." in visitor.page.inner_text("main")
    # The button is on a line with the field, or below it.
    for dimensions in WIDE, PHONE, NARROW:
        size(visitor.page, dimensions)
        form = visitor.page.get_by_role("search")
        field, button = (form.locator(tag).bounding_box() for tag in ("input", "button"))
        below = button["y"] - field["y"]
        assert abs(below) < 2 or below >= field["height"], (dimensions, field, button)
    size(visitor.page, WIDE)
    visitor.search(session)
    visitor.click(f'main a[href="{person.path}"]')
    assert visitor.page.locator("h1").inner_text().lower() == person.email.lower()
    expect_nothing_refused(visitor)
    visitor.close()


@test
def console_lists_go_on(browser, stack):
    visitor = administrator(browser, stack)
    stack.sql(
        "INSERT INTO accounts (account_id, email, display_name, created_at) SELECT gen_random_uuid(),"
        " 'listed' || n || '@example.com', 'Listed Example', now() FROM generate_series(1, 120) AS n")
    for text in "listed", "Listed Example":
        found = [*visitor.search(text)]
        while visitor.page.get_by_role("link", name="Next", exact=True).count():
            assert visitor.page.locator("a[rel=next]").count() == 1
            visitor.click("a[rel=next]")
            found += visitor.accounts()
        assert len(found) == len(set(found)) == 120, (text, len(found))
    person = Person(stack)
    for number in range(60):
        answer = visitor.context.request.post(
            f"{stack.private}/admin/v1/accounts/{person.id}/sign-out", data={"reason": f"ticket {number}"},
            headers={"Authorization": f"Bearer {visitor.key.secret}"})
        assert answer.ok, answer.text()
    for path in person.path, f"/console/audit?account={person.id}":
        page = visitor.open(path)
        trail = page.locator("table").last.locator("tbody tr")
        rows = trail.all_inner_texts()
        if path != person.path:
            # Fifty rows are seen in two screens.
            page.set_viewport_size({"width": 1280, "height": 800})
            height = page.locator("table").last.bounding_box()["height"]
            assert len(rows) == 50 and height <= 2 * 800, (len(rows), height)
        visitor.click("a[rel=next]")
        rows += trail.all_inner_texts()
        shown = [row for row in rows if "ticket" in row]
        assert len(shown) == len(set(shown)) == 60 and len(rows) < 100, rows
        assert rows == sorted(rows, key=lambda row: row[:19], reverse=True), rows
    expect_nothing_refused(visitor)
    visitor.close()


@test
def console_audit_is_searched_and_compared_with_its_seals(browser, stack):
    visitor, person = administrator(browser, stack), Person(stack)
    visitor.open(person.path)
    visitor.act("Sign out everywhere", "ticket 4713")
    page = visitor.open("/console/audit")
    page.get_by_label("Account id").fill(person.id)
    page.get_by_label("What").select_option("sessions_ended")
    visitor.press("Show")
    row, = page.locator("main tbody tr").all()
    assert "ticket 4713" in row.inner_text() and visitor.key.name in row.inner_text(), row.inner_text()
    stack.eventually("SELECT (SELECT total_count FROM audit_head) = count(*) FROM audit_events", "t")
    visitor.click('main a[href*="verify"]')
    assert "as they were sealed" in page.get_by_role("status").inner_text(), page.inner_text("main")
    # A row is cut as long as it is neither pointed at nor reached by a key, which takes a link in it.
    size(page, WIDE)
    page.mouse.move(0, 0)
    cut = [row.evaluate(
        """(row, isLinked) => {
            const cell = row.querySelector('td > div');
            if (!isLinked) row.querySelectorAll('a').forEach(link => link.replaceWith(link.textContent));
            cell.textContent = 'a word '.repeat(99);
            return cell.scrollWidth > cell.clientWidth + 1;
        }""", is_linked) for is_linked in (True, False)]
    assert cut == [True, False], cut
    expect_nothing_refused(visitor)
    visitor.close()


# Acts

@test(by=HANDS)
def console_disables_enables_signs_out_and_deletes(browser, stack, by):
    visitor, person = administrator(browser, stack, by=by), Person(stack)

    def state():
        return stack.sql(f"SELECT status FROM accounts WHERE account_id = '{person.id}'")

    def sessions():
        return stack.sql(f"SELECT count(*) FROM sessions WHERE account_id = '{person.id}' AND ended_at IS NULL")

    page = visitor.open(person.path)
    assert person.email in page.locator("h1").inner_text()
    # The way back, and a reason that is missing.
    for label in "Disable", "Sign out everywhere", "Delete":
        visitor.press(label)
        assert person.email in page.inner_text("main") and person.id in page.inner_text("main")
        visitor.press("Cancel")
        assert page.url.partition("?")[0] == stack.private + person.path, page.url
    visitor.press("Disable")
    page.get_by_label("Reason").evaluate("field => field.required = false")
    visitor.press("Disable")
    assert visitor.response.status == 400 and page.get_by_role("alert").count() == 1
    visitor.press("Cancel")
    assert (state(), sessions()) == ("active", "2")

    visitor.act("Sign out everywhere", "ticket 1")
    assert sessions() == "0"
    audited(visitor, "sessions_ended", "ticket 1", account_id=person.id)
    person.present({"name": "Tablet"})
    visitor.open(person.path)
    visitor.act("Disable", f"ticket 2 {MARKUP}")
    assert (state(), sessions()) == ("disabled", "0")
    assert f"ticket 2 {MARKUP}" in page.inner_text("main")
    audited(visitor, "account_disabled", f"ticket 2 {MARKUP}", account_id=person.id)
    visitor.act("Enable", "ticket 3")
    assert state() == "active"
    audited(visitor, "account_enabled", "ticket 3", account_id=person.id)
    visitor.act("Delete", "ticket 4")
    assert visitor.stack.sql(f"SELECT count(*) FROM accounts WHERE account_id = '{person.id}'") == "0"
    audited(visitor, "account_deleted", "ticket 4", account_id=person.id)
    # What is left of it.
    page = visitor.open(person.path)
    assert visitor.response.status == 404 and "ticket 4" in page.inner_text("main"), page.inner_text("main")
    assert person.email not in page.inner_text("main")
    expect_nothing_refused(visitor)
    visitor.close()


@test(by=HANDS)
def console_replaces_an_address_sends_a_code_renames_and_ends_a_session(browser, stack, by):
    visitor, person = administrator(browser, stack, by=by), Person(stack, display_name="Named Example")
    email, session = f"new.{person.email}", person.session["sessionId"]
    page = visitor.open(person.path)
    visitor.act("Replace address", "ticket 10", email=email)
    assert email in page.locator("dl").first.inner_text(), page.inner_text("main")
    audited(visitor, "email_replacement_requested", "ticket 10", account_id=person.id)
    visitor.act("Stop replacement", "ticket 11")
    assert email not in page.locator("dl").first.inner_text(), page.inner_text("main")
    assert page.get_by_role("button", name="Stop replacement").count() == 0
    audited(visitor, "email_replacement_cancelled", "ticket 11", account_id=person.id)
    visitor.act("Send sign-in code", "ticket 12")
    assert stack.mailed_code(person.email).isdigit()
    audited(visitor, "code_requested", "ticket 12", account_id=person.id)
    visitor.act("Change name", "ticket 13", displayName="Renamed Example")
    assert "Renamed Example" in page.locator("dl").first.inner_text(), page.inner_text("main")
    audited(visitor, "display_name_changed", "ticket 13", account_id=person.id)
    visitor.act("End session", "ticket 14", within=f'tr:has-text("{session}")')
    assert stack.sql(f"SELECT ended_at IS NOT NULL FROM sessions WHERE session_id = '{session}'") == "t"
    # The other one goes on.
    assert stack.sql(f"SELECT count(*) FROM sessions WHERE account_id = '{person.id}' AND ended_at IS NULL") == "1"
    expect_nothing_refused(visitor)
    visitor.close()


@test(by=HANDS)
def console_exports(browser, stack, by):
    visitor, person = administrator(browser, stack, by=by), Person(stack, display_name="Exported Example")
    page = visitor.open(person.path)
    visitor.press("Export")
    assert person.email in page.inner_text("main")
    with page.expect_download() as download:
        visitor.activate(page.locator("main").get_by_role("button", name="Export", exact=True))
    text = pathlib.Path(download.value.path()).read_text()
    assert json.loads(text) and person.email in text and "Exported Example" in text, text
    audited(visitor, "account_exported", account_id=person.id)
    expect_nothing_refused(visitor)
    visitor.close()


@test(by=HANDS)
def console_unlinks_revokes_and_unblocks(browser, stack, by):
    visitor = administrator(browser, stack, by=by)

    def expect_revoked(person):
        stack.eventually(
            f"SELECT status FROM outbox WHERE kind = 'revocation' AND identity_id = '{person.identity_id}'", "done")

    def linked(person):
        return stack.sql(f"SELECT count(*) FROM identities WHERE identity_id = '{person.identity_id}'")

    blocked = Person(stack)
    blocked.block()
    page = visitor.open(blocked.path)
    assert "bulk-account" in page.inner_text("main")
    visitor.act("Unblock", "ticket 5")
    audited(visitor, "identity_unblocked", "ticket 5", identity_id=blocked.identity_id)
    assert "bulk-account" not in page.locator("table").first.inner_text()
    assert blocked.present()["status"] == "signedIn"

    # The last way to sign in stays, and its page says so in place of the button.
    assert "can't be unlinked" in page.inner_text("main")
    visitor.open(f"/console/identities/{blocked.identity_id}/unlink")
    visitor.press("Unlink")
    assert visitor.response.status == 409 and page.get_by_role("alert").count() == 1
    visitor.press("Cancel")
    assert linked(blocked) == "1"

    for label, type in ("Unlink", "identity_detached"), ("Revoke", "revocation_requested"):
        person = Person(stack)
        # A password is another way in.
        stack.sql(
            f"UPDATE accounts SET password_hash = (SELECT password_hash FROM accounts WHERE account_id ="
            f" '{with_password(stack)}') WHERE account_id = '{person.id}'")
        visitor.open(person.path)
        visitor.act(label, "ticket 6")
        assert linked(person) == "0", label
        audited(visitor, type, "ticket 6", identity_id=person.identity_id)
    expect_revoked(person)

    kept = Person(stack)
    page = visitor.open(kept.path)
    visitor.press("Revoke")
    visitor.activate(page.get_by_label("Keep the identity linked"))
    visitor.write(page.get_by_label("Reason"), "ticket 7")
    visitor.press("Revoke")
    assert linked(kept) == "1", page.inner_text("main")
    expect_revoked(kept)
    page.reload()
    assert "revoked" in page.locator("table").first.inner_text(), page.inner_text("main")
    expect_nothing_refused(visitor)
    visitor.close()


def with_password(stack):
    """An account that has one."""
    global passwords
    passwords += 1
    return stack.account(f"password{passwords}@example.com", "correct horse battery")["account"]["accountId"]


passwords = 0


@test(by=HANDS)
def console_retries_a_revocation(browser, stack, by):
    visitor, person = administrator(browser, stack, by=by), Person(stack)
    revocation = given_up_revocation(stack, person, visitor)
    page = visitor.open("/console/revocations")
    row = f'tr:has-text("{revocation}"):has(button) >> nth=0'
    assert "failed" in page.locator(row).inner_text(), page.locator(row).inner_text()
    visitor.act("Retry", "ticket 8", within=row)
    audited(visitor, "revocation_retried", "ticket 8", revocation_id=revocation)
    stack.eventually(f"SELECT status FROM outbox WHERE message_id = '{revocation}'", "done")
    page = visitor.open("/console/revocations")
    assert page.locator(row).count() == 0
    expect_nothing_refused(visitor)
    visitor.close()


@test(by=HANDS)
def console_replays_an_event(browser, stack, by):
    visitor, person = administrator(browser, stack, by=by), Person(stack)
    person.event("sessions-revoked")
    about = f"type = 'sessions_ended' AND actor = 'provider' AND account_id = '{person.id}'"
    stack.eventually(f"SELECT count(*) FROM audit_events WHERE {about}", "1")
    visitor.open("/console/provider-events")
    row = f'tr:has-text("{person.subject}") >> nth=0'
    page = visitor.act("Replay", "ticket 9", within=row)
    audited(visitor, "event_replayed", "ticket 9")
    # The event leads to the person.
    visitor.click(f'a:has-text("{person.subject}") >> nth=0')
    assert visitor.accounts() == [person.id], page.inner_text("main")
    expect_nothing_refused(visitor)
    visitor.close()


@test(by=HANDS)
def console_disables_and_enables_a_client(browser, stack, by):
    visitor, client = administrator(browser, stack, by=by), LinkingClient(stack, "Console & Söhne")

    def state():
        return stack.sql(f"SELECT status FROM oauth_clients WHERE client_id = '{client.id}'")

    visitor.open("/console/oauth-clients")
    row = f'tr:has-text("{client.id}")'
    visitor.press("Disable", within=row)
    assert "Console & Söhne" in visitor.page.inner_text("main")
    visitor.press("Cancel")
    assert state() == "active"
    for label, wanted in ("Disable", "disabled"), ("Enable", "active"):
        visitor.act(label, within=row)
        assert state() == wanted
    assert stack.sql(
        f"SELECT count(*) FROM audit_events WHERE type = 'oauth_client_changed' AND reason LIKE '{client.id}%'"
        f" AND actor_name = '{visitor.key.name}'") == "2"
    expect_nothing_refused(visitor)
    visitor.close()


@test(by=HANDS)
def console_unlinks_a_client(browser, stack, by):
    visitor, person = administrator(browser, stack, by=by), Person(stack)
    client, other = LinkingClient(stack, "Console Home"), LinkingClient(stack, "Console Garden")
    for service in client, other:
        person.link(browser, service)
    page = visitor.open(person.path)
    row = f'tr:has-text("{client.id}")'
    visitor.press("Unlink client", within=row)
    assert "Console Home" in page.inner_text("main") and person.email in page.inner_text("main")
    visitor.press("Cancel")
    visitor.act("Unlink client", "ticket 15", within=row)
    left = stack.sql(f"SELECT string_agg(client_id, ' ') FROM oauth_grants WHERE account_id = '{person.id}'")
    assert left == other.id, left
    audited(visitor, "client_unlinked", f"{client.id} ticket 15", account_id=person.id)
    expect_nothing_refused(visitor)
    visitor.close()


@test(by=HANDS)
def console_tests_pauses_resumes_and_replays_a_webhook(browser, stack, by):
    visitor, row = administrator(browser, stack, by=by), 'tr:has-text("crm")'

    def state():
        return stack.sql("SELECT status FROM webhook_endpoints WHERE name = 'crm'")

    stack.eventually("SELECT count(*) > 0 FROM webhook_streams WHERE endpoint = 'crm'", "t")
    page = visitor.open("/console/webhooks")
    visitor.act("Test", within=row)
    audited(visitor, "webhook_tested", "crm")
    for label, reason, type, wanted in (
        ("Pause", "ticket 16", "webhook_paused", "paused"), ("Resume", "ticket 17", "webhook_resumed", "active"),
    ):
        visitor.act(label, reason, within=row)
        assert state() == wanted and wanted in page.locator(row).inner_text(), page.inner_text("main")
        audited(visitor, type, f"crm {reason}")
    # Something that can be sent once more.
    stack.eventually(f"SELECT count(*) > 0 FROM account_events WHERE account_id = '{Person(stack).id}'", "t")
    visitor.act("Replay", within=row, since=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 3600)))
    audited(visitor, "webhook_replayed")
    expect_nothing_refused(visitor)
    visitor.close()


@test(by=HANDS)
def console_revokes_a_key(browser, stack, by):
    visitor, other = administrator(browser, stack, by=by), administrator(browser, stack, "read")
    page = visitor.open("/console/admin-keys")
    assert page.get_by_role("button", name=re.compile("Make|Create")).count() == 0
    row = f'tr:has-text("{other.key.id}")'
    visitor.act("Revoke", within=row)
    audited(visitor, "admin_key_revoked")
    assert page.locator(row).get_by_role("button").count() == 0 and "revoked" in page.locator(row).inner_text()
    keys = map(json.loads, stack.countersign("admin-key", "list").splitlines())
    assert [key["revokedAt"] for key in keys if key["keyId"] == other.key.id], "not revoked"
    assert other.open().locator("h1").inner_text() == "Sign in"
    expect_nothing_refused(visitor)
    visitor.close()
    other.close()


# Looking

@test
def console_by_keyboard_alone(browser, stack):
    """Each control of each page is reached by the Tab key, and shows that it is. The acts: the tests above."""
    there, found, seen = crowd(stack, browser), [], []
    visitor = administrator(browser, stack, by="keyboard")

    def see(name):
        seen.append(name)
        found.extend(f"{name}: {control}" for control in unreached(visitor.page))

    visitor.open()
    visitor.activate(visitor.page.get_by_text("Skip to the content"))
    visitor.page.wait_for_url(f"{stack.private}/console/#main")
    walk(visitor, there, see)
    # The field has the focus when the page opens.
    page = visitor.open()
    assert page.get_by_label("Admin key").evaluate("field => field === document.activeElement")
    page.keyboard.type(visitor.key.secret)
    visitor.enter("#key" if page.locator("#key").count() else "main input:not([type=hidden])")
    visitor.press("Sign out", within="header")
    assert page.locator("h1").inner_text() == "Sign in"
    expect_nothing_refused(visitor)
    visitor.close()
    assert len(seen) >= 30, seen
    assert not found, "\n".join(found)


# The pages of `walk` that say that there is no such thing.
ABSENT = "account-deleted", "refused"


def walk(visitor, there, see):
    """Calls `see` with the name of each page while it is open."""

    def answered(name, status=200):
        assert visitor.response.status == status, (name, visitor.page.url, visitor.response.status)
        see(name)

    hostile, blocked = there["hostile"], there["blocked"]
    paths = {
        "overview": "/console/", "overview-followed": "/console/?follow=1",
        "accounts": "/console/accounts", "accounts-found": "/console/accounts?q=shown",
        "accounts-none": "/console/accounts?q=nobody%40example.com",
        "account": hostile.path, "account-disabled": there["disabled"].path, "account-blocked": blocked.path,
        "account-replaced": there["replaced"].path,
        "account-apple": there["apple"].path, "account-mailed": f"/console/accounts/{there['mailed']}",
        "account-deleted": there["deleted"].path,
        "revocations": "/console/revocations", "provider-events": "/console/provider-events",
        "audit": "/console/audit", "audit-compared": f"/console/audit?account={hostile.id}&type=&since=&verify=1",
        "webhooks": "/console/webhooks", "oauth-clients": "/console/oauth-clients",
        "admin-keys": "/console/admin-keys", "system": "/console/system",
        "act-disable": f"{hostile.path}/disable", "act-enable": f"{there['disabled'].path}/enable",
        "act-sign-out": f"{hostile.path}/sign-out", "act-export": f"{hostile.path}/export",
        "act-delete": f"{hostile.path}/delete", "act-replace-email": f"{hostile.path}/replace-email",
        "act-cancel-replace-email": f"{there['replaced'].path}/cancel-replace-email",
        "act-send-code": f"{hostile.path}/send-code", "act-rename": f"{hostile.path}/rename",
        "act-unlink-client": f"{hostile.path}/unlink-client/{there['client'].id}",
        "act-end-session": f"/console/sessions/{hostile.session['sessionId']}/end",
        "act-unlink": f"/console/identities/{hostile.identity_id}/unlink",
        "act-revoke": f"/console/identities/{hostile.identity_id}/revoke",
        "act-unblock": f"/console/identities/{blocked.identity_id}/unblock",
        "act-retry": f"/console/revocations/{there['failed']}/retry",
        "act-revoke-key": f"/console/admin-keys/{visitor.key.id}/revoke",
        "refused": "/console/accounts/none",
    } | {f"act-{name}-webhook": f"/console/webhooks/crm/{name}" for name in ("test", "pause", "resume", "replay")}
    for name, path in paths.items():
        visitor.open(path)
        answered(name, 404 if name in ABSENT else 200)
    visitor.open(f"{hostile.path}/disable")
    visitor.page.get_by_label("Reason").evaluate("field => field.required = false")
    visitor.press("Disable")
    answered("act-without-reason", 400)
    for label, path, within in (
        ("Disable", "/console/oauth-clients", "main tr:has(button:text-is('Disable')) >> nth=0"),
        ("Replay", "/console/provider-events", "main tr:has(button) >> nth=0"),
    ):
        visitor.open(path)
        visitor.press(label, within)
        answered(f"act-{label.lower()}-of-a-list")
    visitor.open("/console/accounts")
    visitor.context.clear_cookies()
    visitor.open("/console/accounts")
    answered("sign-in")
    visitor.sign_in("wrong")
    assert visitor.page.get_by_role("alert").count() == 1, visitor.page.inner_text("main")
    see("sign-in-refused")


@test(scheme=["light", "dark"])
def console_accessible(browser, stack, scheme):
    """axe finds nothing on any page, wide or narrow; none scrolls sideways; no name leaves its place."""
    there, found, seen = crowd(stack, browser), [], []
    visitor = administrator(browser, stack, color_scheme=scheme)

    def see(name):
        page = visitor.page
        seen.append(name)
        if page.locator("main h1").count() != 1 or not page.title():
            found.append(f"{name}: no heading or title")
        for width, dimensions in ("wide", WIDE), ("narrow", NARROW):
            size(page, dimensions)
            picture(page, name, f"console-{scheme}-{width}")
            # Who opened the page has asked for it to load itself again, and can stop that on it (WCAG 2.2.1).
            rules = {"rules": {"meta-refresh": {"enabled": name != "overview-followed"}}}
            for violation in Axe().run(page, options=RULES | rules).response["violations"]:
                nodes = [node["html"][:120] for node in violation["nodes"]]
                found.append(f"{name} ({width}): {violation['id']}: {violation['help']}: {nodes}")
            scrolled = page.evaluate(
                "() => [document.scrollingElement.scrollWidth, document.scrollingElement.clientWidth]")
            if scrolled[0] > scrolled[1]:
                beyond = page.evaluate(
                    """width => [...document.querySelectorAll('body *')]
                        .filter(element => element.getBoundingClientRect().right > width + 0.5)
                        .map(element => element.outerHTML.slice(0, 120))""", scrolled[1])
                found.append(f"{name} ({width}): {scrolled[0]} px wide: {beyond[:5]}")
        if page.locator("main script, main img").count():
            found.append(f"{name}: an element of a person's making")
        size(page, WIDE)

    walk(visitor, there, see)
    visitor.close()
    assert len(seen) >= 30, seen
    assert not found, "\n".join(found)
    assert visitor.complaints == [], visitor.complaints
