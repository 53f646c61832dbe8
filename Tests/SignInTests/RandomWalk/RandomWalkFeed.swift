import Postgres
import TestSupport

/// What the feed says of the accounts, against what they are: a receiver that has read all of it knows as much as the tables.
enum WalkFeed: String, CaseIterable, Sendable {
    case numbers = "the events of an account are not numbered 1, 2, 3"
    case existence = "the feed and the table disagree on whether an account is there"
    case status = "the feed and the table disagree on whether an account is disabled"
    case address = "the feed and the table disagree on the degree of an account's address"
    case changes = "the feed and the table disagree on how often an account's address or password has changed"
    case identities = "the feed and the table disagree on the identities of an account"
    case clients = "the feed and the table disagree on the clients of an account"
    case sessions = "a session has ended and no event names it"
    case lastWord = "an account has an event after its last one"

    /// The disagreements, each with one of its rows.
    static func broken(in database: Database) async throws -> [WalkFeed: String] {
        let file = try DataFile("SQL/Feed.sql")
        let events = SQL(unsafeSQL: try file.part("events"))
        var broken: [WalkFeed: String] = [:]
        for rule in allCases {
            let breaches = SQL(unsafeSQL: try file.part("\(rule)"))
            let rows = try await database.query(
                "SELECT b.row FROM (\(events) \(breaches)) b (row) LIMIT 1", as: String.self)
            broken[rule] = rows.first
        }
        return broken
    }
}
