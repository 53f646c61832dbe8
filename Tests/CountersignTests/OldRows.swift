import Postgres

/// Rows that the schema of a version can hold, and a query for what must be left of them all from then on.
struct OldRows: Sendable {
    let version: Int
    let insert: SQL
    /// One text; has to be the same after every later migration, up and down.
    let digest: SQL

    /// In the order of the versions.
    static let all = untilSeals + sinceDevices + sinceFeed
}
