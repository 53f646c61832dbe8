import assert from "node:assert/strict";
import { inspect } from "node:util";
import { test } from "node:test";
import { CountersignClient, MemoryStore } from "../countersign.js";
import { account, document, gate, linkRequired, problem, scripted, session, signedIn } from "./scripted.js";

const REDIRECT = "https://app.example.com/signed-in";

async function client(script, held, options = {}) {
  const server = await scripted(script);
  const store = new MemoryStore();
  if (held) store.save(held);
  return { server, store, client: new CountersignClient({ baseURL: server.url, store, ...options }) };
}

const callback = (attempt, server, changes = {}) => {
  const query = new URLSearchParams({ code: "code-1", state: attempt.state, iss: server.url, ...changes });
  for (const [name, value] of Object.entries(changes)) if (value === undefined) query.delete(name);
  return `${REDIRECT}?${query}`;
};

test("an attempt carries a state and the hash of a verifier, new each time, and never the verifier", async () => {
  const { client: c, server } = await client(() => null);
  const { url, attempt } = await c.startWebSignIn({
    app: "lamp", redirectURI: REDIRECT, provider: "google", languages: ["de", "en"], loginHint: "kim+1@example.com" });
  const query = new URL(url).searchParams;
  assert.equal(new URL(url).pathname, "/web/authorize");
  assert.deepEqual(
    ["app", "redirect_uri", "provider", "ui_locales", "login_hint", "code_challenge_method"].map((n) => query.get(n)),
    ["lamp", REDIRECT, "google", "de en", "kim+1@example.com", "S256"]);
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(attempt.verifier));
  assert.equal(query.get("code_challenge"), Buffer.from(digest).toString("base64url"));
  assert.ok(!url.includes(attempt.verifier) && attempt.state.length === 43 && attempt.verifier.length === 43);
  const second = await c.startWebSignIn({ app: "lamp", redirectURI: REDIRECT });
  assert.notEqual(second.attempt.state, attempt.state);
  assert.equal(server.requests.length, 0);
});

test("a callback becomes a stored session, once, also after the attempt was kept as text", async () => {
  const { client: c, server, store } = await client(() => ({ body: signedIn() }), null, { device: { platform: "web" } });
  const started = await c.startWebSignIn({ app: "lamp", redirectURI: REDIRECT });
  const attempt = JSON.parse(JSON.stringify(started.attempt));
  const outcome = await c.finishWebSignIn(attempt, callback(attempt, server));
  assert.deepEqual(outcome, { status: "signedIn", account });
  assert.deepEqual(server.requests[0].json, {
    code: "code-1", codeVerifier: attempt.verifier, redirectUri: REDIRECT, device: { platform: "web" } });
  assert.equal(store.load().refreshToken, "refresh-1");
  assert.equal(await c.isSignedIn(), true);
  await assert.rejects(c.finishWebSignIn(attempt, callback(attempt, server)), { kind: "refused", code: "attempt_spent" });
  assert.equal(server.requests.length, 1);
});

test("an attempt is good once for all clients, of which the first has its session", async () => {
  const { client: c, server, store } = await client(() => ({ body: signedIn(server.requests.length) }));
  const { attempt } = await c.startWebSignIn({ app: "lamp", redirectURI: REDIRECT });
  const finished = await Promise.allSettled(Array.from({ length: 2 }, () =>
    new CountersignClient({ baseURL: server.url, store }).finishWebSignIn({ ...attempt }, callback(attempt, server))));
  assert.deepEqual(finished.map(({ value, reason }) => value?.status ?? reason.code), ["signedIn", "attempt_spent"]);
  assert.equal(server.requests.length, 1);
  assert.equal(store.load().refreshToken, "refresh-1");
});

