/// One refresh token from its issue to its end.
struct Grant: Sendable {
    enum Ending: String, Sendable {
        /// The client revoked it.
        case revoke
        /// The person withdrew the consent in the account's settings.
        case withdraw
        /// A younger token replaced it: Google keeps a hundred for each person and client.
        case limit
        /// The provider ended it because it was not used for too long.
        case disuse
    }

    let refreshToken: String
    let issuedAt: Int64
    private(set) var endedAt: Int64?
    private(set) var endedBy: Ending?
    /// Refreshes that were answered.
    private(set) var checks = 0
    /// Refreshes within a day of the one before; Apple asks for one a day at most.
    private(set) var hastyChecks = 0
    /// Revoke requests that named this token, the one that ended it and those that came too late.
    var revocations = 0
    private(set) var lastCheck: Int64?

    var isLive: Bool { endedAt == nil }

    var lastUse: Int64 { lastCheck ?? issuedAt }

    mutating func check(at now: Int64) {
        checks += 1
        if let lastCheck, now - lastCheck < 86_400 { hastyChecks += 1 }
        lastCheck = now
    }

    /// Ends the token, once: ending a dead one changes nothing.
    mutating func end(by ending: Ending, at now: Int64) {
        guard isLive else { return }
        endedAt = now
        endedBy = ending
    }

    /// As the listing of authorizations has it.
    var json: JSONObject {
        [
            "refreshToken": Redaction.fingerprint(refreshToken), "live": isLive, "issuedAt": Timestamp.text(issuedAt),
            "endedAt": endedAt.map(Timestamp.text), "endedBy": JSONNullable(value: endedBy?.rawValue),
            "checks": checks, "hastyChecks": hastyChecks, "revocations": revocations,
        ]
    }
}
