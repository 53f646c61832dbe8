/** What a store keeps: secrets, as plain JSON. */
export interface SessionDocument {
  v: 1;
  sessionId: string;
  accountId: string;
  accessToken: string;
  /** Seconds since 1970. */
  accessExpiresAt: number;
  refreshToken: string;
  /** The access token was refused. The service is not sent it again. */
  needsRefresh?: boolean;
}

/** Where the session is kept. `load` is asked again before each use, because another tab or process may have refreshed. */
export interface SessionStore {
  load(): SessionDocument | null | undefined | Promise<SessionDocument | null | undefined>;
  save(document: SessionDocument): void | Promise<void>;
  remove(): void | Promise<void>;
}

export class MemoryStore implements SessionStore {
  load(): SessionDocument | null;
  save(document: SessionDocument): void;
  remove(): void;
}

/**
 * - `reauthenticate`: the session is over and no longer stored; `noSession`: nobody is signed in. Show the sign-in.
 * - `transient`: nothing is lost, try again later, after `retryAfter` seconds where there are some. From
 *   `finishWebSignIn`, `create` and `bind` the code or the ticket may be spent: begin a new attempt, by `startWebSignIn`.
 * - `refused`: the service said no with `code`, or the client did (`status` 0) and sent nothing; or the answer to `fetch` was
 *   a redirect (`redirected`, in a page with `status` 0). Repeating won't help.
 * - `cancelled`: the person, or the caller's signal; or another person has signed in since the call began. `insecureRequest`: http. `storage`: the store failed.
 *   What a refresh has brought is kept for this process, and saved before the next use.
 */
export type ErrorKind =
  | "reauthenticate" | "noSession" | "transient" | "refused" | "cancelled" | "insecureRequest" | "storage";

export class CountersignError extends Error {
  constructor(
    kind: ErrorKind,
    more?: {
      code?: string; detail?: string; status?: number; retryAfter?: number; requestId?: string; cause?: unknown;
    });
  readonly kind: ErrorKind;
  /** One of the service's codes; or `foreign_callback`, `attempt_spent`, `foreign_host`, `redirected`. */
  readonly code?: string;
  /** The service's sentence, in English. With `account_disabled`: the provider has disabled the person there, other ways in work. */
  readonly detail?: string;
  readonly status?: number;
  /** In seconds. */
  readonly retryAfter?: number;
  /** What support finds the request by. */
  readonly requestId?: string;
  /** Of `storage`: the name of the store's error, which may itself quote what it was to keep. */
  readonly cause?: unknown;
}

/** Keep it for the callback, where tokens are kept: `verifier` is a secret. It is plain JSON. */
export interface WebSignInAttempt {
  redirectURI: string;
  state: string;
  verifier: string;
}

export interface Identity {
  identityId: string;
  provider: string;
  subject: string;
  email?: string;
  emailVerified: boolean;
  isPrivateEmail: boolean;
  emailDeliverable?: boolean;
  blocked?: { since: string; reason: string };
  credentialChangeRequired?: boolean;
  linkedAt: string;
  lastSignInAt?: string;
  authorization: string;
}

export interface Account {
  accountId: string;
  externalId?: string;
  email?: string;
  emailVerified: boolean;
  emailProof?: string;
  emailTakenAt?: string;
  emailReplacement?: { email: string; dueAt: string };
  displayName?: string;
  status: string;
  createdAt: string;
  hasPassword: boolean;
  identities: Identity[];
}

/** A verified person without an account, for ten minutes. `value` is a secret. */
export interface LinkTicket {
  value: string;
  expiresAt: string;
  identity: { provider: string; email?: string; emailVerified: boolean; isPrivateEmail: boolean };
  /** `create` and `bind`, the service's suggestion first. */
  choices: string[];
  /** Whose address it is. With `identities` the ticket alone binds: ask *Is it yours?*. */
  holder?: {
    providers: string[];
    createdAt?: string;
    identities?: { provider: string; email?: string; linkedAt: string }[];
  };
}

export type SignedIn = { status: "signedIn"; account: Account; ticket?: undefined };
export type LinkRequired = { status: "linkRequired"; ticket: LinkTicket; account?: undefined };
export type Conflict = { status: "conflict"; maskedEmail?: string; account?: undefined; ticket?: undefined };

export interface ClientOptions {
  /** `server.publicUrl`. In a page: the page's own origin. */
  baseURL: string | URL;
  /** Memory by default. */
  store?: SessionStore;
  /** The app's own APIs, which may get the token. Those of the service's origin need no mention. */
  resourceOrigins?: (string | URL)[];
  /** What the person's list of devices shows. */
  device?: { name?: string; platform?: string };
  /** `tokens.issuer`, where it is not `baseURL`. */
  issuer?: string;
  fetch?: typeof globalThis.fetch;
  /** In milliseconds, as `Date.now`. */
  now?: () => number;
}

export class CountersignClient {
  constructor(options: ClientOptions);
  startWebSignIn(options: {
    /** The name in `web.apps`. */
    app: string;
    /** One of that app's, exactly. */
    redirectURI: string | URL;
    provider?: "apple" | "google";
    /** Tags (BCP 47), best first: `navigator.languages`. */
    languages?: readonly string[];
    loginHint?: string;
  }): Promise<{ url: string; attempt: WebSignInAttempt }>;
  /**
   * An attempt is good once, whatever comes of it: a second call, of any client of the process, is `attempt_spent`, also
   * after `transient`. Where there are several processes, take it out of where it is kept before the call.
   */
  finishWebSignIn(attempt: WebSignInAttempt, callback: string | URL): Promise<SignedIn | LinkRequired>;
  create(ticket: LinkTicket, options?: { displayName?: string }): Promise<Account>;
  /**
   * One proof of the account, or none where the ticket proves it. `session`: the one that is signed in, by a sign-in of the
   * last ten minutes (else `reauthentication_required`). The outcome's session takes its place; at the service it goes on,
   * unless the identity that `replacing` unlinks had opened it.
   */
  bind(
    ticket: LinkTicket,
    proof?: { session?: boolean; email?: string; password?: string; emailCode?: string; replacing?: boolean },
  ): Promise<SignedIn | LinkRequired | Conflict>;
  requestCode(ticket: LinkTicket, email: string): Promise<void>;
  cancel(ticket: LinkTicket): Promise<void>;
  isSignedIn(): Promise<boolean>;
  account(): Promise<Account>;
  /**
   * No redirect is followed: it is `refused`, and with `redirect: "manual"` it is the answer. What is below `v1/` and
   * `oauth/` of `baseURL` is the service's: of its 401s `invalid_session` alone is refreshed for. Any other URL is of an
   * API of the app's: any 401 is refreshed for, and none ends the session.
   */
  fetch(input: string | URL | Request, init?: RequestInit): Promise<Response>;
  /** An API of the app's has refused the token. While a refresh fails for now, calls to the service are `transient`. */
  setNeedsRefresh(): Promise<void>;
  signOut(): Promise<void>;
}
