// A server on the loopback interface whose answers a test scripts; it records what it is sent.
import { createServer } from "node:http";
import { after } from "node:test";

export async function scripted(script) {
  const requests = [];
  const server = createServer(async (incoming, outgoing) => {
    let text = "";
    for await (const chunk of incoming) text += chunk;
    const request = {
      method: incoming.method, path: incoming.url, headers: incoming.headers, text,
      bearer: incoming.headers.authorization?.replace(/^Bearer /, ""),
      get json() { return JSON.parse(text); },
    };
    requests.push(request);
    const reply = await script(request);
    if (reply === null) return incoming.socket.destroy();
    const { status = 200, body = "", headers = {} } = reply;
    outgoing.writeHead(status, { "Content-Type": "application/json", ...headers });
    outgoing.end(typeof body === "string" ? body : JSON.stringify(body));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  after(() => { server.closeAllConnections(); server.close(); });
  return { url: `http://127.0.0.1:${server.address().port}`, port: server.address().port, requests };
}

export const problem = (status, code, headers = {}) => ({
  status, body: { type: `/problems/${code}`, title: "no", status, code }, headers,
});

export const session = (number, expiresIn = 900) => ({
  sessionId: "session-1", accessToken: `access-${number}`, tokenType: "Bearer", expiresIn,
  refreshToken: `refresh-${number}`, refreshExpiresAt: "2027-01-20T03:58:40Z",
});

export const account = { accountId: "account-1", emailVerified: true, status: "active", hasPassword: false, identities: [] };
export const signedIn = (number = 1) => ({ status: "signedIn", session: session(number), account });
export const linkRequired = (holder) => ({
  status: "linkRequired", linkTicket: "ticket-secret", expiresAt: "2026-11-21T04:08:40Z",
  identity: { provider: "google", email: "kim@example.com", emailVerified: true, isPrivateEmail: false },
  choices: ["create", "bind"], ...(holder && { holder }),
});

/** A session that was stored before, whose token has this many seconds left. */
export const document = (number = 1, left = 900) => ({
  v: 1, sessionId: "session-1", accountId: "account-1", accessToken: `access-${number}`,
  accessExpiresAt: Math.floor(Date.now() / 1000) + left, refreshToken: `refresh-${number}`,
});

/** As in a page: with locks of the browser's, which its tabs share. `act` gets the names of those asked for, in order. */
export async function inPage(act) {
  const known = Object.getOwnPropertyDescriptor(globalThis, "navigator");
  const names = [], turns = new Map();
  const request = (name, held) => {
    names.push(name);
    const turn = (turns.get(name) ?? Promise.resolve()).then(() => held({ name }));
    turns.set(name, turn.catch(() => {}));
    return turn;
  };
  Object.defineProperty(globalThis, "navigator", { value: { locks: { request } }, configurable: true });
  try { await act(names); } finally {
    if (known) Object.defineProperty(globalThis, "navigator", known); else delete globalThis.navigator;
  }
}

/** A gate that a script waits at until the test opens it. */
export function gate() {
  let open, reached;
  const opened = new Promise((resolve) => { open = resolve; });
  const arrived = new Promise((resolve) => { reached = resolve; });
  return { open, arrived, pass() { reached(); return opened; } };
}
