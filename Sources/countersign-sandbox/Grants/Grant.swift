/// One refresh token from its issue to its end.
struct Grant: Sendable {
    enum Ending: String, Sendable {
        /// The client asked for it.
        case revoke
        /// The person did, in the account's settings.
        case withdraw
        /// A younger token took its place: Google keeps a hundred for each person and client.
        case limit
        /// Nobody had used it for so long that the provider dropped it.
        case disuse
    }

    let refreshToken: String
    let issuedAt: Int64
    private(set) var endedAt: Int64?
    private(set) var endedBy: Ending?
    /// Refreshes that were answered.
    private(set) var checks = 0
    /// Those that came within a day of the one before; Apple asks for one a day at most.
    private(set) var hastyChecks = 0
    /// Revoke requests that named this token, the one that ended it and those that came too late.
    var revocations = 0
    private var lastCheck: Int64?

    init(refreshToken: String, issuedAt: Int64) {
        self.refreshToken = refreshToken
        self.issuedAt = issuedAt
    }

    var isLive: Bool { endedAt == nil }

    var lastUse: Int64 { lastCheck ?? issuedAt }

    mutating func check(at now: Int64) {
        checks += 1
        if let lastCheck, now - lastCheck < 86_400 { hastyChecks += 1 }
        lastCheck = now
    }

    /// A token ends once: whatever would end a dead one changes nothing.
    mutating func end(by ending: Ending, at now: Int64) {
        guard isLive else { return }
        endedAt = now
        endedBy = ending
    }
}
