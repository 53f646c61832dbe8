import Foundation
import Hummingbird
import OpenSSL

/// What security events of Google's have of their own in the body of `POST /control/google/events`.
struct GoogleEvent: Sendable {
    enum SubjectType: String, CaseIterable, Sendable {
        case issuerAndSubject = "iss-sub"
        case idTokenClaims = "id_token_claims"
    }

    /// The form in which an event names a refresh token to its holder.
    enum Identifier: String, CaseIterable, Sendable {
        /// Its first sixteen characters.
        case prefix
        case digest = "hash_base64_sha512_sha512"

        func text(_ token: String) -> String {
            switch self {
            case .prefix: String(token.prefix(16))
            case .digest: Data(SHA512.hash(SHA512.hash(Array(token.utf8)))).base64EncodedString()
            }
        }
    }

    let event: ProviderEvent
    /// The refresh token that the event is about, or the fingerprint that it has in the listing of authorizations.
    let refreshToken: String?
    /// Means a refresh token: this one, or the one that was issued last to the person for the event's client.
    let identifier: Identifier?
    let subjectType: SubjectType
    let type: String
    let reason: String?
    let state: String?
    let hasTrailingSlash: Bool

    init(_ members: ControlMembers) {
        event = ProviderEvent(members)
        refreshToken = members.optionalText("refreshToken")
        identifier = members.optionalChoice("identifier")
        let named = [event.person, event.subject, refreshToken].count { $0 != nil }
        let isToken = identifier != nil
        if named > 1 || isToken && (named == 0 || event.subject != nil) || !isToken && refreshToken != nil {
            members.refuse("One of person, subject and refreshToken, and identifier where a token is meant.")
        }
        subjectType = members.optionalChoice("subjectType") ?? .issuerAndSubject
        type = GoogleEventType.name(event.type)
        reason = members.optionalText("reason")
        state = members.optionalText("state")
        hasTrailingSlash = members.flag("trailingSlash", else: true)
    }
}

/// The names of the events that Google sends.
enum GoogleEventType {
    private static let risc = "https://schemas.openid.net/secevent/risc/event-type/"
    private static let oauth = "https://schemas.openid.net/secevent/oauth/event-type/"

    static let verification = risc + "verification"

    static let known =
        ["tokens-revoked", "token-revoked"].map { oauth + $0 }
        + [
            "sessions-revoked", "account-disabled", "account-enabled", "account-credential-change-required",
            "verification",
        ].map { risc + $0 }

    /// A full name, or the last part of one.
    static func name(_ text: String) -> String {
        text.contains("/") ? text : known.first { $0.hasSuffix("/" + text) } ?? risc + text
    }
}

/// Google's Cross-Account Protection events: mints the tokens and posts them.
extension Provider<Google> {
    func addEvents(to group: RouterGroup<SandboxContext>) {
        group.post("events") { request, _ in
            Response.json(try await send(try await request.body(GoogleEvent.init)).json)
        }
    }

    private func send(_ sent: GoogleEvent) async throws -> SentEvent {
        let event = sent.event
        let issuer = sent.hasTrailingSlash ? issuer + "/" : issuer
        let members: JSONObject = [
            "subject": try subject(of: sent, issuer: issuer), "reason": sent.reason, "state": sent.state,
        ]
        return try await send(
            [sent.type: members], issuer: issuer, audience: event.clientID, at: event.time, tokenID: event.tokenID,
            overrides: event.overrides, by: event.delivery)
    }

    /// Sends a verification event to the stream's receiver.
    ///
    /// - Parameter clientIDs: at least one.
    func verify(state: String?, clientIDs: [String], at target: LoopbackTarget) async throws -> EventDelivery? {
        let members: JSONObject = ["state": state]
        let audience: any JSONEncodable = if clientIDs.count == 1 { clientIDs[0] } else { clientIDs }
        let sent = try await send(
            [GoogleEventType.verification: members], issuer: issuer + "/", audience: audience,
            by: DeliveryPlan(to: target))
        return sent.deliveries.first
    }

    private func send(
        _ events: JSONObject, issuer: String, audience: any JSONEncodable, at time: Int64? = nil,
        tokenID: String? = nil, overrides: TokenOverrides = .none, by plan: DeliveryPlan
    ) async throws -> SentEvent {
        let tokenID =
            tokenID ?? seed.hexadecimal(18, for: "google.event", accounts.nextEvent()).uppercased()
        // No `exp`: an event does not become untrue (RFC 8417 §2.2).
        let claims: JSONObject = [
            "iss": issuer, "aud": audience, "iat": overrides.period(at: time ?? clock.now, lifetime: 0).issued,
            "jti": tokenID, "events": events,
        ]
        let token = try await mint.mint(claims, overrides: overrides)
        return SentEvent(
            token: token, tokenID: tokenID,
            deliveries: try await plan.deliver(Array(token.utf8), type: "application/secevent+jwt"))
    }

    private func subject(of sent: GoogleEvent, issuer: String) throws(ControlRefusal) -> JSONObject? {
        let event = sent.event
        if let identifier = sent.identifier {
            let token =
                if let text = sent.refreshToken { try refreshToken(text) } else {
                    try lastRefreshToken(of: event.person ?? "", clientID: event.clientID)
                }
            return [
                "subject_type": "oauth_token", "token_type": "refresh_token",
                "token_identifier_alg": identifier.rawValue, "token": identifier.text(token),
            ]
        }
        let person = try event.person.map { name throws(ControlRefusal) in try accounts.person(name) }
        guard let subject = person?.subject(seed: seed) ?? event.subject else { return nil }
        let email = sent.subjectType == .idTokenClaims ? person?.email : nil
        return ["subject_type": sent.subjectType.rawValue, "iss": issuer, "sub": subject, "email": email]
    }

    /// The refresh token that was issued last, live or dead: the event may announce its end.
    private func lastRefreshToken(of person: String, clientID: String) throws(ControlRefusal) -> String {
        let pair = Google.Pair(person: person, clientID: clientID)
        guard let grant = accounts.change({ $0.ledger.records[pair]?.grants.last }) else {
            throw .notFound("\(person) has never had a refresh token of \(clientID).")
        }
        return grant.refreshToken
    }

    /// The token with this fingerprint; any other text is a token itself, known or not.
    private func refreshToken(_ text: String) throws(ControlRefusal) -> String {
        guard text.hasPrefix("sha256:") else { return text }
        let token = accounts.change { state in
            state.ledger.records.values.lazy.flatMap(\.grants).map(\.refreshToken)
                .first { Redaction.fingerprint($0) == text }
        }
        guard let token else { throw .notFound("There is no refresh token of the fingerprint \(text).") }
        return token
    }
}
