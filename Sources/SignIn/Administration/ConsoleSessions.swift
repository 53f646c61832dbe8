package import Accounts
import Storage

/// The sessions of administrators at the console: a cookie that stands for a key. The key is looked at on each use, so
/// that its revocation ends them at once, in every process.
package struct ConsoleSessions: Sendable {
    private let administration: Administration

    package init(administration: Administration) {
        self.administration = administration
    }

    /// - Parameter presented: the key as it was typed.
    package func open(
        presenting presented: String, by call: Call
    ) async throws(AdministrationFailure) -> ConsoleSecret {
        let administrator = try await administration.administrator(presenting: Array(presented.utf8), by: call)
        let (secret, hash): (ConsoleSecret, [UInt8])
        do {
            (secret, hash) = try administration.consoleSecrets.fresh(for: administrator.key.id)
        } catch {
            throw .fault(operation: "console session")
        }
        let event = AuditEvent(.consoleOpened, from: administrator.call.origin, reason: "\(administrator.key.id)")
        let isOpen = try await administration.stored {
            try await administration.database.consoleSessions.open(
                hash, for: administrator.key.id, recording: event, by: administrator.call)
        }
        guard isOpen else { throw .unknownKey }
        return secret
    }

    /// - Parameter isActivity: `false` for a page that loads itself again, which doesn't put off the idle end.
    /// - Returns: `nil` when the session has ended.
    package func administrator(
        of secret: ConsoleSecret?, isActivity: Bool, by call: Call
    ) async throws(AdministrationFailure) -> Administrator? {
        guard let (hash, keyID) = secret.flatMap(administration.consoleSecrets.read) else { return nil }
        let key = try await administration.stored {
            try await administration.database.consoleSessions.use(hash, of: keyID, isActivity: isActivity)
        }
        return key.map { administration.administrator(with: $0, by: call) }
    }

    package func end(_ secret: ConsoleSecret?) async throws(AdministrationFailure) {
        guard let (hash, _) = secret.flatMap(administration.consoleSecrets.read) else { return }
        try await administration.stored { try await administration.database.consoleSessions.end(hash) }
    }
}