test("what is not the attempt's is refused, and nothing is sent", async () => {
  const { client: c, server } = await client(() => ({ body: signedIn() }));
  const { attempt } = await c.startWebSignIn({ app: "lamp", redirectURI: REDIRECT });
  const own = callback(attempt, server);
  const foreign = [
    callback(attempt, server, { state: "another" }), callback(attempt, server, { state: undefined }),
    callback(attempt, server, { iss: "https://evil.example" }), callback(attempt, server, { iss: undefined }),
    callback(attempt, server, { code: undefined }), callback(attempt, server, { error: "access_denied" }),
    `${own}&state=${attempt.state}`, own.replace("app.example.com", "evil.example"), own.replace("signed-in", "other"),
    own.replace("https:", "http:"), callback(attempt, server, { code: undefined, error: "<script>" }), "no url",
  ];
  for (const url of foreign) {
    await assert.rejects(c.finishWebSignIn(attempt, url), { kind: "refused", code: "foreign_callback", status: 0 }, url);
  }
  for (const [error, kind] of [["access_denied", "cancelled"], ["server_error", "transient"], ["invalid_request", "refused"]]) {
    await assert.rejects(c.finishWebSignIn(attempt, callback(attempt, server, { code: undefined, error })), { kind });
  }
  assert.equal(server.requests.length, 0);
  await c.finishWebSignIn(attempt, own);
});

test("somebody new creates an account or binds to one", async () => {
  const replies = [
    { body: linkRequired() }, { status: 202, body: {} }, { body: linkRequired({ providers: ["apple"], identities: [] }) },
    { ...problem(409, "provider_already_linked"), body: { code: "provider_already_linked", existing: { email: "k***@e.example" } } },
    { body: signedIn(2) }, { status: 201, body: signedIn(3) },
  ];
  const { client: c, server, store } = await client(() => replies.shift());
  const { attempt } = await c.startWebSignIn({ app: "lamp", redirectURI: REDIRECT });
  const { ticket } = await c.finishWebSignIn(attempt, callback(attempt, server));
  assert.deepEqual(ticket.choices, ["create", "bind"]);
  assert.ok(!inspect(ticket).includes("ticket-secret"));
  await c.requestCode(ticket, "kim@example.com");
  const shown = await c.bind(ticket, { email: "kim@example.com", emailCode: "123456" });
  assert.deepEqual([shown.status, shown.ticket.holder.providers], ["linkRequired", ["apple"]]);
  assert.deepEqual(await c.bind(ticket), { status: "conflict", maskedEmail: "k***@e.example" });
  assert.equal((await c.bind(ticket, { replacing: true })).status, "signedIn");
  assert.deepEqual(server.requests[4].json, { linkTicket: "ticket-secret", onConflict: "replace" });
  assert.equal((await c.create(ticket, { displayName: "Kim" })).accountId, "account-1");
  assert.equal(store.load().accessToken, "access-3");
});

test("who is signed in binds a provider by that session, and has the new one", async () => {
  const conflict = { ...problem(409, "provider_already_linked"), body: { code: "provider_already_linked", existing: {} } };
  const replies = [
    { body: linkRequired() }, problem(401, "invalid_session"), { body: session(2) }, conflict,
    { body: { ...signedIn(3), session: { ...session(3), sessionId: "session-2" } } },
    problem(403, "reauthentication_required"),
  ];
  const { client: c, server, store } = await client(() => replies.shift(), document());
  const { attempt } = await c.startWebSignIn({ app: "lamp", redirectURI: REDIRECT, provider: "google" });
  const { ticket } = await c.finishWebSignIn(attempt, callback(attempt, server));
  assert.equal(store.load().accessToken, "access-1");
  assert.deepEqual(await c.bind(ticket, { session: true }), { status: "conflict", maskedEmail: undefined });
  assert.deepEqual(await c.bind(ticket, { session: true, replacing: true }), { status: "signedIn", account });
  assert.deepEqual(server.requests.map((r) => [r.path, r.bearer]), [
    ["/v1/sign-in/web", undefined], ["/v1/links/bind", "access-1"], ["/v1/sessions/refresh", undefined],
    ["/v1/links/bind", "access-2"], ["/v1/links/bind", "access-2"]]);
  assert.deepEqual(server.requests[3].json, { linkTicket: "ticket-secret" });
  assert.deepEqual(server.requests[4].json, { linkTicket: "ticket-secret", onConflict: "replace" });
  assert.deepEqual([store.load().sessionId, store.load().accessToken], ["session-2", "access-3"]);
  await assert.rejects(c.bind(ticket, { session: true }), { kind: "refused", code: "reauthentication_required" });
  const { client: out, server: unasked } = await client(() => null);
  await assert.rejects(out.bind(ticket, { session: true }), { kind: "noSession" });
  assert.equal(unasked.requests.length, 0);
});

