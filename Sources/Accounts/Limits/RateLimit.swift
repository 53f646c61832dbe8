/// So many in so long, or no limit.
package enum RateLimit: Hashable, Sendable {
    case none
    case limit(count: Int, seconds: Int)
}

/// What is limited. The raw value is part of the keys in the database.
package enum LimitKind: String, CaseIterable, Sendable {
    /// Wrong passwords at one account, which the address that was tried stands for.
    case passwordPerAccount
    /// Wrong passwords and codes from one network.
    case guessPerNetwork
    /// New accounts from one network.
    case registrationPerNetwork
    /// Codes that one network asks for.
    case mailPerNetwork
    /// Codes mailed to one address, and changes of its address that one account asks for.
    case mailPerAddress
}
