import Accounts
import Curl
import Foundation
import JOSE
import Logging
import OpenSSL
import Primitives
import Providers
import TestSupport
import Testing

/// The values that the tests send to a provider's token endpoint, and those that it answers with.
enum EndpointFixture {
    static let teamID = "TEAM123456"
    static let keyID = "AB1234EFG7"
    static let googleSecret = "GOCSPX-canary+secret/="
    static let googleProject = GoogleTokenEndpoint.Configuration.Project(
        clientIDs: [GoogleFixture.clientID, GoogleFixture.party], serverClientID: GoogleFixture.clientID,
        serverClientSecret: googleSecret)
    static let accessToken = "a11ce0ffee.0.mqrs.canary-access-token"
    static let refreshToken: ProviderRefreshToken = "1//0gCanary.Refresh+Token&="

    static func clientID(_ provider: Provider) -> ProviderClientID {
        provider == .apple ? AppleFixture.clientID : GoogleFixture.clientID
    }

    /// The key that identifies a refused client in our log.
    static func keyID(_ provider: Provider) -> String { provider == .apple ? keyID : GoogleFixture.clientID.text }

    static func code(_ provider: Provider) -> AuthorizationCode {
        let text =
            provider == .apple
            ? "c0ffee11223344556677889900aabbccd.0.rtzx.ExampleCodeTail" : "4/0AbCdEfGh_canary+code&code=%2F"
        return AuthorizationCode(text: text, clientID: clientID(provider))
    }

    /// The claims of a token as the endpoint makes it: for the client that asked, and bound to the access token beside it.
    static func claims(_ provider: Provider) -> TokenMint.Members {
        let claims =
            provider == .apple
            ? AppleFixture.claims : GoogleFixture.claims.with("azp", .string(GoogleFixture.clientID.text))
        return claims.with("at_hash", .string(hash(of: accessToken)))
    }

    static func hash(of text: String) -> String { Base64URL.encode(Array(SHA256.hash(Array(text.utf8)).prefix(16))) }

    /// What an answer with the fixture's claims leaves when it is refused.
    static func strayGrant(_ provider: Provider) -> StrayGrant? {
        let subject = provider == .apple ? AppleFixture.subject : GoogleFixture.subject
        return ProviderSubject(subject).map { subject in
            StrayGrant(
                owner: IdentityKey(provider: provider, realm: .main, subject: subject), refreshToken: refreshToken)
        }
    }

    /// The refusal of an ID token of the fixture's, and what it leaves.
    ///
    /// - Parameter owner: the provider by whose signature the owner is known; `nil` when nothing says who it is.
    static func rejected(_ reason: TokenRejection, _ owner: Provider?) -> EndpointRefusal {
        .credentialRejected(CredentialRefusal(reason), leaving: owner.flatMap(strayGrant))
    }

    /// A whole answer to a code.
    static func answer(_ provider: Provider, _ claims: TokenMint.Members? = nil) throws -> TokenMint.Members {
        let token = try TokenMint.shared.token(claims ?? self.claims(provider))
        return [
            "access_token": .string(accessToken), "token_type": "Bearer", "expires_in": 3600,
            "refresh_token": .string(refreshToken.text), "id_token": .string(String(decoding: token, as: UTF8.self)),
        ]
    }
}

/// A provider's endpoints on loopback, one script for all of them, and our client of them.
struct EndpointServer {
    let provider: Provider
    let server: LoopbackServer
    let script: KeyServer.Script
    private let url: String
    let log = RecordingLog()
    let fetcher: RecordingFetcher

    /// - Parameter url: the base URL that our client uses instead.
    init(
        _ provider: Provider, fetcher: CurlFetcher, answering steps: [LoopbackServer.Step], at url: String? = nil
    ) throws {
        let script = KeyServer.Script(steps)
        self.provider = provider
        self.script = script
        self.fetcher = RecordingFetcher(fetcher)
        server = try LoopbackServer { _ in script.steps }
        self.url = url ?? server.url
    }

    var logger: Logger { log.logger }

    func apple(_ rules: AppleProvider? = nil, clientIDs: [ProviderClientID] = [AppleFixture.clientID]) throws
        -> AppleTokenEndpoint
    {
        AppleTokenEndpoint(
            provider: try rules ?? AppleFixture.provider(),
            configuration: .init(
                teams: [
                    .init(
                        teamID: EndpointFixture.teamID, keyID: EndpointFixture.keyID,
                        privateKey: try TokenMint.shared.p256, clientIDs: clientIDs)
                ],
                tokenURL: "\(url)/auth/token", revokeURL: "\(url)/auth/revoke",
                userMigrationURL: "\(url)/auth/usermigrationinfo"),
            fetcher: fetcher, logger: logger)
    }