test("fetch adds the token, and sends nothing else while it has more than a minute", async () => {
  const { client: c, server } = await client(() => ({ body: account }), document());
  assert.equal((await c.account()).accountId, "account-1");
  await c.fetch(`${server.url}/things`, { method: "POST", body: "b", headers: { Authorization: "Basic x" } });
  assert.deepEqual(server.requests.map((r) => [r.method, r.path, r.bearer, r.text]), [
    ["GET", "/v1/account", "access-1", ""], ["POST", "/things", "access-1", "b"]]);
});

test("twenty callers with a stale token refresh once, and the new tokens are stored first", async () => {
  const stored = [];
  const { client: c, server, store } = await client((request) => {
    if (request.path !== "/v1/sessions/refresh") stored.push(store.load().refreshToken);
    return { body: request.path === "/v1/sessions/refresh" ? session(2) : account };
  }, document(1, 30));
  await Promise.all(Array.from({ length: 20 }, () => c.account()));
  assert.equal(server.requests.filter((r) => r.path === "/v1/sessions/refresh").length, 1);
  assert.ok(stored.length === 20 && stored.every((token) => token === "refresh-2"));
});

test("a refused token is refreshed once for all, and the request sent once more with its body", async () => {
  const { client: c, server } = await client((request) => {
    if (request.path === "/v1/sessions/refresh") return { body: session(2) };
    return request.bearer === "access-2" ? { body: { got: request.text } } : problem(401, "invalid_session");
  }, document());
  const bodies = await Promise.all(["a", "b", "c"].map(async (text) =>
    (await (await c.fetch(`${server.url}/v1/x`, { method: "POST", body: text })).json()).got));
  assert.deepEqual(bodies, ["a", "b", "c"]);
  assert.equal(server.requests.filter((r) => r.path === "/v1/sessions/refresh").length, 1);
});

test("no other refusal is repeated or ends the session", async () => {
  for (const [status, code] of [[401, "invalid_credentials"], [403, "reauthentication_required"], [404, "not_found"]]) {
    const { client: c, server, store } = await client(() => problem(status, code, { "X-Request-Id": "id-1" }), document());
    await assert.rejects(c.account(), { kind: "refused", code, status, requestId: "id-1" });
    assert.equal(server.requests.length, 1);
    assert.ok(store.load());
  }
});

test("a refusal has the service's sentence, and a date to wait for is so many seconds", async () => {
  const disabled = problem(403, "account_disabled");
  disabled.body.detail = "The provider has disabled the person's account there.";
  const { client: refused } = await client(() => disabled, document());
  await assert.rejects(refused.account(), { kind: "refused", code: "account_disabled", detail: disabled.body.detail });
  const noText = problem(403, "account_disabled");
  noText.body.detail = { text: 1 };
  const { client: other } = await client(() => noText, document());
  await assert.rejects(other.account(), { code: "account_disabled", detail: undefined });

  for (const [value, retryAfter] of [["7", 7], ["Fri, 01 Jan 2027 00:01:30 GMT", 90], ["Thu, 31 Dec 2026 23:00:00 GMT", 0],
                                     ["soon", undefined], ["-1", undefined]]) {
    const { client: busy } = await client(() => problem(503, "temporarily_unavailable", {
      Date: "Fri, 01 Jan 2027 00:00:00 GMT", "Retry-After": value }), document());
    await assert.rejects(busy.account(), { kind: "transient", status: 503, retryAfter }, value);
  }
});

