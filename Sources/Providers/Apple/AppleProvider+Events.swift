package import Accounts
import JOSE
import JSON
import OpenSSL
import Primitives

extension AppleProvider {
    /// The event of a server-to-server notification. Apple signs it with the keys of identity tokens and for the same
    /// audiences; its `events` distinguishes it.
    ///
    /// `events` is a string that holds one object, though Apple's documentation shows the object itself: both are read.
    package func events(of token: [UInt8], at now: Timestamp) async throws(CredentialRefusal) -> [ProviderEvent] {
        let token = try await signedToken(token, algorithms: [.rs256, .es256], types: SecurityEventToken.types)
        return try refusing { () throws(TokenRejection) in
            let rules = ClaimRules.securityEvent(
                issuers: configuration.issuers, audiences: configuration.teams.flatMap(\.clientIDs).map(\.text))
            let checked = try rules.check(token, at: now.seconds)
            let team = try team(of: token.claims, audience: checked.audience)
            guard let claim = token.claims["events"], let event = AppleProvider.event(claim),
                let type = event["type"]?.string.flatMap(EventText.init)
            else { throw .claimInvalid }
            let subject = event["sub"]?.string.flatMap(ProviderSubject.init)
            let issuedAt = Timestamp(seconds: checked.issuedAt)
            // Not after the second of the token that reports it: one ahead of time would refuse the tokens of as long.
            let latest = issuedAt.advanced(bySeconds: 1)
            let occurredAt = event["event_time"].flatMap(AppleProvider.eventTime).map { min($0, latest) }
            return [
                ProviderEvent(
                    provider: .apple, realm: team.realm, tokenID: checked.tokenID ?? "", position: 0, type: type.text,
                    kind: AppleProvider.kind(type.text), subject: subject.map(ProviderEvent.Subject.person) ?? .none,
                    detail: nil, occurredAt: occurredAt ?? issuedAt)
            ]
        }
    }

    private static func event(_ claim: JSONValue) -> JSONValue? {
        if claim.kind == .object { return claim }
        guard let bytes = claim.stringBytes, let event = try? JSONValue(parsing: bytes), event.kind == .object else {
            return nil
        }
        return event
    }

    /// `event_time`: milliseconds on the wire, seconds in Apple's documentation. No time of this century is mistaken.
    private static func eventTime(_ claim: JSONValue) -> Timestamp? {
        guard let number = claim.integer, number >= 0 else { return nil }
        let (microseconds, overflow) = number.multipliedReportingOverflow(by: 1_000)
        guard number >= 100_000_000_000 else { return Timestamp(seconds: number) }
        return overflow ? nil : Timestamp(microseconds: microseconds)
    }

    private static func kind(_ type: String) -> ProviderEvent.Kind? {
        switch type {
        case "email-disabled": .emailDisabled
        case "email-enabled": .emailEnabled
        case "consent-revoked": .consentRevoked
        case "account-deleted", "account-delete": .accountDeleted
        default: nil
        }
    }
}

/// A security event token (RFC 8417): it reports an event, where an ID token identifies a person.
enum SecurityEventToken {
    /// The allowed values of `typ` in its header (RFC 8417 §2.3).
    static let types = ["JWT", "secevent+jwt"]
}

/// A text of an event as it may be stored: 1 to 255 bytes without controls.
struct EventText {
    let text: String

    init?(_ text: String) {
        guard 1...255 ~= text.utf8.count, !text.utf8.contains(where: \.isASCIIControl) else { return nil }
        self.text = text
    }
}
