internal import Foundation

/// The files under `Tests/Vectors`: tokens, key sets and documents from outside of this project.
///
/// They are read with Foundation, so that the JSON reader under test does not read its own test data.
package enum Vectors {
    /// A token that a provider really signed; long expired, its subject pseudonymous.
    package struct RealToken: Decodable, Sendable, CustomStringConvertible {
        package let name: String
        package let issuer: String
        package let keyID: String
        package let audience: String
        package let issuedAt: Int64
        package let expiresAt: Int64
        /// Files under `jwks` that hold its key.
        package let keySets: [String]
        package let claims: Claims
        package let token: String

        package var description: String { name }

        private enum CodingKeys: String, CodingKey {
            case name
            case issuer
            case keyID = "kid"
            case audience = "aud"
            case issuedAt = "iat"
            case expiresAt = "exp"
            case keySets = "verified_with"
            case claims
            case token
        }

        /// The claims as another decoder read them.
        package struct Claims: Decodable, Sendable {
            package let sub: String?
            package let email: String?
            package let jti: String?
        }
    }

    package enum Provider: String, Sendable, CaseIterable {
        case apple
        case google
    }

    /// A key set as it was published on one day.
    package struct DatedKeySet: Sendable, CustomStringConvertible {
        package let name: String
        package let document: [UInt8]

        package var description: String { name }
    }

    package static var realIDTokens: [RealToken] {
        get throws { try decoded("real-id-tokens.json") }
    }

    package static var realAppleNotifications: [RealToken] {
        get throws { try decoded("real-apple-notifications.json") }
    }

    /// The bytes of a file under `jwks`.
    package static func keySet(named name: String) throws -> [UInt8] { try bytes("jwks/\(name)") }

    /// The key sets of 2024 in the order in which they were published.
    package static func keySetHistory(_ provider: Provider) throws -> [DatedKeySet] {
        try FileManager.default.contentsOfDirectory(atPath: folder.appending(path: "jwks").path)
            .filter { $0.hasPrefix("\(provider.rawValue)_2024-") }
            .sorted()
            .map { DatedKeySet(name: $0, document: try keySet(named: $0)) }
    }

    /// File name → document, such as `test_parsing/n_array_comma_after_close.json`.
    package static var jsonTestSuite: [String: [UInt8]] {
        get throws {
            let files: [String: Data] = try decoded("json-test-suite.json")
            return files.mapValues { [UInt8]($0) }
        }
    }

    /// A file under `rfc`.
    package static func rfc<Value: Decodable>(_ name: String, as type: Value.Type = Value.self) throws -> Value {
        try decoded("rfc/\(name)")
    }

    /// The bytes of any file under `Tests/Vectors`.
    package static func bytes(_ path: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: folder.appending(path: path)))
    }

    private static func decoded<Value: Decodable>(_ path: String) throws -> Value {
        try JSONDecoder().decode(Value.self, from: Data(try bytes(path)))
    }

    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Vectors")
}
