/// At most `count` per `seconds`, or no limit.
package enum RateLimit: Hashable, Sendable {
    case none
    case limit(count: Int, seconds: Int)
}

/// The subject of a limit. The raw value is part of the keys in the database.
package enum LimitKind: String, CaseIterable, Sendable {
    /// Wrong passwords for one account, identified by the address that was tried; and as many from each network that the
    /// account is used from.
    case passwordPerAccount
    /// Wrong passwords and codes from one network: an IPv4 /24 or IPv6 /64.
    case guessPerNetwork
    /// The same from an IPv4 /16 or IPv6 /48.
    case guessPerWideNetwork
    /// Wrong passwords and codes from everywhere. Beyond it nothing is refused, but every code is long.
    case guessPerService
    /// Authorization codes from one network that the provider refused, none of them beside a token that verified.
    case junkCodesPerNetwork
    /// Authorization codes beside verified tokens of one identity that the provider refused.
    case refusedCodesPerIdentity
    /// New accounts from one network.
    case registrationPerNetwork
    /// New codes for one address, and as many from each network that its account is used from; changes of address
    /// requested by one account; notices that say the same to one address that no account has proven.
    case mailPerAddress
    /// Codes requested from one network.
    case mailPerNetwork
    /// Exports of one account's data by its owner.
    case exportPerAccount
    /// Changes of one account's display name by its owner.
    case renamePerAccount
    /// Changes of one account's password by its owner, who types the one before. Resets are none: each takes a mailed code.
    case passwordChangePerAccount
    /// Links that the owner of one account makes, of providers at the account, by the password or in place of another and
    /// of clients of the OAuth server; and as many identities that they unlink. A bind by a session that replaces nothing
    /// has no limit.
    case linkPerAccount
    /// Web flows opened from one network.
    case webFlowsPerNetwork
}
