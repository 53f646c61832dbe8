import Curl
import JOSE
import JSON
import Primitives
import TestSupport
import Testing

/// The decoded parts of a token, unverified, to inspect what the sandbox wrote.
struct TokenParts {
    let header: JSONValue
    let claims: JSONValue
    let signature: [UInt8]

    init(_ token: String) throws {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false).map { Base64URL.decode(String($0)) }
        try #require(parts.count == 3)
        header = try JSONValue(parsing: try #require(parts[0]))
        claims = try JSONValue(parsing: try #require(parts[1]))
        signature = try #require(parts[2])
    }

    var claimNames: [String] { claims.members?.map(\.name) ?? [] }
}

extension Sandbox {
    func get(_ path: String) async throws -> FetchResponse {
        try await fetcher.fetch(FetchRequest(url: url + path, maximumBodyBytes: 1 << 20).uncontended)
    }

    func keySet(_ provider: Provider) async throws -> KeySet {
        try KeySet(parsing: try await get(provider == .apple ? "/apple/auth/keys" : "/google/oauth2/v3/certs").body)
    }

    /// The answer to a control request with any body: status, error code and message.
    func refusal(_ path: String, _ body: String) async throws -> (status: Int, error: String?, message: String?) {
        let response = try await fetcher.fetch(
            FetchRequest(.post, url: "\(url)/control/\(path)", body: Array(body.utf8)).uncontended)
        let answer = try JSONValue(parsing: response.body)
        return (response.status, answer["error"]?.string, answer["message"]?.string)
    }
}
