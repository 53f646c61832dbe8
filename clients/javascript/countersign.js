// Signs people in with a Countersign service and keeps them signed in: for Node from 20 on, and for pages of the service's
// own origin. countersign.d.ts has the shapes, README.md the rules.

/** Everything that the client throws; `kind` is what an app decides by. */
export class CountersignError extends Error {
  constructor(kind, { code, detail, status, retryAfter, requestId, cause } = {}) {
    super(code ? `${kind}: ${code}` : kind, cause && { cause });
    Object.assign(this, { name: "CountersignError", kind, code, detail, status, retryAfter, requestId });
  }
}

/** Keeps the session for as long as the page or the process lives. */
export class MemoryStore {
  #document = null;
  load() { return this.#document; }
  save(document) { this.#document = document; }
  remove() { this.#document = null; }
}

const TIMEOUT = 15_000;
// In seconds.
const SPARE = 60; // that a token must be good for
const PAUSE = 5; // behind a refresh that failed for now, unless the service names another
const LONGEST_PAUSE = 300;
const LONG_TURN = 2; // for others to wait for

const ENDS = ["invalid_refresh_token", "refresh_token_reused"];

export class CountersignClient {
  #base; #issuer; #store; #origins; #device; #send; #now;
  // The refresh under way: of which token, and its promise.
  #refreshing = null;
  // The last change of the store: each begins when the one before it is done.
  #changed = Promise.resolve();

  constructor({ baseURL, store = new MemoryStore(), resourceOrigins = [], device, issuer,
                fetch = globalThis.fetch.bind(globalThis), now = Date.now }) {
    this.#base = String(baseURL).replace(/\/$/, "");
    requireSecure(this.#base);
    this.#issuer = bare(issuer ?? this.#base);
    this.#store = store;
    this.#origins = new Set([this.#base, ...resourceOrigins].map((url) => new URL(url).origin));
    this.#device = device;
    this.#send = fetch;
    this.#now = now;
  }

  // Sign-in

  /** An attempt on the service's pages: open `url`, keep `attempt`, which is a secret, for the callback. */
  async startWebSignIn({ app, redirectURI, provider, languages = [], loginHint }) {
    const attempt = secret({ redirectURI: String(redirectURI), state: random(), verifier: random() });
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(attempt.verifier));
    const query = new URLSearchParams({
      app, redirect_uri: attempt.redirectURI, code_challenge: base64url(new Uint8Array(digest)),
      code_challenge_method: "S256", state: attempt.state,
    });
    if (provider) query.set("provider", provider);
    if (languages.length) query.set("ui_locales", languages.slice(0, 32).join(" "));
    if (loginHint) query.set("login_hint", loginHint);
    return { url: `${this.#base}/web/authorize?${query}`, attempt };
  }

  /** Takes the URL to which the browser came back. An attempt is good once; what is not its own is refused unsent. */
  async finishWebSignIn(attempt, callback) {
    const came = answer(attempt, callback, this.#issuer);
    if (came.error === "access_denied") throw new CountersignError("cancelled");
    if (came.error === "server_error" || came.error === "temporarily_unavailable") throw new CountersignError("transient");
    if (came.error === "invalid_request") throw refusal("invalid_request", 0);
    if (came.error || !came.code) throw refusal("foreign_callback", 0);
    spend(attempt.state);
    const sentAt = this.#seconds();
    const response = await this.#post("/v1/sign-in/web", {
      code: came.code, codeVerifier: attempt.verifier, redirectUri: attempt.redirectURI, device: this.#device,
    });
    return this.#outcome(await body(response, 200), sentAt);
  }

  /** An account for the ticket's person. */
  async create(ticket, { displayName } = {}) {
    const sentAt = this.#seconds();
    const response = await this.#post("/v1/links/create", { linkTicket: ticket.value, displayName });
    return (await this.#outcome(await body(response, 201), sentAt)).account;
  }

  /**
   * Binds the ticket to an account: `{session: true}` to the one that is signed in, `{email, password}`,
   * `{email, emailCode}`, or `{}` where the ticket proves it.
   */
  async bind(ticket, { session = false, email, password, emailCode, replacing = false } = {}) {
    const sentAt = this.#seconds();
    const members = {
      linkTicket: ticket.value, email, password, emailCode, onConflict: replacing ? "replace" : undefined,
    };
    const response = session
      ? await this.fetch(`${this.#base}/v1/links/bind`, post(members))
      : await this.#post("/v1/links/bind", members);
    if (response.status === 409) {
      const refused = await json(response.clone());
      if (refused?.code === "provider_already_linked") {
        return { status: "conflict", maskedEmail: refused.existing?.email };
      }
    }
    return this.#outcome(await body(response, 200), sentAt);
  }

  /** Has a code mailed for `bind`; the answer is the same for every address. */
  async requestCode(ticket, email) {
    await expect(await this.#post("/v1/email-codes", { email, purpose: "bind", linkTicket: ticket.value }), 202);
  }

  /** Gives a ticket back; one that the service does not hear of expires by itself. */
  async cancel(ticket) {
    await this.#post("/v1/links/cancel", { linkTicket: ticket.value }).catch(() => {});
  }

  // The session

  /** Whether somebody is signed in, as far as the store knows. Sends nothing. */
  async isSignedIn() { return (await this.#load()) !== null; }

  /** The account, from the service. */
  async account() {
    const signal = AbortSignal.timeout(TIMEOUT);
    return shown(await body(await this.fetch(`${this.#base}/v1/account`, { signal, cache: "no-store" }), 200));
  }

  /**
   * `fetch` with the access token, to the service's origin and to the named ones only. Before the token ends, and after a
   * 401 of the session, it is refreshed, once for however many callers; then the request is sent once more. Redirects are
   * refused, unless the caller looks at them (`redirect: "manual"`). When another person has signed in meanwhile, it is
   * not sent as them: `cancelled`.
   */
  async fetch(input, init = {}) {
    const takesRedirects = (init.redirect ?? input.redirect) === "manual";
    // None is followed. What `fetch` refuses by itself looks like a lost connection.
    const request = new Request(input, { ...init, redirect: "manual" });
    const url = new URL(requireSecure(request.url));
    if (!this.#origins.has(url.origin)) throw refusal("foreign_host", 0);
    const isService = this.#serves(url);
    const session = await until(this.#fresh(isService), request.signal);
    // A stream can't be sent twice.
    const again = init.body instanceof ReadableStream ? null : request.clone();
    const first = await this.#authorized(request, session, takesRedirects);
    if (first.status !== 401 || (isService && (await code(first)) !== "invalid_session")) return first;
    // For later calls, where the refresh fails for now. A store that takes nothing now fails the refresh too.
    if (isService || !again) await this.#flag(session).catch(() => {});
    if (!again) return first;
    const next = await until(this.#fresh(isService, session), request.signal);
    const second = await this.#authorized(again, next, takesRedirects);
    // Only the service itself says that a session is over.
    if (isService && second.status === 401 && (await code(second)) === "invalid_session") {
      throw await this.#end(next, "invalid_session", second);
    }
    return second;
  }

  /** Has the token refreshed before it is used again: an API of the app's has refused it. */
  async setNeedsRefresh() { await this.#flag(await this.#signedIn()); }

  /** Forgets the session whatever the service says; throws when the service could not be reached. */
  async signOut() {
    const session = await this.#change(() => null);
    if (!session) return;
    const revoke = (token) => this.#post("/v1/sessions/revoke", { scope: "current" }, token);
    if (session.accessExpiresAt > this.#seconds()) {
      const first = await revoke(session.accessToken);
      if ((await code(first)) !== "invalid_session") return expect(first, 204);
    }
    // Only a refresh can say whether there is a session to end.
    const refreshed = await this.#post("/v1/sessions/refresh", { refreshToken: session.refreshToken });
    if (refreshed.status === 401 && (await code(refreshed))) return;
    await expect(await revoke((await body(refreshed, 200)).accessToken), 204);
  }

  // Inside

  #seconds() { return Math.floor(this.#now() / 1000); }

  /** Whether it is the service's own. What else its origin has is the app's: a page's files and APIs are beside it. */
  #serves({ origin, pathname }) {
    const base = new URL(this.#base);
    return origin === base.origin
      && ["v1", "oauth"].some((part) => pathname.startsWith(`${bare(base.pathname)}/${part}/`));
  }

  /** Makes the session of an answer the client's; its lifetime began after it was asked for. */
  async #outcome(answer, sentAt) {
    if (answer.status === "linkRequired") return { status: "linkRequired", ticket: ticketOf(answer) };
    if (answer.status !== "signedIn") throw new CountersignError("transient");
    const account = shown(answer.account);
    const session = stored(answer.session, account.accountId, sentAt);
    await this.#change(() => session, { replacing: true });
    return { status: "signedIn", account };
  }

  /** The session. What its store has not taken is stored before anything is done with it. */
  async #signedIn() {
    for (;;) {
      const session = await this.#load();
      if (!session) throw new CountersignError("noSession");
      if (!this.#isUnsaved(session)) return session;
      // In turn with refreshes: none begins with what was loaded before.
      await inRefreshTurn(session, () =>
        this.#change((known) => known && this.#isUnsaved(known) ? known : undefined));
    }
  }

  #isUnsaved(session) { return unsaved.get(this.#key(session))?.document === session; }

  /** Keeps that the token was refused, unless it has been refreshed meanwhile. */
  #flag({ accessToken }) {
    return this.#change((known) =>
      known?.accessToken === accessToken && !known.needsRefresh ? { ...known, needsRefresh: true } : undefined);
  }

  /**
   * The session with a token that is good for another minute and is not that of the refused one; or, where there is no
   * other for now, with one that has not expired. The service is not sent one that was refused. It is of the account that
   * the call began with: what was asked for as one person is not done as another.
   */
  async #fresh(isForService, refused) {
    let owner = refused?.accountId;
    for (;;) {
      const session = await this.#signedIn();
      owner ??= session.accountId;
      if (session.accountId !== owner) throw new CountersignError("cancelled");
      const isGood = (spare) =>
        session.accessToken !== refused?.accessToken && session.accessExpiresAt - this.#seconds() > spare;
      if (isGood(SPARE) && !session.needsRefresh) return session;
      try {
        this.#checkPause(session);
        const refreshed = await this.#refresh(session);
        if (refreshed?.accountId === owner) return refreshed;
      } catch (error) {
        if (error.kind !== "transient") throw error;
        const known = await this.#load();
        // Signed out or in, or refreshed by another tab meanwhile: look again.
        if (!isSame(known, session)) continue;
        if (isGood(0) && !(isForService && known.needsRefresh)) return session;
        throw error;
      }
    }
  }

  /** Once for all who need it, and one after the other among the clients of one session. */
  #refresh(session) {
    if (this.#refreshing?.token === session.refreshToken) return this.#refreshing.promise;
    const asked = this.#now();
    const promise = inRefreshTurn(session, () => this.#refreshNow(session, this.#now() - asked));
    const refreshing = this.#refreshing = { token: session.refreshToken, promise };
    const done = () => { if (this.#refreshing === refreshing) this.#refreshing = null; };
    promise.then(done, done);
    return promise;
  }

  /** After so many milliseconds' wait for the turn. null: the session is another one meanwhile; look again. */
  async #refreshNow(stale, waited) {
    const session = await this.#load();
    if (session?.accessToken !== stale.accessToken) return null;
    // Of who was before this one in turn.
    this.#checkPause(session);
    // Another tab's pause isn't known here. It has had the turn for long, and got nothing; or this one was asleep.
    if (waited > 1000 * LONG_TURN && session.accessExpiresAt > this.#seconds()) {
      this.#pause(session);
      this.#checkPause(session);
    }
    const sentAt = this.#seconds();
    let response, reason, refreshed;
    try {
      response = await this.#post("/v1/sessions/refresh", { refreshToken: session.refreshToken });
      reason = response.status === 401 && (await code(response));
      if (!ENDS.includes(reason)) refreshed = stored(await body(response, 200), session.accountId, sentAt);
    } catch (error) {
      if (error.kind === "transient") this.#pause(session, error.retryAfter);
      throw error;
    }
    if (!refreshed) throw await this.#end(session, reason, response);
    const over = this.#isUnsaved(session) ? unsaved.get(this.#key(session)).over : session.refreshToken;
    // Stored before it is used: the service takes a used token that comes back for stolen.
    try {
      const known = await this.#change((known) => isSame(known, session) ? refreshed : undefined);
      return isSame(known, session) ? refreshed : null;
    } catch {
      // It is the only one that is good for long: who waits for it has it, and it is stored before the next use.
      unsaved.set(this.#key(session), { over, document: refreshed });
      return refreshed;
    }
  }

  #key({ sessionId }) { return `${this.#base} ${sessionId}`; }

  /** For a while no client of the session tries a refresh: each in its turn would wait as long for an answer. */
  #pause(session, seconds = PAUSE) {
    const now = this.#now();
    for (const [key, until] of pauses) if (until <= now) pauses.delete(key);
    pauses.set(this.#key(session), now + 1000 * Math.min(seconds, LONGEST_PAUSE));
  }

  #checkPause(session) {
    const retryAfter = Math.ceil((pauses.get(this.#key(session)) - this.#now()) / 1000);
    // More than that: the clock has been set back.
    if (retryAfter > 0 && retryAfter <= LONGEST_PAUSE) throw new CountersignError("transient", { retryAfter });
  }

  /** Forgets a session that the service has ended. What the call that found out has to throw. */
  async #end(session, code, response) {
    const known = await this.#change((known) => isSame(known, session) ? null : undefined);
    if (!known) return new CountersignError("noSession");
    if (!isSame(known, session)) return new CountersignError("transient");
    return new CountersignError("reauthenticate", { code, status: response.status, requestId: requestId(response) });
  }

  async #authorized(request, session, takesRedirects) {
    request.headers.set("Authorization", `Bearer ${session.accessToken}`);
    let response;
    try { response = await this.#send(request); } catch (error) { throw sendingFailure(error, request.signal); }
    if (!takesRedirects && isRedirect(response)) throw refusal("redirected", response.status, response);
    return response;
  }

  async #post(path, members, token) {
    const request = post(members);
    if (token) request.headers.Authorization = `Bearer ${token}`;
    try {
      return await this.#send(`${this.#base}${path}`, request);
    } catch (error) { throw sendingFailure(error); }
  }

  async #load() {
    const document = await storing(() => this.#store.load());
    if (document === null || document === undefined) return null;
    if (document.v !== 1) throw new CountersignError("storage");
    const newer = unsaved.get(this.#key(document));
    if (newer?.over === document.refreshToken) return newer.document;
    // Another process has refreshed.
    if (newer && newer.document.refreshToken !== document.refreshToken) unsaved.delete(this.#key(document));
    return document;
  }

  /**
   * Loads, decides and stores as one step, after this client's other changes and in turn with those of its session's other
   * clients. `decide` gives what is to be stored, null for nothing, undefined to leave what there is; it gets what this
   * answers, the document before. With `replacing`, what can't be loaded or read is given up.
   */
  #change(decide, { replacing = false } = {}) {
    const load = () => replacing ? this.#load().catch(() => null) : this.#load();
    const step = async (before) => {
      const known = await load();
      if (known?.sessionId !== before?.sessionId) return undefined;      // it has another turn
      const next = decide(known);
      if (next) await storing(() => this.#store.save(secret(next)));
      if (next === null) await storing(() => this.#store.remove());
      if (known && next !== undefined) unsaved.delete(this.#key(known));
      return known;
    };
    const change = this.#changed.then(async () => {
      for (;;) {
        const before = await load();
        const turn = () => step(before);
        const known = await (before ? inTurn(`countersign-store-${before.sessionId}`, turn) : turn());
        if (known !== undefined) return known;
      }
    });
    this.#changed = change.catch(() => {});
    return change;
  }
}

// The states of the last attempts, of all clients: a server may make one for each request.
const spent = new Set();
const MOST_SPENT = 10_000;

/** Throws when it was spent before: a second use of a code ends what the first one gave. */
function spend(state) {
  if (spent.has(state)) throw refusal("attempt_spent", 0);
  spent.add(state);
  // The oldest.
  if (spent.size > MOST_SPENT) spent.delete(spent.values().next().value);
}

// By the session: what its store has not taken, and the refresh token of what is there instead (`over`). When that is
// another one, another process has refreshed.
const unsaved = new Map();
// By the session: until when it isn't refreshed, in milliseconds.
const pauses = new Map();
const turns = new Map();

/** One act of a name after the other: in a page by the browser's locks, elsewhere among the clients of the process. */
function inTurn(name, act) {
  const locks = globalThis.navigator?.locks;
  if (locks) return locks.request(name, act);
  const turn = (turns.get(name) ?? Promise.resolve()).then(act);
  const end = turn.catch(() => {}).then(() => { if (turns.get(name) === end) turns.delete(name); });
  turns.set(name, end);
  return turn;
}

const inRefreshTurn = ({ sessionId }, act) => inTurn(`countersign-refresh-${sessionId}`, act);

const isSame = (known, session) =>
  known?.sessionId === session.sessionId && known.refreshToken === session.refreshToken;

// What a callback says, if it is one of this attempt's.
function answer(attempt, callback, issuer) {
  const foreign = refusal("foreign_callback", 0);
  let own, came;
  try { [own, came] = [new URL(attempt.redirectURI), new URL(callback)]; } catch { throw foreign; }
  const place = (url) => [url.protocol, url.username, url.password, url.host, url.pathname].join(" ");
  const rest = [...came.searchParams];
  for (const pair of own.searchParams) {
    const index = rest.findIndex((other) => other[0] === pair[0] && other[1] === pair[1]);
    if (index < 0) throw foreign;
    rest.splice(index, 1);
  }
  const names = new Set(rest.map(([name]) => name));
  const members = Object.fromEntries(rest);
  const isOwn = place(own) === place(came) && names.size === rest.length && members.state === attempt.state
    && bare(members.iss ?? "") === issuer && !(members.code && members.error);
  if (!isOwn) throw foreign;
  return members;
}

// What an answer holds. One without what it must have was not the service's, or is a later version's.

const isText = (value) => typeof value === "string" && value !== "";
const check = (condition) => { if (!condition) throw new CountersignError("transient"); };

function stored(session, accountId, sentAt) {
  const { sessionId, accessToken, tokenType, refreshToken, expiresIn } = session ?? {};
  const isToken = (text) => typeof text === "string" && /^[\x21-\x7e]+$/.test(text);
  check(isText(sessionId) && isToken(accessToken) && isToken(refreshToken));
  check(isText(tokenType) && tokenType.toLowerCase() === "bearer");
  check(Number.isInteger(expiresIn) && expiresIn >= 1 && expiresIn <= 315_360_000);
  return { v: 1, sessionId, accountId, accessToken, accessExpiresAt: sentAt + expiresIn, refreshToken };
}

function shown(account) {
  check(isText(account?.accountId) && Array.isArray(account.identities));
  return account;
}

function ticketOf({ linkTicket: value, expiresAt, identity, choices, holder }) {
  check(isText(value) && isText(expiresAt) && isText(identity?.provider));
  check(Array.isArray(choices) && choices.every(isText) && (holder === undefined || Array.isArray(holder?.providers)));
  return secret({ value, expiresAt, identity, choices, holder });
}

const bare = (url) => url.replace(/\/$/, "");
// A page's `fetch` shows nothing else of one.
const isRedirect = ({ type, status }) => type === "opaqueredirect" || [301, 302, 303, 307, 308].includes(status);
const requestId = (response) => response.headers.get("X-Request-Id") ?? undefined;
const refusal = (code, status, response, detail) =>
  new CountersignError("refused", { code, detail, status, requestId: response && requestId(response) });

function requireSecure(url) {
  const { protocol, hostname } = new URL(url);
  const isLoopback = ["127.0.0.1", "[::1]", "localhost"].includes(hostname);
  if (protocol !== "https:" && !(protocol === "http:" && isLoopback)) throw new CountersignError("insecureRequest");
  return url;
}

/** Of JSON to the service. */
const post = (members) => ({
  method: "POST", headers: { "Content-Type": "application/json", Accept: "application/json" },
  body: JSON.stringify(members), signal: AbortSignal.timeout(TIMEOUT),
  redirect: "error", credentials: "omit", cache: "no-store", referrerPolicy: "no-referrer",
});

async function json(response) {
  try { return await response.json(); } catch { return null; }
}

/** The `code` and `detail` of a problem document; neither where the answer is not the service's. */
async function problem(response) {
  if (response.status < 400) return {};
  const { code, detail } = (await json(response.clone())) ?? {};
  const isCode = typeof code === "string" && /^[a-z0-9_]{1,64}$/.test(code);
  return isCode ? { code, detail: isText(detail) ? detail : undefined } : {};
}

const code = async (response) => (await problem(response)).code;

/** In seconds; the header has those or a date (RFC 9110 §10.2.3), which is by the sender's clock. */
function retryAfter({ headers }) {
  const value = headers.get("Retry-After") ?? "";
  if (/^\d+$/.test(value)) return Number(value);
  const date = value.endsWith(" GMT") ? Date.parse(value) : NaN;
  const sent = Date.parse(headers.get("Date")) || Date.now();
  return Number.isNaN(date) ? undefined : Math.max(0, Math.ceil((date - sent) / 1000));
}

async function expect(response, status) {
  if (response.status === status) return;
  const { code, detail } = response.status < 500 && response.status !== 429 ? await problem(response) : {};
  if (code) throw refusal(code, response.status, response, detail);
  throw new CountersignError("transient", {
    status: response.status, requestId: requestId(response), retryAfter: retryAfter(response),
  });
}

async function body(response, status) {
  await expect(response, status);
  const members = await json(response);
  if (members === null || typeof members !== "object") throw new CountersignError("transient");
  return members;
}

/** The caller has given up, or there was no answer in time or at all. */
function sendingFailure(error, signal) {
  const isGivenUp = signal?.aborted && signal.reason?.name !== "TimeoutError";
  return new CountersignError(isGivenUp ? "cancelled" : "transient", { cause: error });
}

async function storing(act) {
  try { return await act(); } catch (error) {
    // Only its kind: a store's error may quote what it was to keep.
    throw error instanceof CountersignError ? error : new CountersignError("storage", { cause: error?.name });
  }
}

/** Ends the wait, and not what is waited for, as soon as the signal is aborted. */
function until(promise, signal) {
  return new Promise((resolve, reject) => {
    const abort = () => reject(sendingFailure(signal.reason, signal));
    // First of all: a rejection that is not taken ends a Node process.
    promise.then(resolve, reject).finally(() => signal?.removeEventListener("abort", abort));
    if (signal?.aborted) return abort();
    signal?.addEventListener("abort", abort, { once: true });
  });
}

/** A value whose secrets stay out of Node's logs; JSON keeps them. */
function secret(value) {
  const inspect = Symbol.for("nodejs.util.inspect.custom");
  return Object.defineProperty(value, inspect, { value: () => "[redacted]", enumerable: false, configurable: true });
}

const random = () => base64url(crypto.getRandomValues(new Uint8Array(32)));
const base64url = (bytes) =>
  btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
