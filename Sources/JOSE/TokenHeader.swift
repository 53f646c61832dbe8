import JSON
internal import OpenSSL
import Primitives

/// The validated header of a compact JWS, with its algorithm and key id.
struct TokenHeader: Sendable {
    let value: JSONValue
    let algorithm: SignatureAlgorithm
    /// The bytes of `kid`; empty when there is none.
    let keyID: [UInt8]

    init(_ value: JSONValue, _ rules: HeaderRules) throws(TokenRejection) {
        guard value.kind == .object else { throw .malformed }
        algorithm = try Self.algorithm(value["alg"], allowed: rules.allowedAlgorithms)
        // RFC 7515 §4.1.11: an extension that is not understood must be refused; we understand none. `zip` and `enc`
        // belong to encryption, `b64` to unencoded payloads (RFC 7797).
        for name in Self.refused where value[name] != nil { throw .headerRejected }
        try Self.check(type: value["typ"], rules)
        if let contentType = value["cty"] {
            guard let text = contentType.stringBytes, !MediaType.equal(text, "JWT") else { throw .headerRejected }
        }
        keyID = try Self.keyID(value["kid"], isRequired: rules.requiresKeyID)
        self.value = value
    }

    private static let refused = ["crit", "zip", "enc", "b64"]

    private static func algorithm(
        _ name: JSONValue?, allowed: [SignatureAlgorithm]
    ) throws(TokenRejection) -> SignatureAlgorithm {
        guard let name else { throw .algorithmRejected }
        for algorithm in allowed where name.isString(equalTo: algorithm.rawValue) { return algorithm }
        throw .algorithmRejected
    }

    private static func check(type: JSONValue?, _ rules: HeaderRules) throws(TokenRejection) {
        guard let type else {
            guard !rules.requiresType else { throw .headerRejected }
            return
        }
        guard let text = type.stringBytes else { throw .headerRejected }
        guard rules.allowedTypes?.contains(where: { MediaType.equal(text, $0) }) ?? true else { throw .headerRejected }
    }

    private static func keyID(_ value: JSONValue?, isRequired: Bool) throws(TokenRejection) -> [UInt8] {
        guard let value else {
            guard !isRequired else { throw .headerRejected }
            return []
        }
        guard let id = value.stringBytes, KeyID.isValid(id) else { throw .headerRejected }
        return id
    }
}

/// The requirements on the header of one kind of token.
struct HeaderRules {
    let allowedAlgorithms: [SignatureAlgorithm]
    /// Nil for any.
    let allowedTypes: [String]?
    let requiresType: Bool
    let requiresKeyID: Bool
}

/// Media types as `typ` and `cty` write them (RFC 7515 §4.1.9): compared without case, `application/` is optional.
private enum MediaType {
    static func equal(_ text: [UInt8], _ name: String) -> Bool {
        let prefix = "application/"
        let start = matches(text.prefix(prefix.utf8.count), prefix) ? prefix.utf8.count : 0
        return matches(text[start...], name)
    }

    private static func matches(_ text: ArraySlice<UInt8>, _ name: String) -> Bool {
        text.equalsIgnoringASCIICase(name.utf8)
    }
}
