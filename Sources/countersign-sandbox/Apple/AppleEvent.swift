import Hummingbird

/// What notifications of Apple's have of their own in the body of `POST /control/apple/events`.
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

    let event: ProviderEvent
    let form: Form
    let unit: Unit

    init(_ members: ControlMembers) {
        event = ProviderEvent(members)
        form = members.optionalChoice("form") ?? .string
        unit = members.optionalChoice("unit") ?? .milliseconds
        if (event.person == nil) == (event.subject == nil) {
            members.refuse("One of person and subject is needed.")
        }
    }
}

/// Apple's server-to-server notifications.
extension Provider<Apple> {
    /// Seconds from `iat` to `exp`.
    private static var lifetime: Int64 { 86_400 }

    func addEvents(to group: RouterGroup<SandboxContext>) {
        group.post("events") { request, _ in
            Response.json(try await send(try await request.body(AppleEvent.init)).json)
        }
    }

    private func send(_ notification: AppleEvent) async throws -> SentEvent {
        let event = notification.event
        let now = clock.now
        let tokenID = event.tokenID ?? seed.alphanumeric(16, for: "apple.event", accounts.nextEvent())
        let period = event.overrides.period(at: now, lifetime: Self.lifetime)
        let members = try members(of: notification, at: now)
        let claims: JSONObject = [
            "iss": issuer, "aud": event.clientID, "iat": period.issued, "exp": period.expires, "jti": tokenID,
            "events": notification.form == .string ? members.text as any JSONEncodable : members,
        ]
        let token = try await mint.mint(claims, overrides: event.overrides)
        let body: JSONObject = ["payload": token]
        return SentEvent(
            token: token, tokenID: tokenID,
            deliveries: try await event.delivery.deliver(body.bytes, type: "application/json"))
    }

    /// The members of the token's one event, in Apple's order.
    private func members(of notification: AppleEvent, at now: Int64) throws(ControlRefusal) -> JSONObject {
        let event = notification.event
        var members: JSONObject = ["type": event.type, "sub": event.subject]
        if let name = event.person {
            // Whether or not the person uses the client.
            let person = try accounts.person(name)
            let subject = accounts.registry.subject(of: person, in: event.clientID, seed: seed, at: now)
            members.set("sub", subject.text)
            if event.type.hasPrefix("email-") {
                members.set("email", person.address(team: subject.team, seed: seed))
                // A string here, whatever its type in identity tokens.
                members.set("is_private_email", "true")
            }
        }
        let time = event.time.map { $0 * 1000 } ?? clock.nowMilliseconds
        members.set("event_time", notification.unit == .milliseconds ? time : time / 1000)
        return members
    }
}
