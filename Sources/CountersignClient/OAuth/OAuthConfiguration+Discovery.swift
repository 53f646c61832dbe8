public import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

extension OAuthConfiguration {
    /// Reads `<issuer>/.well-known/openid-configuration` (OpenID Connect Discovery 1.0 §4).
    ///
    /// - Throws: `transient` for no network, 429 and 5xx; `insecureRequest`; `refused("invalid_issuer", 0)`;
    ///   `refused("discovery_failed", status)` for another status, a redirect too; `refused("invalid_discovery", 200)`
    ///   for a document that is incomplete, of another issuer, or names endpoints that are not https.
    public static func discover(
        issuer: URL, transport: any HTTPTransport = URLSessionTransport()
    ) async throws(SessionError) -> Self {
        try SecureHosts.checkScheme(issuer)
        let asked = issuer.absoluteString.withoutSlash
        guard issuer.query == nil, issuer.fragment == nil,
            let url = URL(string: asked + "/.well-known/openid-configuration")
        else { throw .refused(code: "invalid_issuer", status: 0) }
        var request = URLRequest(url: url)
        request.setValue("application/json", forHTTPHeaderField: "Accept")
        request.setValue("Countersign-Swift/1", forHTTPHeaderField: "User-Agent")
        let answer = try await transport.exchange(request)
        switch answer.status {
        case 200: break
        case 429, 500...599: throw .transient(retryAfter: answer.retryAfter, requestID: answer.requestID)
        default: throw .refused(code: "discovery_failed", status: answer.status, requestID: answer.requestID)
        }
        guard let configuration = read(answer.body, issuer: asked) else {
            throw .refused(code: "invalid_discovery", status: 200)
        }
        return configuration
    }

    /// §3 names what a document must have.
    private static func read(_ document: Data, issuer asked: String) -> Self? {
        let members = JSONValue.object(in: document) ?? [:]
        func endpoint(_ name: String) -> URL? {
            guard let url = members[name]?.string.flatMap(URL.init(string:)),
                (try? SecureHosts.checkScheme(url)) != nil
            else { return nil }
            return url
        }
        let lists = ["response_types_supported", "subject_types_supported", "id_token_signing_alg_values_supported"]
        guard let issuer = members["issuer"]?.string, isSame(issuer.withoutSlash, asked),
            let authorization = endpoint("authorization_endpoint"), let token = endpoint("token_endpoint"),
            endpoint("jwks_uri") != nil, lists.allSatisfy({ members[$0]?.array != nil })
        else { return nil }
        return Self(authorizationEndpoint: authorization, tokenEndpoint: token, issuer: URL(string: issuer))
    }
}