test("only the service ends a session", async () => {
  for (const code of ["invalid_refresh_token", "refresh_token_reused"]) {
    const { client: c, store } = await client(() => problem(401, code), document(1, 0));
    await assert.rejects(c.account(), { kind: "reauthenticate", code });
    assert.equal(store.load(), null);
    await assert.rejects(c.account(), { kind: "noSession" });
  }
  const api = await scripted(() => problem(401, "invalid_session"));
  const { client: c, store } = await client(() => ({ body: session(2) }), document(), { resourceOrigins: [api.url] });
  assert.equal((await c.fetch(`${api.url}/things`)).status, 401);
  assert.deepEqual(api.requests.map((r) => r.bearer), ["access-1", "access-2"]);
  assert.equal(store.load().accessToken, "access-2");
});

test("an app's own API under the service's host is called once more after any 401, and ends no session", async () => {
  for (const [base, path] of [["", "/api/things"], ["", "/v10/things"], ["", "/oauth"], ["/auth", "/v1/things"],
                              ["/auth/", "/authority/v1/things"]]) {
    for (const code of ["token_expired", "invalid_session"]) {
      const { server, store } = await client((request) =>
        request.path.endsWith("/v1/sessions/refresh") ? { body: session(2) } : problem(401, code), document());
      const c = new CountersignClient({ baseURL: server.url + base, store });
      assert.equal((await c.fetch(server.url + path)).status, 401, path);
      assert.deepEqual(
        server.requests.filter((r) => r.path === path).map((r) => r.bearer), ["access-1", "access-2"], path);
      assert.equal(store.load().accessToken, "access-2");
    }
  }
});

test("a service below a path refuses for another reason once, and ends a session, too", async () => {
  for (const [base, path] of [["", "/v1/things"], ["", "/oauth/flip"], ["/auth", "/auth/v1/things"],
                              ["/auth/", "/auth/oauth/flip"]]) {
    let code = "invalid_credentials";
    const { server, store } = await client((request) =>
      request.path.endsWith("/v1/sessions/refresh") ? { body: session(2) } : problem(401, code), document());
    const c = new CountersignClient({ baseURL: server.url + base, store });
    assert.equal((await c.fetch(server.url + path)).status, 401);
    assert.equal(server.requests.length, 1, path);
    code = "invalid_session";
    await assert.rejects(c.fetch(server.url + path), { kind: "reauthenticate", code }, path);
    assert.equal(store.load(), null);
  }
});

test("a session that is refused again right after a refresh is over", async () => {
  const { client: c, store } = await client((request) =>
    request.path === "/v1/sessions/refresh" ? { body: session(2) } : problem(401, "invalid_session"), document());
  await assert.rejects(c.account(), { kind: "reauthenticate", code: "invalid_session" });
  assert.equal(store.load(), null);
});

test("what fails for now loses nothing: the old token goes out while it lives", async () => {
  for (const reply of [problem(503, "temporarily_unavailable", { "Retry-After": "7" }), { body: "<html>hotel</html>" }, null,
                       { status: 401, body: "<html>" }, { body: { ...session(2), expiresIn: "900" } }]) {
    const { client: c, store } = await client((request) =>
      request.path === "/v1/sessions/refresh" ? reply : { body: account }, document(1, 30));
    assert.equal((await c.account()).accountId, "account-1");
    store.save(document(1, 0));
    await assert.rejects(c.account(), { kind: "transient" });
    assert.equal(store.load().refreshToken, "refresh-1");
  }
});

