import Postgres
import TestSupport
import Testing

/// The limits of guessing, as real processes enforce them. A password check takes a third of a second, or several on a
/// busy machine, so most limits here are lower than the default, and are refilled slowly.
@Suite(.limitedConcurrency, .timeLimit(.minutes(30))) struct GuessingTests {
    private static let perAccount: Countersign.Settings = [
        "limits.passwordPerAccount": "2/15min", "limits.guessPerNetwork": "0",
    ]
    private static let perNetwork: Countersign.Settings = [
        "limits.passwordPerAccount": "0", "limits.guessPerNetwork": "3/15min",
    ]

    private static func guess(
        _ email: String, at service: Countersign, forwardedFor: String? = nil
    ) async throws -> Answer {
        try await service.post(
            "/v1/sign-in/password", ["email": .string(email), "password": "a wrong password"],
            headers: forwardedFor.map { [("X-Forwarded-For", $0)] } ?? [])
    }

    private static func expectThrottled(
        _ answer: Answer, within seconds: Int, sourceLocation: SourceLocation = #_sourceLocation
    ) { answer.expectRefusal(429, "rate_limited", retryAfter: 1...seconds, sourceLocation: sourceLocation) }

    @Test func `a guess beyond the limit is refused alike, for a known and for an unknown address`() async throws {
        try await World.run(Self.perAccount) { world in
            #expect(try await world.register("kim@example.com").status == 201)
            var refusals: Set<String> = []
            for email in ["kim@example.com", "nobody@example.com"] {
                for _ in 0..<2 { #expect(try await Self.guess(email, at: world.service).code == "invalid_credentials") }
                let refused = try await Self.guess(email, at: world.service)
                Self.expectThrottled(refused, within: 450)
                refusals.insert(refused.withoutRequestID.replacing(/retry-after: \d+/.ignoresCase(), with: ""))
            }
            #expect(refusals.count == 1, "\(refusals)")
            let right = try await world.signIn("kim@example.com", password: World.password)
            Self.expectThrottled(right, within: 450)
        }
    }

    /// The number of networks from which somebody has guessed. The allowances of wide networks and of the service are full
    /// again, and swept, within a second or two.
    private static func networks(in world: World) async throws -> Int64 {
        try await world.count("SELECT count(*) FROM rate_limits WHERE full_at > now() + interval '1 minute'")
    }

    @Test func `what a client says of its own address moves it to no other network`() async throws {
        try await World.run(Self.perNetwork) { world in
            for index in 0..<3 {
                let answer = try await Self.guess(
                    "kim-\(index)@example.com", at: world.service, forwardedFor: "203.0.\(index).1")
                #expect(answer.status == 401)
            }
            let answer = try await Self.guess("ada@example.com", at: world.service, forwardedFor: "198.51.100.1")
            Self.expectThrottled(answer, within: 300)
            #expect(try await Self.networks(in: world) == 1)
        }
    }

    @Test func `behind a trusted proxy a network is what the proxy says, in whatever spelling`() async throws {
        let settings = Self.perNetwork.merging(["server.trustedProxies": "127.0.0.1"]) { _, own in own }
        try await World.run(settings) { world in
            let addresses = ["2001:db8:1:2::1", "2001:DB8:1:2:ffff:ffff:ffff:ffff", "2001:0db8:0001:0002:0:0:0:9"]
            for (index, address) in addresses.enumerated() {
                let answer = try await Self.guess("kim-\(index)@example.com", at: world.service, forwardedFor: address)
                #expect(answer.status == 401)
            }
            let elsewhere = "203.0.113.7, 2001:db8:1:2:abcd::77"
            for address in ["2001:db8:1:2::4", "[2001:db8:1:2::5]:4711", elsewhere] {
                let answer = try await Self.guess("ada@example.com", at: world.service, forwardedFor: address)
                Self.expectThrottled(answer, within: 300)
            }
            // Neighbours, and an IPv4 network in two spellings.
            for address in ["2001:db8:1:3::1", "198.51.100.1", "::ffff:198.51.100.200"] {
                #expect(try await Self.guess("ada@example.com", at: world.service, forwardedFor: address).status == 401)
            }
            #expect(try await Self.networks(in: world) == 3)
        }
    }
}
