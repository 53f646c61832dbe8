package import Accounts
package import KeyRing
import Storage

/// The sessions of administrators at the console: a cookie that stands for a key. The key is looked at on each use, so
/// that its revocation ends them at once, in every process.
package struct ConsoleSessions: Sendable {
    private let administration: Administration
    private let secrets: ConsoleSecrets
    private let store: ConsoleSessionStore

    package init(administration: Administration, keyRing: KeyRing) {
        self.administration = administration
        secrets = ConsoleSecrets(keyRing: keyRing)
        store = ConsoleSessionStore(database: administration.database)
    }

    /// - Parameter presented: the key as it was typed.
    package func open(
        presenting presented: String, by call: Call
    ) async throws(AdministrationFailure) -> ConsoleSecret {
        let key = try await administration.key(presenting: Array(presented.utf8), by: call)
        let administrator = administration.administrator(with: key, by: call)
        let (secret, hash): (ConsoleSecret, [UInt8])
        do {
            (secret, hash) = try secrets.fresh(for: key.id)
        } catch {
            throw .fault(operation: "console session")
        }
        let event = AuditEvent(.consoleOpened, from: administrator.call.origin, reason: "\(key.id)")
        let isOpen = try await stored {
            try await store.open(
                hash, for: key.id, recording: event, by: administrator.call)
        }
        guard isOpen else { throw .unknownKey }
        return secret
    }

    /// - Parameter isActivity: `false` for a page that loads itself again, which doesn't put off the idle end.
    /// - Returns: `nil` when the session has ended.
    package func administrator(
        of secret: ConsoleSecret?, isActivity: Bool, by call: Call
    ) async throws(AdministrationFailure) -> Administrator? {
        guard let (hash, keyID) = secret.flatMap(secrets.read) else { return nil }
        let key = try await stored {
            try await store.use(hash, of: keyID, isActivity: isActivity)
        }
        return key.map { administration.administrator(with: $0, by: call) }
    }

    package func end(_ secret: ConsoleSecret?) async throws(AdministrationFailure) {
        guard let (hash, _) = secret.flatMap(secrets.read) else { return }
        try await stored { try await store.end(hash) }
    }
}
