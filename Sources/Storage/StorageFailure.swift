import Postgres

/// The failure of a storage call, as far as a caller can act on it.
package struct StorageFailure: Error, Sendable, CustomStringConvertible, CustomDebugStringConvertible {
    /// Whether the same call may succeed soon: the database is unreachable, restarting, full, or busy.
    package let isTemporary: Bool
    private let cause: any Error

    package init(_ error: any Error) {
        self.isTemporary = (error as? PostgresError)?.isTemporary ?? (error is CancellationError)
        self.cause = error
    }

    package var description: String { "a storage call failed" }
    /// The SQLSTATE and where it happened; no parameter and no row.
    package var debugDescription: String { String(reflecting: cause) }
}
