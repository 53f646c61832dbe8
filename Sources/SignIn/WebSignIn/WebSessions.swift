package import Accounts
import Logging
import OpenSSL
import Storage

/// The sessions of browsers on our own pages: sessions as any other, named by a cookie and by no token.
package struct WebSessions: Sendable {
    let store: WebSessionStore
    package let sessions: Sessions

    /// Makes a session that was just opened one of a browser.
    func open(_ id: SessionID, _ secret: WebSessionSecret, by call: Call) async throws(SignInFailure) {
        guard try await stored({ try await store.open(secret.hash, for: id, by: call) }) else {
            throw .invalidSession
        }
    }

    /// The live session of a cookie, with its active account. Asking uses it.
    ///
    /// - Returns: `nil` when there is none: the person signs in again.
    package func account(of secret: WebSessionSecret?, by call: Call) async throws(SignInFailure) -> LiveAccount? {
        guard let secret else { return nil }
        let live = try await stored {
            try await store.use(secret.hash, by: call, lifetimes: sessions.issuer.lifetimes)
        }
        return live?.account.status == .active ? live : nil
    }

    package func session(of secret: WebSessionSecret?, by call: Call) async throws(SignInFailure) -> Session? {
        try await account(of: secret, by: call)?.session
    }

    /// The account that a cookie was last signed in to, though its session be over.
    package func lastAccount(of secret: WebSessionSecret?) async throws(SignInFailure) -> AccountID? {
        guard let secret else { return nil }
        return try await stored { try await store.account(of: secret.hash) }
    }

    /// A live session by its id, of an active account.
    func session(_ id: SessionID, by call: Call) async throws(SignInFailure) -> Session? {
        let live = try await stored { try await sessions.store.live(id, by: call) }
        guard let live, live.accountStatus == .active else { return nil }
        return live.session
    }

    /// Ends the session that a browser had before it signed in again: nothing names it any more. The new one is open, and is
    /// not lost where this fails: the one before ends by itself, unused.
    ///
    /// - Parameter new: the browser has it already where it sends the form of the sign-in once more.
    package func replace(_ secret: WebSessionSecret?, with new: WebSessionSecret, by call: Call) async {
        if let secret, constantTimeEquals(secret.hash.bytes, new.hash.bytes) { return }
        do throws(SignInFailure) {
            try await end(secret, by: call)
        } catch {
            sessions.logger.warning("session before a sign-in not ended")
        }
    }

    /// Signs the browser out.
    package func end(_ secret: WebSessionSecret?, by call: Call) async throws(SignInFailure) {
        guard let session = try await session(of: secret, by: call) else { return }
        try await sessions.revoke(.current, of: session, by: call)
    }
}
