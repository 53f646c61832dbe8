import Accounts
import OpenSSL
import SignIn
package import Storage
import Synchronization

/// The clients, as they are in the database, or were at most half a second ago: a change is in force on every process
/// within a second, and a client that asks often is not read each time.
package final class OAuthClients: Sendable {
    private static let lifetime = Duration.milliseconds(500)
    private static let maximum = 256

    private struct Entry {
        let client: StoredOAuthClient?
        let until: ContinuousClock.Instant
    }

    private let store: OAuthClientStore
    private let cached = Mutex<[OAuthClientID: Entry]>([:])
    /// Google's until the first answer: a client that is promised an `iss` refuses a redirect without one (RFC 9207 §2.4).
    private let googles = Mutex<(areThere: Bool, until: ContinuousClock.Instant)>((true, .now))

    package init(store: OAuthClientStore) { self.store = store }

    func client(_ id: OAuthClientID) async throws -> StoredOAuthClient? {
        if let entry = cached.withLock({ $0[id] }), entry.until > .now { return entry.client }
        let read = ContinuousClock.now
        let client = try await store.client(id)
        cached.withLock { cached in
            // Made-up ids fill it; then it begins again.
            if cached.count >= Self.maximum { cached.removeAll() }
            cached[id] = Entry(client: client, until: read + Self.lifetime)
        }
        return client
    }

    /// Whether any client is Google. While the database doesn't answer, what it answered last.
    func mayHaveGoogles() async -> Bool {
        // One request reads; the others don't wait for it.
        let (known, isRead) = googles.withLock { googles in
            let isRead = googles.until > .now
            if !isRead { googles.until = .now + Self.lifetime }
            return (googles.areThere, isRead)
        }
        guard !isRead, let areThere = try? await store.hasGoogles() else { return known }
        googles.withLock { $0.areThere = areThere }
        return areThere
    }

    /// The active client that has this secret.
    ///
    /// - Throws: `invalidClient`, alike for an unknown client, a disabled one and a wrong secret; `rateLimited` in its
    ///   place once the network has used up its wrong ones.
    func authenticate(
        _ authentication: ClientAuthentication, guesses: SecretGuesses, by call: Call
    ) async throws(OAuthFailure) -> OAuthClient {
        var found: StoredOAuthClient?
        if let id = OAuthClientID(authentication.clientID) {
            found = try await stored { try await client(id) }
        }
        let presented = OAuthSecret.hash(ofPresented: authentication.secret)
        // Compared for an unknown client too, so that it takes as long.
        let isCurrent = (found?.secretHash ?? Self.noHash).matches(presented.bytes)
        let isKept = found?.client.keepsPreviousSecret(at: call.now) ?? false
        let previous = isKept ? found?.previousSecretHash : nil
        let isPrevious = (previous ?? Self.noHash).matches(presented.bytes)
        guard let client = found?.client, client.status == .active, isCurrent || isPrevious else {
            try await clientCall { () throws(SignInFailure) in try await guesses.noteWrong(by: call) }
            throw .invalidClient
        }
        return client
    }

    /// A digest without a known preimage.
    private static let noHash = SecretBytes([UInt8](repeating: 0, count: 32))
}