test("the token goes to no other origin, over no plain http and along no redirect", async () => {
  const other = await scripted(() => ({ body: {} }));
  const { client: c, server } = await client(
    () => ({ status: 307, headers: { Location: `${other.url}/steal` } }), document());
  for (const url of [`${other.url}/`, `http://localhost:${server.port}/`, "https://evil.example/"]) {
    await assert.rejects(c.fetch(url), { kind: "refused", code: "foreign_host" }, url);
  }
  for (const url of ["http://evil.example/", "http://127.0.0.1.evil.example/"]) {
    await assert.rejects(c.fetch(url), { kind: "insecureRequest" }, url);
  }
  await assert.rejects(c.fetch(`${server.url}/moved`), { kind: "refused", code: "redirected", status: 307 });
  await assert.rejects(c.fetch(`${server.url}/moved`, { redirect: "follow" }), { code: "redirected" });
  // Who asks for it looks at it.
  const moved = new Request(`${server.url}/moved`, { redirect: "manual" });
  assert.equal((await c.fetch(moved)).status, 307);
  assert.equal((await c.fetch(`${server.url}/moved`, { redirect: "manual" })).status, 307);
  await assert.rejects(c.fetch(moved, { redirect: "error" }), { code: "redirected" });
  assert.equal(other.requests.length, 0);
  const opaque = { fetch: async () => Object.defineProperty(Response.error(), "type", { value: "opaqueredirect" }) };
  const { client: inPage } = await client(() => null, document(), opaque);
  await assert.rejects(inPage.account(), { kind: "refused", code: "redirected", status: 0 });
  assert.throws(() => new CountersignClient({ baseURL: "http://auth.example.com" }), { kind: "insecureRequest" });
});

test("a caller who gives up ends alone: the refresh goes on, and is kept", async () => {
  const hold = gate();
  const { client: c, store } = await client(async (request) => {
    if (request.path !== "/v1/sessions/refresh") return { body: account };
    await hold.pass();
    return { body: session(2) };
  }, document(1, 0));
  const abort = new AbortController();
  const first = c.fetch(`${(await c.startWebSignIn({ app: "a", redirectURI: REDIRECT })).url}`, { signal: abort.signal });
  const second = c.account();
  await hold.arrived;
  abort.abort();
  await assert.rejects(first, { kind: "cancelled" });
  hold.open();
  assert.equal((await second).accountId, "account-1");
  assert.equal(store.load().accessToken, "access-2");
});

test("signing out wins over a refresh under way, and the service hears of it", async () => {
  const hold = gate();
  const { client: c, server, store } = await client(async (request) => {
    if (request.path !== "/v1/sessions/refresh") return { status: 204 };
    await hold.pass();
    return { body: session(2) };
  }, document(1, 30));
  const call = c.account();
  await hold.arrived;
  await c.signOut();
  hold.open();
  await assert.rejects(call, { kind: "noSession" });
  assert.equal(store.load(), null);
  assert.deepEqual(server.requests.filter((r) => r.path === "/v1/sessions/revoke").map((r) => [r.bearer, r.json]), [
    ["access-1", { scope: "current" }]]);
});

test("signing out forgets the session whatever the service says", async () => {
  for (const [reply, kind] of [[null, "transient"], [problem(503, "down"), "transient"], [problem(403, "forbidden"), "refused"]]) {
    const { client: c, store } = await client(() => reply, document());
    await assert.rejects(c.signOut(), { kind });
    assert.equal(store.load(), null);
  }
  const ended = await client((request) =>
    problem(401, request.path === "/v1/sessions/refresh" ? "invalid_refresh_token" : "invalid_session"), document());
  await ended.client.signOut();
  const expired = await client((request) =>
    request.path === "/v1/sessions/refresh" ? { body: session(2) } : { status: 204 }, document(1, 0));
  await expired.client.signOut();
  assert.deepEqual(expired.server.requests.map((r) => r.path), ["/v1/sessions/refresh", "/v1/sessions/revoke"]);
});

test("two clients of one store share what either has refreshed", async () => {
  const { client: first, server, store } = await client((request) =>
    ({ body: request.path === "/v1/sessions/refresh" ? session(2) : account }), document(1, 0));
  const second = new CountersignClient({ baseURL: server.url, store });
  await first.account();
  await second.account();
  assert.equal(server.requests.filter((r) => r.path === "/v1/sessions/refresh").length, 1);
  await second.signOut().catch(() => {});
  await assert.rejects(first.account(), { kind: "noSession" });
});

