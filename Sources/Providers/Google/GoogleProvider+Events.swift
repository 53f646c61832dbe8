package import Accounts
import Foundation
import JOSE
import JSON
import OpenSSL
import Primitives

extension GoogleProvider {
    /// Google's name of this kind of event; `nil` for Apple's kinds.
    package static func eventType(_ kind: ProviderEvent.Kind) -> String? {
        switch kind {
        case .sessionsRevoked, .accountDisabled, .accountEnabled, .credentialChangeRequired, .verification:
            "https://schemas.openid.net/secevent/risc/event-type/" + kind.rawValue
        case .tokensRevoked, .tokenRevoked:
            "https://schemas.openid.net/secevent/oauth/event-type/" + kind.rawValue
        case .emailDisabled, .emailEnabled, .consentRevoked, .accountDeleted: nil
        }
    }

    /// The maximum number of events in one token; Google sends one.
    private static let maximumEvents = 16

    /// The events of a security event token (RFC 8417) of Cross-Account Protection. Google signs it with the keys of ID
    /// tokens and for the same audiences; its `events` distinguish it. It does not expire.
    package func events(of token: [UInt8], at now: Timestamp) async throws(CredentialRefusal) -> [ProviderEvent] {
        let token = try await signedToken(token, algorithms: [.rs256], types: SecurityEventToken.types)
        return try refusing { () throws(TokenRejection) in
            var rules = ClaimRules.securityEvent(
                issuers: configuration.issuers, audiences: configuration.clientIDs.map(\.text))
            // Google's documentation and Google's tokens differ in it.
            rules.ignoresIssuerTrailingSlash = true
            let checked = try rules.check(token, at: now.seconds)
            guard let members = token.claims["events"]?.members, 1...GoogleProvider.maximumEvents ~= members.count
            else { throw .claimInvalid }
            return try members.enumerated().map { (position, member) throws(TokenRejection) in
                guard let type = EventText(member.name), member.value.kind == .object else { throw .claimInvalid }
                let detail = (member.value["reason"] ?? member.value["state"])?.string.flatMap(EventText.init)
                return ProviderEvent(
                    provider: .google, realm: .main, tokenID: checked.tokenID ?? "", position: position,
                    type: type.text, kind: GoogleProvider.kind(type.text),
                    subject: subject(member.value["subject"]), detail: detail?.text,
                    occurredAt: Timestamp(seconds: checked.issuedAt))
            }
        }
    }

    /// The subject of an event; `.none` where Google names none that can be known here.
    private func subject(_ claim: JSONValue?) -> ProviderEvent.Subject {
        guard let claim, let type = claim["subject_type"]?.string else { return .none }
        switch type {
        case "iss-sub", "id_token_claims":
            guard let issuer = claim["iss"], configuration.issuers.contains(where: { isSame(issuer, $0) }),
                let subject = claim["sub"]?.string.flatMap(ProviderSubject.init)
            else { return .none }
            return .person(subject)
        case "oauth_token":
            guard claim["token_type"]?.isString(equalTo: "refresh_token") == true, let token = claim["token"]?.string
            else { return .none }
            if claim["token_identifier_alg"]?.isString(equalTo: "prefix") == true, token.utf8.count == 16 {
                return .tokenPrefix(Array(token.utf8))
            }
            if claim["token_identifier_alg"]?.isString(equalTo: "hash_base64_sha512_sha512") == true,
                let digest = Data(base64Encoded: token), digest.count == 64
            {
                return .tokenDigest(Array(digest))
            }
            return .none
        default:
            return .none
        }
    }

    /// Whether the claim is this issuer, ignoring one trailing slash.
    private func isSame(_ claim: JSONValue, _ issuer: String) -> Bool {
        claim.isString(equalTo: issuer) || claim.isString(equalTo: issuer + "/")
    }

    private static func kind(_ type: String) -> ProviderEvent.Kind? {
        ProviderEvent.Kind.allCases.first { eventType($0)?.hasSameBytes(as: type) == true }
    }
}
