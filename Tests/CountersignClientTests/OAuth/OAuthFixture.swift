import Foundation

@testable import CountersignClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Sends what is for https servers to a scripted one, over real sockets, and records where it was to go.
struct DivertedTransport: HTTPTransport {
    let server: ScriptedServer
    private let destinations = Locked<[URL]>([])
    private let transport = URLSessionTransport()

    init(_ server: ScriptedServer) { self.server = server }

    var sent: [URL] { destinations.withLock { $0 } }

    func send(_ request: URLRequest) async throws -> (Data, HTTPURLResponse) {
        var request = request
        let url = try OAuthFixture.url(of: request)
        destinations.withLock { $0.append(url) }
        request.url = server.url(url.path)
        return try await transport.send(request)
    }
}

/// Sessions with a scripted token endpoint.
enum OAuthFixture {
    static let configuration = OAuthConfiguration(
        authorizationEndpoint: url("https://idp.example/authorize"), tokenEndpoint: url("https://idp.example/token"))
    static let api = URLRequest(url: url("https://api.example/items"))

    static func url(_ text: String) -> URL { URL(string: text) ?? URL(fileURLWithPath: "/") }

    static func url(of request: URLRequest) throws -> URL {
        guard let url = request.url else { throw SessionError.insecureRequest }
        return url
    }

    /// Tokens that live until `lifetime` after the clock's start; nil: not known.
    static func tokens(
        _ number: Int = 1, lifetime: Double? = 900, refresh: String? = Fixture.refresh(1)
    ) -> OAuthTokens {
        OAuthTokens(
            accessToken: Fixture.access(number), refreshToken: refresh, scope: "email",
            expiresAt: lifetime.map { TestClock.start.addingTimeInterval($0) })
    }

    /// What a token endpoint grants.
    static func grant(_ number: Int, _ more: String = #","expires_in":3600"#, rotates: Bool = true) -> String {
        let refresh = rotates ? #","refresh_token":"\#(Fixture.refresh(number))""# : ""
        return #"{"access_token":"\#(Fixture.access(number))","token_type":"Bearer"\#(refresh)\#(more)}"#
    }

    /// An ID token of nobody's, for who reads it without verifying.
    static func idToken(_ claims: String) -> String {
        let head = Base64URL.encode(Data(#"{"alg":"RS256"}"#.utf8))
        return "\(head).\(Base64URL.encode(Data("{\(claims)}".utf8))).c2ln"
    }

    /// Those that every ID token has: issued to `app` at the clock's start, for an hour.
    static let claims = #""iss":"https://idp.example","sub":"s-1","aud":"app","exp":1795237200,"iat":1795233600"#

    static func bearer(_ request: URLRequest) -> String? { request.value(forHTTPHeaderField: "Authorization") }

    /// What a store has of a session.
    static func stored(_ store: any SessionStore) throws -> StoredOAuthSession? {
        try StoredOAuthSession.read(try store.load())
    }

    static func document(_ tokens: OAuthTokens, clientID: String = "app", needsRefresh: Bool? = nil) throws -> Data {
        try StoredForm.write(
            StoredOAuthSession(
                configuration: configuration, clientID: clientID, clientSecret: nil, tokens: tokens,
                needsRefresh: needsRefresh))
    }
}

extension ScriptedServer {
    func oauthSession(
        _ tokens: OAuthTokens = OAuthFixture.tokens(lifetime: -1), clientID: String = "app", secret: String? = nil,
        store: any SessionStore = InMemorySessionStore(), clock: TestClock = TestClock(),
        configuration: OAuthConfiguration = OAuthFixture.configuration,
        additional: @escaping @Sendable () async -> [String: String] = { [:] }
    ) -> OAuthSession {
        OAuthSession(
            configuration: configuration, clientID: clientID, clientSecret: secret, tokens: tokens,
            store: store, transport: DivertedTransport(self), additionalRefreshParameters: additional,
            now: { clock.now })
    }

    /// A session of another process on the same store.
    func restored(_ store: any SessionStore, clock: TestClock = TestClock()) throws -> OAuthSession? {
        try OAuthSession(restoringFrom: store, transport: DivertedTransport(self), now: { clock.now })
    }
}
