// What happens while the service hangs or is away, and while a store takes nothing.
import assert from "node:assert/strict";
import { test } from "node:test";
import { CountersignClient, MemoryStore } from "../countersign.js";
import { account, document, gate, inPage, problem, scripted, session } from "./scripted.js";

const REFRESH = "/v1/sessions/refresh";

/** A service, an API of the app's, and clients of one stored session, whose clock can be set forward. */
async function outage(script, held) {
  const clock = { late: 0 };
  const service = await scripted(script);
  const api = await scripted(() => ({ body: {} }));
  const store = new MemoryStore();
  store.save(held);
  const made = (Client = CountersignClient) => new Client({
    baseURL: service.url, store, resourceOrigins: [api.url], now: () => Date.now() + 1000 * clock.late });
  return { clock, service, api, store, made, client: made(), refreshes: () => sent(service, REFRESH).length };
}

const sent = (server, path) => server.requests.filter((request) => request.path === path);

async function settle() {
  for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
}

test("while the service hangs one client waits for it, and none that comes later", async () => {
  const hold = gate();
  const { clock, api, made, refreshes } = await outage(async () => { await hold.pass(); return null; }, document(1, 50));
  const calls = Array.from({ length: 5 }, () => made().fetch(`${api.url}/things`));
  await hold.arrived;
  await settle();
  hold.open();
  assert.deepEqual((await Promise.all(calls)).map(({ status }) => status), [200, 200, 200, 200, 200]);
  await made().fetch(`${api.url}/things`);
  assert.ok(api.requests.every((request) => request.bearer === "access-1"));
  assert.equal(refreshes(), 1);
  clock.late = 6;
  await made().fetch(`${api.url}/things`);
  assert.equal(refreshes(), 2);
});

test("tabs that share a store wait for a hung service at the same time, and ask it once", () =>
  inPage(async () => {
    const tabs = await Promise.all([1, 2, 3].map((number) => import(`../countersign.js?tab=${number}`)));
    for (const [late, tries] of [[15, 1], [1, 3]]) {
      const hold = gate();
      const { clock, api, store, made, refreshes } = await outage(
        async () => { await hold.pass(); return null; }, document(1, 50));
      const clients = tabs.map((tab) => made(tab.CountersignClient));
      const call = (client) => client.fetch(`${api.url}/things`);
      const first = call(clients[0]);
      await hold.arrived;
      const calls = [first, ...clients.slice(1).map(call)];
      await settle();
      clock.late = late;
      hold.open();
      assert.deepEqual((await Promise.all(calls)).map(({ status }) => status), [200, 200, 200]);
      await Promise.all(clients.map(call));
      assert.equal(refreshes(), tries);
      // Another session, of a sign-in since, has no part in it.
      store.save({ ...document(9, 0), sessionId: "session-2" });
      await assert.rejects(call(clients[2]), { kind: "transient" });
      assert.equal(refreshes(), tries + 1);
      store.save(document(1, 50));
      clock.late = late + 6;
      await call(clients[2]);
      assert.equal(refreshes(), tries + 2);
    }
  }));

test("a refresh is tried again when the service says so, in five minutes at most, also by a clock that is set back", async () => {
  for (const [wait, early, late] of [["30", 15, 31], ["7000", 200, 301], ["30", 0, -7000]]) {
    const { clock, made, refreshes } = await outage(
      () => problem(503, "temporarily_unavailable", { "Retry-After": wait }), document(1, -8000));
    await assert.rejects(made().account(), { kind: "transient", status: 503, retryAfter: Number(wait) });
    clock.late = early;
    await assert.rejects(made().account(), (error) =>
      error.kind === "transient" && error.retryAfter > 0 && error.retryAfter <= Math.min(Number(wait), 300));
    assert.equal(refreshes(), 1);
    clock.late = late;
    await assert.rejects(made().account(), { kind: "transient", status: 503 });
    assert.equal(refreshes(), 2);
  }
});

test("a token that expires while a refresh is waited for is not sent", async () => {
  const hold = gate();
  const { clock, api, client } = await outage(async () => { await hold.pass(); return null; }, document(1, 10));
  const call = client.fetch(`${api.url}/things`);
  await hold.arrived;
  clock.late = 15;
  hold.open();
  await assert.rejects(call, { kind: "transient" });
  assert.equal(api.requests.length, 0);
});

const busy = problem(503, "temporarily_unavailable", { "Retry-After": "30" });
const isRefused = (request) => request.path === REFRESH ? busy : problem(401, "invalid_session");

test("the service is not sent a token again that it has refused, and an API is while it lives", async () => {
  for (const isFlagged of [true, false]) {
    let isAway = true;
    const { clock, service, api, store, made, refreshes } = await outage((request) => {
      if (request.path === "/api/things") return { body: {} };
      if (isAway) return isRefused(request);
      return { body: request.path === REFRESH ? session(2) : account };
    }, document());
    if (isFlagged) await made().setNeedsRefresh();
    await assert.rejects(made().account(), { kind: "transient", status: 503, retryAfter: 30 });
    assert.equal(store.load().needsRefresh, true);
    for (let call = 0; call < 3; call += 1) await assert.rejects(made().account(), { kind: "transient" });
    clock.late = 31;
    await assert.rejects(made().account(), { kind: "transient" });
    assert.deepEqual([sent(service, "/v1/account").length, refreshes()], [isFlagged ? 0 : 1, 2]);
    await made().fetch(`${api.url}/things`);
    assert.equal(api.requests[0].bearer, "access-1");
    // Also one of the service's origin.
    await made().fetch(`${service.url}/api/things`);
    assert.equal(sent(service, "/api/things")[0].bearer, "access-1");

    clock.late = 62;
    isAway = false;
    await made().account();
    assert.equal(sent(service, "/v1/account").at(-1).bearer, "access-2");
    assert.equal(store.load().needsRefresh, undefined);
  }
});

