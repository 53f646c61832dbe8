import Accounts
import Curl
import JOSE
import Providers
import Synchronization
import TestSupport

/// The time around which the tests make their tokens: 2026-01-01T00:00:00Z.
let referenceTime: Int64 = 1_767_225_600

enum AppleFixture {
    static let clientID: ProviderClientID = "com.example.lamp"
    static let subject = "001234.5d0c0ffee0ddf00d0ba5eba110ca7e55.0719"
    static let rawNonce = "k3Vq9Zt1wR7mX2bN8cLp"
    static let hashedNonce = "6f5880be8e60c352ddb5c27533ee2d58784e6f446d5bb0016cfa8aa7208af1ea"

    /// The claims of a token as iOS apps bring it: a day's lifetime, a relay address.
    static let claims: TokenMint.Members = [
        "iss": "https://appleid.apple.com", "aud": .string(clientID.text), "exp": .integer(referenceTime + 86_400),
        "iat": .integer(referenceTime), "sub": .string(subject), "nonce": .string(hashedNonce),
        "email": "q7x2m4k9@privaterelay.appleid.com", "email_verified": true, "is_private_email": true,
        "auth_time": .integer(referenceTime - 5), "nonce_supported": true,
    ]

    static func provider(
        teams: [AppleProvider.Configuration.Team] = [.init(clientIDs: [clientID, "com.example.lamp.web"])],
        _ adjust: (inout AppleProvider.Configuration) -> Void = { _ in }
    ) throws -> AppleProvider {
        var configuration = AppleProvider.Configuration(teams: teams)
        adjust(&configuration)
        return AppleProvider(configuration: configuration, keys: .fixed(try TokenMint.shared.keySet))
    }
}

enum GoogleFixture {
    static let clientID: ProviderClientID = "1234567890-web0example.apps.googleusercontent.com"
    static let party: ProviderClientID = "1234567890-ios0example.apps.googleusercontent.com"
    static let subject = "109876543210987654321"

    static let claims: TokenMint.Members = [
        "iss": "https://accounts.google.com", "azp": .string(party.text), "aud": .string(clientID.text),
        "sub": .string(subject), "hd": "example.com", "email": "kim@example.com", "email_verified": true,
        "nonce": "made-up-by-the-sdk", "iat": .integer(referenceTime), "exp": .integer(referenceTime + 3_600),
    ]

    static func provider(_ adjust: (inout GoogleProvider.Configuration) -> Void = { _ in }) throws -> GoogleProvider {
        var configuration = GoogleProvider.Configuration(clientIDs: [clientID, party])
        adjust(&configuration)
        return GoogleProvider(configuration: configuration, keys: .fixed(try TokenMint.shared.keySet))
    }
}

extension IdentityProvider {
    /// Signs the claims and verifies the token.
    func judge(
        _ claims: TokenMint.Members, nonce: String? = nil, clientID: ProviderClientID? = nil,
        at time: Int64 = referenceTime
    ) async throws -> VerifiedIdentity {
        try await credential(
            TokenMint.shared.token(claims), postedNonce: nonce, expectedClientID: clientID, at: Timestamp(seconds: time)
        ).identity
    }
}

/// A change of one claim and the reason of its refusal.
struct Change: Sendable, CustomStringConvertible {
    let name: String
    let value: TokenMint.Literal?
    let reason: TokenRejection

    init(_ name: String, _ value: TokenMint.Literal?, _ reason: TokenRejection) {
        self.name = name
        self.value = value
        self.reason = reason
    }

    var description: String { "\(name): \(value?.text ?? "absent")" }
}

/// A fault of a provider's server, and the word by which it is reported.
struct ServerFault: Sendable, CustomStringConvertible {
    let description: String
    let report: String
    let steps: [LoopbackServer.Step]

    init(_ description: String, _ report: String, _ steps: LoopbackServer.Step...) {
        self.description = description
        self.report = report
        self.steps = steps
    }

    /// That short one where the fault is that nothing comes, and more than a busy machine needs elsewhere.
    func timeout(_ short: Duration) -> Duration { report.hasPrefix("timed") ? short : .seconds(50) }
}

/// The real fetcher with a record of the requests that it gets, which it changes before it sends them.
final class RecordingFetcher: Fetcher {
    private let fetcher: CurlFetcher
    private let change: @Sendable (inout FetchRequest) -> Void
    private let seen = Mutex<[FetchRequest]>([])

    init(_ fetcher: CurlFetcher, change: @escaping @Sendable (inout FetchRequest) -> Void = { _ in }) {
        self.fetcher = fetcher
        self.change = change
    }

    var requests: [FetchRequest] { seen.withLock(\.self) }

    func fetch(_ request: FetchRequest) async throws(FetchError) -> FetchResponse {
        seen.withLock { $0.append(request) }
        var request = request
        change(&request)
        return try await fetcher.fetch(request)
    }
}
