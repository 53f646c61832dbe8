import Foundation

public enum MigrationReport: Sendable, Equatable {
    case nothingFound
    case alreadyDone
    /// From the source of this name.
    case migrated(from: String)
}

/// Takes the session of an older library over. Run it at each start before the session is restored: it finishes what an
/// interrupted run has left, and then does nothing.
///
/// Nothing is deleted before the session is in its new place and has been read back from there.
public struct SessionMigrator: Sendable {
    private let sources: [any LegacySource]
    private let destination: any SessionStore

    /// - Parameters:
    ///   - sources: the newest library first.
    ///   - destination: what `OAuthSession(restoringFrom:)` reads. Another item than that of any source.
    public init(sources: [any LegacySource], destination: any SessionStore) {
        self.sources = sources
        self.destination = destination
    }

    /// Takes over what the first source has that has anything, and deletes what all of them have. A deletion that fails
    /// is left to the next run.
    ///
    /// - Throws: `storage` when the destination or a source that is asked can't be read, or the destination does not
    ///   keep what is saved. Then every source is as it was.
    public func migrate() throws(SessionError) -> MigrationReport {
        if try StoredOAuthSession.read(try destination.document()) != nil {
            removeSources()
            return .alreadyDone
        }
        for source in sources {
            let found: LegacySession?
            do { found = try source.load() } catch { throw SessionError(storing: error) }
            guard let found else { continue }
            try save(found.stored)
            removeSources()
            return .migrated(from: source.name)
        }
        return .nothingFound
    }

    private func save(_ session: StoredOAuthSession) throws(SessionError) {
        try destination.keep(try StoredForm.write(session))
        let readBack: StoredOAuthSession?
        do { readBack = try StoredOAuthSession.read(try destination.document()) } catch { readBack = nil }
        guard readBack == session else {
            // The next run must not take it for what was to be saved.
            try? destination.remove()
            throw .storage("what was saved reads differently")
        }
    }

    private func removeSources() { for source in sources { try? source.remove() } }
}

extension SessionMigrator: Redacted {
    public var description: String { "SessionMigrator(\(sources.map(\.name)))" }
}
