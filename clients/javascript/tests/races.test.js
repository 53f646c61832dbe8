// What happens at the same time: another person signs in, another client of the store, a store that takes its time.
import assert from "node:assert/strict";
import { test } from "node:test";
import { CountersignClient, MemoryStore } from "../countersign.js";
import { account, document, gate, inPage, problem, scripted, session, signedIn } from "./scripted.js";

const REDIRECT = "https://app.example.com/signed-in";
const REFRESH = "/v1/sessions/refresh";
const others = {
  status: "signedIn", session: { ...session(9), sessionId: "session-2" }, account: { ...account, accountId: "account-2" },
};

/** A server that holds requests of a path, but for the bearer access-9, until the gate is opened. */
async function holding(path, reply, store = new MemoryStore()) {
  const hold = gate();
  const server = await scripted(async (request) => {
    if (request.path === path && request.bearer !== "access-9") {
      await hold.pass();
      return reply;
    }
    if (request.path === "/v1/sign-in/web") return { body: others };
    return request.path === "/v1/sessions/revoke" ? { status: 204 } : { body: account };
  });
  const made = (own = store) => new CountersignClient({ baseURL: server.url, store: own });
  return { hold, server, store, made, client: made() };
}

async function signInAsAnother(client, server) {
  const { attempt } = await client.startWebSignIn({ app: "lamp", redirectURI: REDIRECT });
  const query = new URLSearchParams({ code: "code-1", state: attempt.state, iss: server.url });
  await client.finishWebSignIn(attempt, `${REDIRECT}?${query}`);
}

/** Lets everything that needs no network happen. */
async function settle() {
  for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
}

for (const isOwn of [true, false]) {
  const by = isOwn ? "the same client" : "another client of the store";

  test(`a call that was begun for one account is not sent as another, signed in by ${by}`, async () => {
    for (const [path, reply, left] of [["/v1/things", problem(401, "invalid_session"), 900], [REFRESH, { body: session(2) }, 0]]) {
      const { hold, server, store, made, client } = await holding(path, reply);
      store.save(document(1, left));
      const call = client.fetch(`${server.url}/v1/things`, { method: "DELETE" });
      await hold.arrived;
      await signInAsAnother(isOwn ? client : made(), server);
      hold.open();
      await assert.rejects(call, { kind: "cancelled" });
      assert.ok(!server.requests.some((request) => request.bearer === "access-9"));
      assert.equal(store.load().accountId, "account-2");
    }
  });

  test(`a refresh brings back no session that ${by} has signed out`, async () => {
    const { hold, store, made, client } = await holding(REFRESH, { body: session(2) });
    store.save(document(1, 30));
    const call = client.account();
    await hold.arrived;
    await (isOwn ? client : made()).signOut();
    hold.open();
    await assert.rejects(call, { kind: "noSession" });
    assert.equal(store.load(), null);
  });

  test(`the old tokens do not come back when ${by} says that they are refused`, async () => {
    const rows = new MemoryStore();
    const { hold, made, client } = await holding(REFRESH, { body: session(2) }, rows);
    rows.save(document(1, 30));
    const call = client.account();
    await hold.arrived;
    const late = gate();
    const read = rows.load.bind(rows);
    // The next load answers late what it has read in time.
    rows.load = async () => {
      rows.load = read;
      const known = read();
      await late.pass();
      return known;
    };
    const flagged = (isOwn ? client : made()).setNeedsRefresh();
    await late.arrived;
    hold.open();
    await call;
    late.open();
    await flagged;
    assert.equal(rows.load().refreshToken, "refresh-2");
  });
}

test("what a refused refresh token ends is that session, not one of somebody who has signed in", async () => {
  const { hold, server, store, made, client } = await holding(REFRESH, problem(401, "invalid_refresh_token"));
  store.save(document(1, 0));
  const call = client.account();
  await hold.arrived;
  await signInAsAnother(made(), server);
  hold.open();
  await assert.rejects(call, { kind: "cancelled" });
  assert.equal(store.load().accountId, "account-2");
});

test("a store that takes its time is written in order: signing out is the last word", async () => {
  const writing = gate();
  let row = document(1, 0);
  const store = {
    load: async () => row, remove: async () => { row = null; },
    save: async (document) => { await writing.pass(); row = document; },
  };
  const server = await scripted((request) => request.path === REFRESH ? { body: session(2) } : { body: account });
  const client = new CountersignClient({ baseURL: server.url, store });
  const call = client.account().catch(() => {});
  await writing.arrived;
  const out = client.signOut().catch(() => {});
  await settle();
  writing.open();
  await Promise.all([call, out]);
  assert.equal(row, null);
});

test("clients of one session refresh once, each with a store of its own over one row", async () => {
  let row = document(1, 0);
  const store = () => ({ load: async () => row, save: async (document) => { row = document; }, remove: async () => { row = null; } });
  const server = await scripted((request) => request.path === REFRESH ? { body: session(2) } : { body: account });
  await Promise.all(Array.from({ length: 5 }, () =>
    new CountersignClient({ baseURL: server.url, store: store() }).account()));
  assert.equal(server.requests.filter((request) => request.path === REFRESH).length, 1);
  assert.equal(row.refreshToken, "refresh-2");
});

test("in a page the browser's locks order refreshes and writes, by the session", () => inPage(async (names) => {
  const { client, hold, store } = await holding(REFRESH, { body: session(2) });
  store.save(document(1, 0));
  hold.open();
  await client.account();
  assert.deepEqual(names, ["countersign-refresh-session-1", "countersign-store-session-1"]);
}));

test("a call that was given up before it began rejects, and takes nothing else with it", async () => {
  const { client, server } = await holding(REFRESH, null);
  const rejections = [];
  const note = (error) => rejections.push(error);
  process.on("unhandledRejection", note);
  try {
    await assert.rejects(client.fetch(`${server.url}/v1/things`, { signal: AbortSignal.abort() }), { kind: "cancelled" });
    await settle();
  } finally { process.off("unhandledRejection", note); }
  assert.deepEqual(rejections, []);
});
