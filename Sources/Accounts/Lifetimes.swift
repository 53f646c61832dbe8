/// How long what the service hands out is valid, and how long it keeps what is over. What operators choose is configured:
/// the lifetimes of tokens and sessions.
package enum Lifetimes {
    // MARK: Valid

    /// A link ticket: the time that a person without an account has to choose.
    package static let linkTicketSeconds: Int64 = 600
    /// A nonce that this service issued.
    package static let nonceSeconds: Int64 = 600
    /// A mailed code.
    package static let emailCodeSeconds: Int64 = 600
    /// An authentication that authorizes what a session alone doesn't.
    package static let freshAuthenticationSeconds: Int64 = 600
    /// An address that is to become an account's, until a code proves it.
    package static let pendingEmailSeconds: Int64 = day
    /// The time until an administrator's replacement of an account's address takes effect, in which it can be stopped.
    package static let emailReplacementDelaySeconds: Int64 = day
    /// A notice by mail: later it is not worth sending.
    package static let noticeSeconds: Int64 = day
    /// A web flow, from its opening to the end of the sign-in.
    package static let webFlowSeconds: Int64 = 600
    /// The same where codes are mailed on its pages: for as long as each of them is good, and no longer than the browser's
    /// cookie.
    package static let longestWebFlowSeconds: Int64 = 3_600
    /// Apple's answer, until the browser comes for it.
    package static let webAnswerSeconds: Int64 = 60
    /// The code of a web flow. A link to a private scheme may need a second tap.
    package static func webCodeSeconds(for kind: AppRedirectURI.Kind) -> Int64 {
        switch kind {
        case .https, .loopback: 60
        case .privateScheme: 180
        }
    }
    /// The session of a browser that is not used.
    package static let webSessionIdleSeconds: Int64 = 600
    /// The way of staff to Google and back to the console.
    package static let consoleFlowSeconds: Int64 = 600
    /// A session at the console that is not used; and any.
    package static let consoleIdleSeconds: Int64 = 1_800
    package static let consoleSessionSeconds: Int64 = 8 * 3_600
    /// The previous refresh token, of a session or of an OAuth client, for the same successor: a client that lost the
    /// answer retries.
    package static let refreshRetrySeconds: Int64 = 60
    /// A refresh token of the OAuth server whose successor was used, so that its use is noticed.
    package static let supersededTokenSeconds: Int64 = 30 * day
    /// A sign-in, as what makes its network one that the account is used from.
    package static let knownNetworkSeconds: Int64 = 90 * day

    // MARK: Kept

    /// Tickets, codes and the subjects of revocations, for inquiries; and spent nonces, so that a process whose clock is
    /// behind still knows them.
    package static let endedRowRetentionSeconds: Int64 = 3_600
    package static let endedSessionRetentionSeconds: Int64 = 7 * day
    package static let completedRevocationRetentionSeconds: Int64 = 90 * day
    /// A mail that was given up, counted from its expiry.
    package static let failedMailRetentionSeconds: Int64 = 30 * day
    /// A processed event of a provider; as long, a repetition is recognised.
    package static let providerEventRetentionSeconds: Int64 = 30 * day
    /// Of the subject of an event, where no identity has it: an hour longer than a provider's token is good.
    package static let unknownSubjectRetentionSeconds: Int64 = 25 * 3_600
    /// Of the moment before which the tokens of an identity that is gone were refused: likewise.
    package static let refusedTokenRetentionSeconds = unknownSubjectRetentionSeconds

    private static let day: Int64 = 86_400
}