test("what can't be sent twice returns its 401, and the next call refreshes", async () => {
  for (const isOfService of [true, false]) {
    const upload = (client, url) => client.fetch(`${url}/v1/things`, {
      method: "POST", body: new Blob(["abc"]).stream(), duplex: "half" });
    const answers = (request) => {
      if (request.path === REFRESH) return { body: session(2) };
      return request.bearer === "access-2" ? { body: { got: request.text } } : problem(401, "invalid_session");
    };
    const api = await scripted(answers);
    const { service, store, refreshes } = await outage(answers, document());
    const client = new CountersignClient({ baseURL: service.url, store, resourceOrigins: [api.url] });
    const { url } = isOfService ? service : api;
    assert.equal((await upload(client, url)).status, 401);
    assert.equal(refreshes(), 0);
    assert.deepEqual(await (await upload(client, url)).json(), { got: "abc" });
    assert.equal(refreshes(), 1);
  }
});

test("another refusal of what can't be sent twice asks for no refresh", async () => {
  const { service, store, client } = await outage(() => problem(401, "invalid_credentials"), document());
  const init = { method: "POST", body: new Blob(["abc"]).stream(), duplex: "half" };
  assert.equal((await client.fetch(`${service.url}/v1/things`, init)).status, 401);
  assert.equal(store.load().needsRefresh, undefined);
});

/** A store over a row of its own, which takes nothing, or is away altogether, while the test says so. */
function failing(held) {
  const state = { row: held, saves: 0, isFull: false, isAway: false };
  const fail = (isSo) => { if (isSo) throw new Error("disk full"); };
  const store = () => ({
    load: async () => { fail(state.isAway); return state.row; },
    save: async (document) => { fail(state.isAway || state.isFull); state.row = document; state.saves += 1; },
    remove: async () => { fail(state.isAway || state.isFull); state.row = null; },
  });
  return { state, store };
}

async function withFailingStore(isAwayMeanwhile) {
  const { state, store } = failing(document(1, 0));
  let number = 1;
  const service = await scripted((request) => {
    if (request.path !== REFRESH) return request.path === "/v1/account" ? { body: account } : { status: 204 };
    state[isAwayMeanwhile ? "isAway" : "isFull"] = true;
    return { body: session(number += 1) };
  });
  const client = () => new CountersignClient({ baseURL: service.url, store: store() });
  const used = () => sent(service, "/v1/account").map((request) => request.bearer);
  assert.equal((await client().account()).accountId, "account-1");
  return { state, service, client, used };
}

test("what a store does not take is used by the call that got it, and stored before the next", async () => {
  for (const isAwayMeanwhile of [true, false]) {
    const { state, service, client, used } = await withFailingStore(isAwayMeanwhile);
    assert.equal(state.row.refreshToken, "refresh-1");
    for (let call = 0; call < 3; call += 1) await assert.rejects(client().account(), { kind: "storage" });
    assert.deepEqual(used(), ["access-2"]);
    state.isAway = state.isFull = false;
    await Promise.all(Array.from({ length: 5 }, () => client().account()));
    assert.deepEqual([state.row.refreshToken, state.saves], ["refresh-2", 1]);
    assert.ok(used().every((bearer) => bearer === "access-2"));
    // And the next refresh is of that one.
    await client().setNeedsRefresh();
    await client().account();
    state.isAway = state.isFull = false;
    await client().account();
    assert.deepEqual(sent(service, REFRESH).map((request) => request.json.refreshToken), ["refresh-1", "refresh-2"]);
    assert.equal(state.row.refreshToken, "refresh-3");
  }
});

test("what another process has stored meanwhile counts, and not what this one could not store", async () => {
  for (const row of [document(7), { ...document(7), sessionId: "session-2" }, null]) {
    const { state, client, used } = await withFailingStore(false);
    state.isFull = false;
    state.row = row;
    if (row) await client().account(); else await assert.rejects(client().account(), { kind: "noSession" });
    assert.deepEqual(used(), row ? ["access-2", "access-7"] : ["access-2"]);
    assert.deepEqual([state.row, state.saves], [row, 0]);
  }
});

test("signing out ends what the store has not taken", async () => {
  const { state, service, client } = await withFailingStore(false);
  await assert.rejects(client().signOut(), { kind: "storage" });
  state.isFull = false;
  await client().signOut();
  assert.deepEqual(sent(service, "/v1/sessions/revoke").map((request) => request.bearer), ["access-2"]);
  assert.equal(state.row, null);
  // A row of before, as of a backup: what was signed out does not come back in its place.
  state.row = document(1);
  await client().account();
  assert.equal(sent(service, "/v1/account").at(-1).bearer, "access-1");
});