    func google(
        _ rules: GoogleProvider? = nil,
        projects: [GoogleTokenEndpoint.Configuration.Project] = [EndpointFixture.googleProject]
    ) throws -> GoogleTokenEndpoint {
        GoogleTokenEndpoint(
            provider: try rules ?? GoogleFixture.provider(),
            configuration: .init(projects: projects, tokenURL: "\(url)/token", revokeURL: "\(url)/revoke"),
            fetcher: fetcher, logger: logger)
    }

    /// - Parameter keys: the provider's, the fixture's if nil.
    func endpoint(keys: KeySource? = nil) throws -> any TokenEndpoint {
        let keys = try keys ?? .fixed(TokenMint.shared.keySet)
        switch provider {
        case .apple:
            return try apple(AppleProvider(configuration: AppleFixture.provider().configuration, keys: keys))
        case .google:
            return try google(GoogleProvider(configuration: GoogleFixture.provider().configuration, keys: keys))
        }
    }

    // MARK: Calls of our client, with the fixture's values

    @discardableResult
    func exchange(
        nonce: NonceExpectation = .proven, timeout: Duration = .seconds(50), keys: KeySource? = nil
    ) async throws -> ExchangedCode {
        try await endpoint(keys: keys).exchange(
            EndpointFixture.code(provider), nonce: nonce, timeout: timeout, at: Timestamp(seconds: referenceTime))
    }

    func revoke() async throws {
        try await endpoint().revoke(
            EndpointFixture.refreshToken, of: EndpointFixture.clientID(provider), at: Timestamp(seconds: referenceTime))
    }

    func check() async throws {
        try await endpoint().check(
            EndpointFixture.refreshToken, of: EndpointFixture.clientID(provider), at: Timestamp(seconds: referenceTime))
    }

    // MARK: What arrived

    var requests: [LoopbackServer.Request] { server.history.requests }

    /// The one form that arrived.
    func form(_ location: SourceLocation = #_sourceLocation) throws -> ReceivedForm {
        try #require(requests.count == 1, sourceLocation: location)
        return try ReceivedForm(requests[0])
    }

    /// Checks that none of the fixture's secrets is in the log, nor in the descriptions of a refusal.
    func expectSilence(_ refusal: EndpointRefusal? = nil, _ location: SourceLocation = #_sourceLocation) throws {
        var texts = log.lines
        if let refusal { texts += ["\(refusal)", String(reflecting: refusal)] }
        let secret = try apple().clientSecret(for: AppleFixture.clientID, at: Timestamp(seconds: referenceTime))
        let secrets = [
            EndpointFixture.code(provider).text, EndpointFixture.refreshToken.text, EndpointFixture.accessToken,
            EndpointFixture.googleSecret, "canary", String(secret.prefix(40)),
        ]
        for text in texts {
            for secret in secrets { #expect(!text.contains(secret), sourceLocation: location) }
        }
    }
}

/// A form as it arrived, read by Foundation's decoder; a field may occur twice.
struct ReceivedForm {
    let target: String
    let fields: [(name: String, value: String)]

    init(_ request: LoopbackServer.Request) throws {
        #expect(request.method == "POST")
        #expect(request.header("Content-Type") == "application/x-www-form-urlencoded")
        #expect(request.header("Accept") == "application/json")
        target = request.target
        fields = try String(decoding: request.body, as: UTF8.self).split(separator: "&").map { field in
            let parts = field.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            try #require(parts.count == 2)
            #expect(!field.contains("+"))
            return (
                try #require(String(parts[0]).removingPercentEncoding),
                try #require(String(parts[1]).removingPercentEncoding)
            )
        }
    }

    /// `name=value`, sorted.
    var lines: [String] { fields.map { "\($0.name)=\($0.value)" }.sorted() }

    func value(_ name: String) throws -> String {
        let values = fields.filter { $0.name == name }.map(\.value)
        try #require(values.count == 1)
        return values[0]
    }
}

/// Runs `body` with a provider's endpoints that answer with these steps.
func withEndpoint(
    _ provider: Provider, answering steps: LoopbackServer.Step..., body: (EndpointServer) async throws -> Void
) async throws {
    try await withFetcher { fetcher in try await body(EndpointServer(provider, fetcher: fetcher, answering: steps)) }
}
