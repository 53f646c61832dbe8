package import Accounts
import Storage

/// The sessions of browsers on our own pages: sessions as any other, named by a cookie and by no token.
package struct WebSessions: Sendable {
    let store: WebSessionStore
    let sessions: Sessions

    /// Makes a session that was just opened one of a browser.
    func open(_ id: SessionID, by call: Call) async throws(SignInFailure) -> WebSessionSecret {
        let secret = try WebSessionSecret.fresh()
        guard try await stored({ try await store.open(secret.hash, for: id, by: call) }) else {
            throw .invalidSession
        }
        return secret
    }

    /// The live session of a cookie, of an active account. Asking uses it.
    ///
    /// - Returns: `nil` when there is none: the person signs in again.
    package func session(of secret: WebSessionSecret?, by call: Call) async throws(SignInFailure) -> Session? {
        guard let secret else { return nil }
        let live = try await stored {
            try await store.use(secret.hash, by: call, lifetimes: sessions.issuer.lifetimes)
        }
        guard let live, live.accountStatus == .active else { return nil }
        return live.session
    }

    /// Signs the browser out.
    package func end(_ secret: WebSessionSecret?, by call: Call) async throws(SignInFailure) {
        guard let session = try await session(of: secret, by: call) else { return }
        try await sessions.revoke(.current, of: session, by: call)
    }
}

extension Device {
    /// A browser on our own pages.
    static let browser = Device(name: nil, platform: "web")
}
