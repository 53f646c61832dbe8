import Foundation
import Hummingbird
import JSON
import OpenSSL
import Synchronization

/// A security event to be sent as Google does: the body of `POST /control/google/events`.
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

    enum Subject: Sendable {
        /// The event has no subject.
        case none
        case person(String)
        case subject(String)
        /// The refresh token that was issued last to a person for the event's client.
        case tokenOf(person: String, Identifier)
        /// This refresh token, or the one with this fingerprint in the listing of authorizations.
        case token(String, Identifier)
    }

    let clientID: String
    let subject: Subject
    let subjectType: SubjectType
    let type: String
    let reason: String?
    let state: String?
    let hasTrailingSlash: Bool
    /// The time of the event, which is the token's `iat`, in seconds since 1970; nil for now.
    let time: Int64?
    /// The `jti`; nil for a new one.
    let tokenID: String?
    let overrides: TokenOverrides
    let delivery: DeliveryPlan

    static let memberNames =
        [
            "person", "subject", "refreshToken", "identifier", "subjectType", "clientId", "type", "reason", "state",
            "trailingSlash", "eventTime", "jti", "token",
        ] + DeliveryPlan.memberNames

    init(_ members: ControlMembers) throws(ControlRefusal) {
        clientID = try members.clientID()
        subject = try Self.subject(members)
        subjectType = try members.choice("subjectType", of: SubjectType.self) ?? .issuerAndSubject
        type = GoogleEventType.name(try members.text("type"))
        reason = try members.optionalText("reason")
        state = try members.optionalText("state")
        hasTrailingSlash = try members.flag("trailingSlash", else: true)
        time = try members.time("eventTime")
        tokenID = try members.optionalText("jti")
        overrides = try members.object("token", allowed: TokenOverrides.memberNames).map(TokenOverrides.init) ?? .none
        delivery = try DeliveryPlan(members)
    }

    private static func subject(_ members: ControlMembers) throws(ControlRefusal) -> Subject {
        let person = try members.optionalText("person")
        let subject = try members.optionalText("subject")
        let token = try members.optionalText("refreshToken")
        let identifier = try members.choice("identifier", of: Identifier.self)
        switch (person, subject, token, identifier) {
        case (nil, nil, nil, nil): return .none
        case (let person?, nil, nil, nil): return .person(person)
        case (nil, let subject?, nil, nil): return .subject(subject)
        case (let person?, nil, nil, let identifier?): return .tokenOf(person: person, identifier)
        case (nil, nil, let token?, let identifier?): return .token(token, identifier)
        default:
            throw .invalid("One of person, subject and refreshToken, and identifier where a token is meant.")
        }
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

/// The sender of Google's Cross-Account Protection events: mints the tokens and posts them.
struct GoogleNotifier: Sendable {
    let accounts: GoogleAccounts
    let mint: TokenMint
    let issuer: String
    let clock: SandboxClock

    func add(to group: RouterGroup<SandboxContext>) {
        group.post("events") { request, _ in
            try await send(GoogleEvent(await request.members(GoogleEvent.memberNames))).response()
        }
    }

    private func send(_ event: GoogleEvent) async throws -> SentEvent {
        let issuer = event.hasTrailingSlash ? issuer + "/" : issuer
        var members = ClaimSet()
        members.set("subject", try subject(of: event, issuer: issuer).map { .json(try JSONValue(parsing: $0.json)) })
        members.set("reason", event.reason)
        members.set("state", event.state)
        return try await send(
            event.type, members, issuer: issuer, audience: .string(event.clientID), at: event.time,
            tokenID: event.tokenID, overrides: event.overrides, by: event.delivery)
    }

    /// Sends a verification event to the stream's receiver.
    ///
    /// - Parameter clientIDs: at least one.
    func verify(
        state: String?, clientIDs: [String], at target: LoopbackTarget
    ) async throws -> EventDelivery? {
        var members = ClaimSet()
        members.set("state", state)
        let sent = try await send(
            GoogleEventType.verification, members, issuer: issuer + "/",
            audience: try Self.audience(clientIDs), at: nil, tokenID: nil, overrides: .none,
            by: DeliveryPlan(to: target))
        return sent.deliveries.first
    }

    private func send(
        _ type: String, _ event: ClaimSet, issuer: String, audience: ClaimSet.Value, at time: Int64?,
        tokenID: String?, overrides: TokenOverrides, by plan: DeliveryPlan
    ) async throws -> SentEvent {
        let tokenID = tokenID ?? accounts.newTokenID()
        var events = ClaimSet()
        events.set(type, .json(try JSONValue(parsing: event.json)))
        var claims = ClaimSet()
        claims.set("iss", issuer)
        claims.set("aud", audience)
        // No `exp`: an event does not become untrue (RFC 8417 §2.2).
        claims.set("iat", .integer(overrides.period(at: time ?? clock.now, lifetime: 0).issued))
        claims.set("jti", tokenID)
        claims.set("events", .json(try JSONValue(parsing: events.json)))
        let token = try await mint.mint(claims, overrides: overrides)
        return SentEvent(
            token: token, tokenID: tokenID,
            deliveries: try await plan.deliver(Array(token.utf8), type: "application/secevent+jwt"))
    }

    private static func audience(_ clientIDs: [String]) throws -> ClaimSet.Value {
        if clientIDs.count == 1 { return .string(clientIDs[0]) }
        var writer = JSONWriter()
        writer.array { array in
            for clientID in clientIDs { array.string(clientID) }
        }
        return .json(try JSONValue(parsing: writer.bytes))
    }

    private func subject(of event: GoogleEvent, issuer: String) throws(ControlRefusal) -> ClaimSet? {
        var members = ClaimSet()
        func name(_ subject: String) {
            members.set("subject_type", event.subjectType.rawValue)
            members.set("iss", issuer)
            members.set("sub", subject)
        }
        func name(_ token: String, by identifier: GoogleEvent.Identifier) {
            members.set("subject_type", "oauth_token")
            members.set("token_type", "refresh_token")
            members.set("token_identifier_alg", identifier.rawValue)
            members.set("token", identifier.text(token))
        }
        switch event.subject {
        case .none:
            return nil
        case .person(let person):
            let person = try accounts.person(person)
            name(person.subject(seed: accounts.seed))
            if event.subjectType == .idTokenClaims { members.set("email", person.email) }
        case .subject(let subject):
            name(subject)
        case .tokenOf(let person, let identifier):
            name(try accounts.lastRefreshToken(of: person, clientID: event.clientID), by: identifier)
        case .token(let token, let identifier):
            name(try accounts.refreshToken(token), by: identifier)
        }
        return members
    }
}

extension GoogleAccounts {
    fileprivate func newTokenID() -> String {
        state.withLock { state in
            state.events += 1
            return seed.hexadecimal(18, for: "google.event", String(state.events)).uppercased()
        }
    }

    /// The refresh token that was issued last, live or dead: the event may announce its end.
    fileprivate func lastRefreshToken(of person: String, clientID: String) throws(ControlRefusal) -> String {
        let pair = Ledger.Pair(person: person, clientID: clientID)
        guard let grant = state.withLock({ $0.ledger.records[pair]?.grants.last }) else {
            throw .notFound("\(person) has never had a refresh token of \(clientID).")
        }
        return grant.refreshToken
    }

    /// The token with this fingerprint; any other text is a token itself, known or not.
    fileprivate func refreshToken(_ text: String) throws(ControlRefusal) -> String {
        guard text.hasPrefix("sha256:") else { return text }
        let token = state.withLock { state in
            state.ledger.records.values.lazy.flatMap(\.grants).map(\.refreshToken)
                .first { Redaction.fingerprint($0) == text }
        }
        guard let token else { throw .notFound("There is no refresh token of the fingerprint \(text).") }
        return token
    }
}
