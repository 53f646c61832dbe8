import Hummingbird
import JSON
import Synchronization

/// A notification to be sent as Apple does: the body of `POST /control/apple/events`.
struct AppleEvent: Sendable {
    /// The form of the claim `events`: a string as Apple sends it, or an object as Apple's page shows it.
    enum Form: String, CaseIterable, Sendable {
        case string
        case object
    }

    /// The unit of `event_time`: milliseconds as Apple sends them, or seconds as Apple's page shows them.
    enum Unit: String, CaseIterable, Sendable {
        case milliseconds
        case seconds
    }

    let clientID: String
    let person: String?
    let subject: String?
    let type: String
    let form: Form
    let unit: Unit
    /// The time of the event in seconds since 1970; nil for now.
    let time: Int64?
    /// The `jti`; nil for a new one.
    let tokenID: String?
    let overrides: TokenOverrides
    let delivery: DeliveryPlan

    static let memberNames =
        ["person", "subject", "clientId", "type", "form", "unit", "eventTime", "jti", "token"]
        + DeliveryPlan.memberNames

    init(_ members: ControlMembers) throws(ControlRefusal) {
        clientID = try members.clientID()
        person = try members.optionalText("person")
        subject = try members.optionalText("subject")
        guard (person == nil) != (subject == nil) else { throw .invalid("One of person and subject is needed.") }
        type = try members.text("type")
        form = try members.choice("form", of: Form.self) ?? .string
        unit = try members.choice("unit", of: Unit.self) ?? .milliseconds
        time = try members.time("eventTime")
        tokenID = try members.optionalText("jti")
        overrides = try members.object("token", allowed: TokenOverrides.memberNames).map(TokenOverrides.init) ?? .none
        delivery = try DeliveryPlan(members)
    }
}

/// The sender of Apple's server-to-server notifications.
struct AppleNotifier: Sendable {
    let accounts: AppleAccounts
    let mint: TokenMint
    let issuer: String
    let clock: SandboxClock

    /// Seconds from `iat` to `exp`.
    static let lifetime: Int64 = 86_400

    func add(to group: RouterGroup<SandboxContext>) {
        group.post("events") { request, _ in
            try await send(AppleEvent(await request.members(AppleEvent.memberNames))).response()
        }
    }

    private func send(_ event: AppleEvent) async throws -> SentEvent {
        let now = clock.now
        let tokenID = event.tokenID ?? accounts.newTokenID()
        var claims = ClaimSet()
        let period = event.overrides.period(at: now, lifetime: Self.lifetime)
        claims.set("iss", issuer)
        claims.set("aud", event.clientID)
        claims.set("iat", .integer(period.issued))
        claims.set("exp", .integer(period.expires))
        claims.set("jti", tokenID)
        let text = try eventMembers(event, at: now).json
        switch event.form {
        case .string: claims.set("events", String(decoding: text, as: UTF8.self))
        case .object: claims.set("events", .json(try JSONValue(parsing: text)))
        }
        let token = try await mint.mint(claims, overrides: event.overrides)
        var body = ClaimSet()
        body.set("payload", token)
        return SentEvent(
            token: token, tokenID: tokenID,
            deliveries: try await event.delivery.deliver(body.json, type: "application/json"))
    }

    /// The members of the token's one event, in Apple's order.
    private func eventMembers(_ event: AppleEvent, at now: Int64) throws(ControlRefusal) -> ClaimSet {
        var members = ClaimSet()
        members.set("type", event.type)
        if let person = event.person {
            let known = try accounts.user(person, of: event.clientID, at: now)
            members.set("sub", known.subject)
            if event.type.hasPrefix("email-") {
                members.set("email", known.address)
                // A string here, whatever its type in identity tokens.
                members.set("is_private_email", "true")
            }
        } else {
            members.set("sub", event.subject)
        }
        let time = event.time.map { $0 * 1000 } ?? clock.nowMilliseconds
        members.set("event_time", .integer(event.unit == .milliseconds ? time : time / 1000))
        return members
    }
}

extension AppleAccounts {
    /// The subject and address by which the client's team knows a person, whether or not they use the client.
    fileprivate func user(
        _ name: String, of clientID: String, at now: Int64
    ) throws(ControlRefusal) -> (subject: String, address: String?) {
        try state.withLock { state throws(ControlRefusal) in
            guard let person = state.persons[name] else { throw Self.personNotFound(name) }
            let subject = state.subject(of: person, in: clientID, seed: seed, at: now)
            return (subject.text, person.address(team: subject.team, seed: seed))
        }
    }

    fileprivate func newTokenID() -> String {
        state.withLock { state in
            state.events += 1
            return seed.alphanumeric(16, for: "apple.event", String(state.events))
        }
    }
}
