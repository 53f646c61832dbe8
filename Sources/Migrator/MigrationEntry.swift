/// A line of `migrate status`.
package struct MigrationEntry: Sendable, Equatable {
    package enum State: Sendable, Equatable {
        case pending
        case applied(at: String)
        case interrupted
        case edited
        case unknown
        /// Unknown, and this program can't serve on it.
        case superseding
    }

    package let label: String
    package let state: State
}
