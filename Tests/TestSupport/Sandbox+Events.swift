import JSON
package import OpenSSL
import Primitives

extension Sandbox {
    /// An event that a provider has sent, or would send.
    package struct Event: Sendable {
        /// The signed token: what Apple wraps into a `payload`, and Google posts as it is.
        package let token: String
        package let tokenID: String
        /// The outcome of each delivery, in order; none without a target.
        package let deliveries: [EventDelivery]
    }

    package struct EventDelivery: Sendable, Equatable {
        /// nil when there was no answer.
        package let status: Int64?
        package let body: String?
        /// `connect` or `no_answer`.
        package let failure: String?
    }

    /// The form of the event in Apple's token: as Apple sends it, or as Apple's documentation shows it.
    package enum AppleEventForm: String, Sendable, CaseIterable {
        case string
        case object
    }

    /// The unit of Apple's `event_time`: as Apple sends it, or as Apple's documentation shows it.
    package enum AppleEventUnit: String, Sendable, CaseIterable {
        case milliseconds
        case seconds
    }

    /// The form in which Google names a refresh token.
    package enum TokenIdentifier: String, Sendable, CaseIterable {
        case prefix
        case digest = "hash_base64_sha512_sha512"
    }

    /// The subject of an event of Google's.
    package enum GoogleSubject: Sendable {
        case person(String)
        case subject(String)
        /// The person's last refresh token for the event's client.
        case tokenOf(person: String, TokenIdentifier)
        /// A refresh token, or the `fingerprint` of one.
        case token(String, TokenIdentifier)
        case none
    }

    /// Makes Apple send an event about a person.
    ///
    /// - Parameters:
    ///   - type: such as `consent-revoked`, or any other text.
    ///   - subject: any other subject, in place of a person.
    ///   - time: the time of the event, RFC 3339; now if absent, to the millisecond.
    ///   - target: a URL on loopback; without one nothing is sent.
    ///   - deliveries: the number of times that the same token is sent, one after the other.
    ///   - delaySeconds: the delay before the first delivery. The call returns after the last.
    @discardableResult
    package func sendAppleEvent(
        _ type: String, person: String? = nil, subject: String? = nil, clientID: String, form: AppleEventForm = .string,
        unit: AppleEventUnit = .milliseconds, at time: String? = nil, tokenID: String? = nil,
        token: TokenChanges = TokenChanges(), to target: String? = nil, deliveries: Int = 1, delaySeconds: Int = 0
    ) async throws -> Event {
        let answer = try await control("apple/events") { writer in
            writer.member("type", type)
            writer.member("person", person)
            writer.member("subject", subject)
            writer.member("clientId", clientID)
            writer.member("form", form.rawValue)
            writer.member("unit", unit.rawValue)
            writer.member("eventTime", time)
            writer.member("jti", tokenID)
            try token.write(&writer)
            Self.write(target, deliveries, delaySeconds, &writer)
        }
        return try Self.event(answer)
    }

    /// Makes Google send an event about a person or a refresh token; other parameters are those of `sendAppleEvent`.
    ///
    /// - Parameters:
    ///   - type: a full name or the last part of one, such as `tokens-revoked`.
    ///   - subjectType: `iss-sub` or `id_token_claims`.
    ///   - trailingSlash: whether issuers end in one.
    ///   - time: `iat`, in whole seconds.
    @discardableResult
    package func sendGoogleEvent(
        _ type: String, about subject: GoogleSubject, clientID: String, reason: String? = nil, state: String? = nil,
        subjectType: String = "iss-sub", trailingSlash: Bool = true, at time: String? = nil, tokenID: String? = nil,
        token: TokenChanges = TokenChanges(), to target: String? = nil, deliveries: Int = 1, delaySeconds: Int = 0
    ) async throws -> Event {
        let answer = try await control("google/events") { writer in
            writer.member("type", type)
            switch subject {
            case .person(let name): writer.member("person", name)
            case .subject(let subject): writer.member("subject", subject)
            case .tokenOf(let person, let identifier):
                writer.member("person", person)
                writer.member("identifier", identifier.rawValue)
            case .token(let token, let identifier):
                writer.member("refreshToken", token)
                writer.member("identifier", identifier.rawValue)
            case .none: break
            }
            writer.member("clientId", clientID)
            writer.member("reason", reason)
            writer.member("state", state)
            writer.member("subjectType", subjectType)
            writer.member("trailingSlash", trailingSlash)
            writer.member("eventTime", time)
            writer.member("jti", tokenID)
            try token.write(&writer)
            Self.write(target, deliveries, delaySeconds, &writer)
        }
        return try Self.event(answer)
    }

    private static func write(_ target: String?, _ deliveries: Int, _ delay: Int, _ writer: inout JSONWriter) {
        guard let target else { return }
        writer.member("target", target)
        writer.member("deliveries", deliveries)
        writer.member("delaySeconds", delay)
    }

    private static func event(_ answer: JSONValue) throws -> Event {
        Event(
            token: try text(answer, "token"), tokenID: try text(answer, "jti"),
            deliveries: (answer["deliveries"]?.elements ?? []).map(delivery))
    }

    private static func delivery(_ value: JSONValue) -> EventDelivery {
        EventDelivery(status: value["status"]?.integer, body: value["body"]?.string, failure: value["failure"]?.string)
    }

    // MARK: Google's event stream

    /// The event stream of Google's project.
    package struct EventStream: Sendable, Equatable {
        /// nil until it is registered, as are the next two.
        package let url: String?
        package let eventTypes: [String]?
        package let isEnabled: Bool?
        package let verifications: [StreamVerification]
    }

    package struct StreamVerification: Sendable, Equatable {
        package let state: String?
        /// nil until it is delivered, which it never is where the stream is disabled or its URL is not on loopback.
        package let delivery: EventDelivery?
    }

    package var riscURL: String { url + "/google" }
    package var riscConfigurationURL: String { url + "/google/.well-known/risc-configuration" }

    /// Registers a service account of the project with the public half of one of its keys.
    ///
    /// - Parameter hasRole: whether it may manage the stream.
    package func registerServiceAccount(
        _ email: String, keyID: String, _ key: RSAPrivateKey, hasRole: Bool = true
    ) async throws {
        try await control("google/service-accounts") { writer in
            writer.member("email", email)
            writer.member("keyId", keyID)
            writer.member("role", hasRole)
            writer.object("publicKey") { writer in
                writer.member("kty", "RSA")
                writer.member("n", Base64URL.encode(key.modulus))
                writer.member("e", Base64URL.encode(key.exponent))
            }
        }
    }

    package func revokeServiceAccountKey(_ email: String, keyID: String) async throws {
        try await control("google/service-accounts") { writer in
            writer.member("email", email)
            writer.member("keyId", keyID)
            writer.member("revoked", true)
        }
    }

    /// Sets the domains that events may be sent to, subdomains included; loopback needs none.
    package func authorizeDomains(_ domains: [String]) async throws {
        try await control("google/authorized-domains") { $0.member("domains", domains) }
    }

    package func eventStream() async throws -> EventStream {
        let answer = try await control("google/stream")
        return EventStream(
            url: answer["url"]?.string, eventTypes: answer["eventTypes"]?.elements?.compactMap(\.string),
            isEnabled: answer["enabled"]?.bool,
            verifications: (answer["verifications"]?.elements ?? []).map { item in
                StreamVerification(state: item["state"]?.string, delivery: item["delivery"].map(Self.delivery))
            })
    }
}
