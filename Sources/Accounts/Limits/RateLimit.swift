/// At most `count` per `seconds`, or no limit.
package enum RateLimit: Hashable, Sendable {
    case none
    case limit(count: Int, seconds: Int)
}

/// The subject of a limit. The raw value is part of the keys in the database.
package enum LimitKind: String, CaseIterable, Sendable {
    /// Wrong passwords for one account, identified by the address that was tried.
    case passwordPerAccount
    /// Wrong passwords and codes from one network.
    case guessPerNetwork
    /// New accounts from one network.
    case registrationPerNetwork
    /// Codes requested from one network.
    case mailPerNetwork
    /// Codes mailed to one address, and changes of address requested by one account.
    case mailPerAddress
}