test("an API's own 401 is refreshed for when the app says so", async () => {
  const { client: c, server } = await client((request) =>
    ({ body: request.path === "/v1/sessions/refresh" ? session(2) : account }), document());
  await c.setNeedsRefresh();
  await c.account();
  assert.deepEqual(server.requests.map((r) => r.path), ["/v1/sessions/refresh", "/v1/account"]);
});

test("an answer without what it must have is transient, and nothing of it is kept", async () => {
  const without = (members, name) => Object.fromEntries(Object.entries(members).filter(([member]) => member !== name));
  const wrong = [[], "text", 7, {}, { status: "signedIn" }, { ...signedIn(), account: null }, { ...signedIn(), account: "a" }];
  for (const name of ["sessionId", "accessToken", "tokenType", "expiresIn", "refreshToken"]) {
    wrong.push({ ...signedIn(), session: without(session(), name) });
  }
  for (const changed of [{ tokenType: "DPoP" }, { sessionId: 7 }, { sessionId: "" }, { accessToken: "a\nb" }, { expiresIn: 1e12 }]) {
    wrong.push({ ...signedIn(), session: { ...session(), ...changed } });
  }
  for (const name of ["accountId", "identities"]) wrong.push({ ...signedIn(), account: without(account, name) });
  for (const name of ["linkTicket", "expiresAt", "identity", "choices"]) wrong.push(without(linkRequired(), name));
  wrong.push({ ...linkRequired(), choices: [1] }, { ...linkRequired(), holder: "a" });
  for (const answer of wrong) {
    const { client: c, server, store } = await client(() => ({ body: JSON.stringify(answer) }));
    const { attempt } = await c.startWebSignIn({ app: "lamp", redirectURI: REDIRECT });
    await assert.rejects(
      c.finishWebSignIn(attempt, callback(attempt, server)), { name: "CountersignError", kind: "transient" },
      JSON.stringify(answer));
    assert.equal(store.load(), null);
  }
  const { client: c } = await client(() => ({ body: {} }), document());
  await assert.rejects(c.account(), { kind: "transient" });
});

test("a store that fails says so, and what a later version has stored is left alone", async () => {
  const broken = { load() { throw new TypeError("secret detail"); }, save() {}, remove() {} };
  const one = await client(() => null, null, { store: broken });
  await assert.rejects(one.client.account(), (error) =>
    error.kind === "storage" && error.cause === "TypeError" && !inspect(error, { showHidden: true }).includes("secret detail"));
  const later = await client(() => null, { ...document(), v: 2 });
  await assert.rejects(later.client.account(), { kind: "storage" });
  await assert.rejects(later.client.setNeedsRefresh(), { kind: "storage" });
  await assert.rejects(later.client.signOut(), { kind: "storage" });
  assert.equal(later.store.load().v, 2);
  const replaced = await client(() => ({ body: signedIn() }), { ...document(), v: 2 });
  const { attempt } = await replaced.client.startWebSignIn({ app: "lamp", redirectURI: REDIRECT });
  await replaced.client.finishWebSignIn(attempt, callback(attempt, replaced.server));
  assert.equal(replaced.store.load().v, 1);
});

test("nothing that is printed shows a token or a verifier", async () => {
  const { client: c, store } = await client(() => ({ body: session(2) }), null);
  const fresh = await client(() => ({ body: signedIn() }));
  const { attempt } = await fresh.client.startWebSignIn({ app: "lamp", redirectURI: REDIRECT });
  await fresh.client.finishWebSignIn(attempt, callback(attempt, fresh.server));
  await fresh.client.setNeedsRefresh();
  const shown = inspect([c, store, fresh.client, fresh.store.load(), attempt], { depth: 9, showHidden: true });
  assert.ok(!shown.includes("refresh-1") && !shown.includes("access-1") && !shown.includes(attempt.verifier), shown);
});
