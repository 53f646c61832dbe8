package import Accounts
package import Storage

/// Sign-in codes that an administrator has mailed to a person, who reads them where their account's address is. They count
/// as those that the person asks for.
package struct SupportCodes: Sendable {
    let store: EmailCodeStore
    let codes: EmailCodes
    let limits: RateLimiter

    /// - Parameter refusals: those of the process.
    package static func with(
        _ limits: [LimitKind: RateLimit], in database: ServiceDatabase, refusals: RefusalAggregator,
        clock: any WallClock
    ) -> SupportCodes {
        SupportCodes(
            store: database.emailCodes, codes: EmailCodes(keyRing: database.keyRing),
            limits: RateLimiter(
                limits, store: database.limits, knownNetworks: database.knownNetworks, keyRing: database.keyRing,
                refusals: refusals, clock: clock))
    }

    /// Mails a code to the address: a new one, or the live one once more.
    ///
    /// - Parameter event: recorded with the mail.
    /// - Returns: `false` when the live one was mailed a moment ago, or as often as it may be.
    package func mail(
        to address: EmailAddress, recording event: AuditEvent, by call: Call
    ) async throws(SignInFailure) -> Bool {
        guard let language = call.origin.mailLanguage else { throw .mailUnavailable }
        // Of no network: the administrator's is not one that the account is used from.
        let request = try codes.request(for: address, purpose: .signIn, network: nil, language: language, by: call)
        var decision = try await stored {
            try await store.request(request, allowance: nil, recording: event, by: call)
        }
        let isMailed: (EmailCodeRequestDecision) -> Bool = { $0 != .nothing }
        if decision == .needsAllowance {
            decision = try await limits.drawing(
                .mailPerAddress, of: address.text, in: event.accountID, by: call, counting: isMailed
            ) { () throws(SignInFailure) -> EmailCodeRequestDecision in
                var request = request
                request.isServiceGuessedAt = try await limits.isServiceGuessedAt()
                return try await stored { [request] in
                    try await store.request(request, allowance: .full, recording: event, by: call)
                }
            }
        }
        return isMailed(decision)
    }
}
