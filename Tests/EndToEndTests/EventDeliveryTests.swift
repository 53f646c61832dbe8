import JOSE
import JSON
import OpenSSL
import Postgres
import TestSupport
import Testing

/// The answers to the senders of events, over HTTP.
@Suite(.limitedConcurrency, .timeLimit(.minutes(30))) struct EventDeliveryTests {
    var world: EventWorld { .current }

    /// A token that is no event of the provider's, and the reason of its refusal.
    struct Refused: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let reason: TokenRejection
        /// RFC 8935 §2.4.
        let error: String
        let token: @Sendable (_ isApple: Bool) throws -> String

        init(
            _ name: String, _ reason: TokenRejection, _ error: String,
            _ token: @escaping @Sendable (_ isApple: Bool) throws -> String
        ) {
            (testDescription, self.reason, self.error) = (name, reason, error)
            self.token = token
        }

        static func event(_ isApple: Bool, _ changes: [(String, TokenMint.Literal?)] = []) -> TokenMint.Members {
            isApple
                ? EventWorld.appleEvent("consent-revoked", of: "kim", id: "bad", changes)
                : EventWorld.googleEvent("sessions-revoked", of: "kim", id: "bad", changes)
        }

        /// An event of which one claim is different, or absent.
        private static func changed(
            _ claim: String, _ value: TokenMint.Literal?
        ) -> @Sendable (_ isApple: Bool) throws -> String {
            { try EventWorld.signed(Refused.event($0, [(claim, value)])) }
        }

        static let all: [Refused] = [
            .init("nothing", .malformed, "invalid_request") { _ in "" },
            .init("no token", .malformed, "invalid_request") { _ in "a.b.c" },
            .init("of another's key", .signatureMismatch, "invalid_key") { isApple in
                try EventWorld.signed(event(isApple), by: TokenMint.otherSigner)
            },
            .init("of HS256", .algorithmRejected, "invalid_key") { isApple in
                try EventWorld.signed(event(isApple), header: TokenMint.shared.header(.rs256).with("alg", "HS256"))
            },
            .init("of another issuer", .issuerRejected, "invalid_issuer", changed("iss", "https://evil.example")),
            .init("of the other provider", .issuerRejected, "invalid_issuer") { try EventWorld.signed(event(!$0)) },
            .init("for another audience", .audienceRejected, "invalid_audience", changed("aud", "com.example.other")),
            .init("without an id", .claimMissing, "invalid_request", changed("jti", nil)),
            .init("of tomorrow", .notYetValid, "invalid_request") { isApple in
                try EventWorld.signed(event(isApple, [("iat", .integer(EventWorld.now + 86_400))]))
            },
            .init("with no events", .claimInvalid, "invalid_request", changed("events", .raw("{}"))),
            .init("that is an ID token", .claimMissing, "invalid_request") { isApple in
                try EventWorld.signed(isApple ? EventWorld.appleClaims("kim") : EventWorld.googleClaims("kim"))
            },
        ]
    }

    @Test(.fixture(EventWorld.self))
    func `what is no event of the provider's gets 400, each in its provider's form, and nothing is stored`()
        async throws
    {
        let kim = try await world.appleAccount("kim")
        for refused in Refused.all {
            let name = refused.testDescription
            let apple = try await world.service.deliverAppleEvent(refused.token(true))
            apple.expectRefusal(400, "invalid_request", "\(name)")
            #expect(apple.header("Content-Type") == "application/problem+json")
            #expect(!apple.text.contains(refused.reason.rawValue), "\(name)")
            let line = try await world.service.logged(try apple.text("requestId"))
            #expect(line["reason"]?.string == refused.reason.rawValue, "\(name)")

            let google = try await world.service.deliverGoogleEvent(refused.token(false))
            #expect(google.status == 400, "\(name)")
            #expect(google.header("Content-Type") == "application/json")
            #expect(google.header("Content-Language") == "en")
            #expect(google.json?["err"]?.string == refused.error, "\(name)")
            #expect(google.json?["description"]?.string?.isEmpty == false)
            #expect(google.json?.members?.count == 2)
        }
        // Our own access token is no provider's event, although it belongs to a known person.
        let own = try kim.bearer()
        #expect(try await world.service.deliverAppleEvent(own).status == 400)
        #expect(try await world.service.deliverGoogleEvent(own).status == 400)
        for body in ["", "{", "[]", "null", "{}", #"{"payload":5}"#, #"{"payload":null}"#, #"{"payload":{}}"#] {
            let answer = try await world.service.post("/v1/events/apple", body: Array(body.utf8))
            answer.expectRefusal(400, "invalid_request", "\(body)")
        }
        #expect(try await world.count("SELECT count(*) FROM provider_events") == 0)
        #expect(try await world.service.isOpen(kim))
    }

    @Test(.fixture(EventWorld.self))
    func `an event is taken whatever its media type says, once however often it comes`() async throws {
        let apple = try EventWorld.signed(EventWorld.appleEvent("email-disabled", of: "kim", id: "a1"))
        let google = try EventWorld.signed(EventWorld.googleEvent("sessions-revoked", of: "kim", id: "g1"))
        for type in [
            "application/json", "application/secevent+jwt", "application/jwt", "text/plain; charset=utf-8",
            "application/x-www-form-urlencoded", "nonsense",
        ] {
            let first = try await world.service.deliverAppleEvent(apple, type: type)
            #expect(first.status == 200, "\(type)")
            #expect(first.body == [])
            let second = try await world.service.deliverGoogleEvent(google, type: type)
            #expect(second.status == 202, "\(type)")
            #expect(second.body == [])
        }
        #expect(try await world.count("SELECT count(*) FROM provider_events") == 2)
    }

    @Test(.fixture(EventWorld.self)) func `a body of 64 KiB is read and one byte more is not`() async throws {
        for path in ["/v1/events/apple", "/v1/events/google"] {
            let fitting = [UInt8](repeating: UInt8(ascii: "a"), count: 65_536)
            #expect(try await world.service.post(path, body: fitting).status == 400)
            try await world.service.post(path, body: fitting + [UInt8(ascii: "a")]).expecting(413)
        }
    }

    @Test(.fixture { try await EventWorld.run(withKeys: false, $0) })
    func `without the keys the sender is asked to retry, and a retry succeeds`() async throws {
        let apple = try EventWorld.signed(EventWorld.appleEvent("email-disabled", of: "kim", id: "a1"))
        let google = try EventWorld.signed(EventWorld.googleEvent("sessions-revoked", of: "kim", id: "g1"))
        for answer in [
            try await world.service.deliverAppleEvent(apple), try await world.service.deliverGoogleEvent(google),
        ] { answer.expectRefusal(503, "provider_unavailable", retryAfter: 1...) }
        #expect(try await world.count("SELECT count(*) FROM provider_events") == 0)
        world.keyServer.becomeAvailable()
        try await eventually("the events") {
            let statuses = [
                try await world.service.deliverAppleEvent(apple).status,
                try await world.service.deliverGoogleEvent(google).status,
            ]
            return statuses == [200, 202]
        }
        #expect(try await world.count("SELECT count(*) FROM provider_events") == 2)
    }

    /// Whether it is one of the provider's new keys is known by a set that was fetched for it, else unknown until one may
    /// be fetched.
    @Test(.fixture(EventWorld.self))
    func `an event of an unknown key is refused by new keys, and retried while they may not be fetched`() async throws {
        let header = try TokenMint.shared.header(.rs256).with("kid", "unknown")
        let apple = try EventWorld.signed(Refused.event(true), header: header)
        let google = try EventWorld.signed(Refused.event(false), header: header)
        for deliver in [
            { try await world.service.deliverAppleEvent(apple) },
            { try await world.service.deliverGoogleEvent(google) },
        ] {
            #expect(try await deliver().expecting(400).retryAfter == nil)
            try await deliver().expectRefusal(503, "provider_unavailable", retryAfter: 1...60)
        }
    }

    @Test func `a provider that is not offered takes no events`() async throws {
        try await EventWorld.run(["google.clientIds": Countersign.unset, "google.keysUrl": Countersign.unset]) {
            world in
            let token = try EventWorld.signed(EventWorld.googleEvent("sessions-revoked", of: "kim", id: "g1"))
            try await world.service.deliverGoogleEvent(token).expectRefusal(404, "not_found")
            let apple = try EventWorld.signed(EventWorld.appleEvent("email-disabled", of: "kim", id: "a1"))
            #expect(try await world.service.deliverAppleEvent(apple).status == 200)
        }
    }

    // MARK: What Apple has really sent

    @Test(arguments: try Vectors.realAppleNotifications)
    func `a real notification is accepted once by its audience, and signs nobody in`(
        notification: Vectors.RealToken
    ) async throws {
        let keys = try Vectors.keySet(named: #require(notification.keySets.first))
        try await EventWorld.run(["apple.clientIds": notification.audience], keys: keys) { world in
            var tampered = Array(notification.token.utf8)
            let index = try #require(tampered.firstIndex(of: UInt8(ascii: "."))) + 100
            tampered[index] = tampered[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            try await world.service.deliverAppleEvent(String(decoding: tampered, as: UTF8.self)).expecting(400)
            #expect(try await world.service.signInWithApple(notification.token).code == "invalid_token")
            #expect(try await world.service.deliverGoogleEvent(notification.token).status == 400)
            #expect(try await world.count("SELECT count(*) FROM provider_events") == 0)

            for _ in 1...2 { #expect(try await world.service.deliverAppleEvent(notification.token).status == 200) }
            try await eventually("the end of the event") {
                try await world.count("SELECT count(*) FROM provider_events WHERE status = 'unknown_subject'") == 1
            }
            #expect(try await world.service.deliverAppleEvent(notification.token).status == 200)
            #expect(try await world.count("SELECT count(*) FROM provider_events") == 1)
        }
    }
}
