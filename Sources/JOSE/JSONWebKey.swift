import JSON
internal import OpenSSL
import Primitives

/// One entry of a key set: a public key bound to one id and one algorithm (RFC 7517 §4, RFC 8725 §3.1).
struct JSONWebKey: Sendable {
    let id: [UInt8]
    let key: PublicKey

    init(id: [UInt8], key: PublicKey) {
        self.id = id
        self.key = key
    }

    init(_ entry: JSONValue) throws(RejectedKey.Reason) {
        guard entry.kind == .object else { throw .notAnObject }
        // First, so that no other fault hides it.
        for name in Self.privateMembers where entry[name] != nil { throw .privateKeyPublished }
        let isRSA: Bool
        switch entry["kty"] {
        case .some(let type) where type.isString(equalTo: "RSA"):
            isRSA = true
        case .some(let type) where type.isString(equalTo: "EC"):
            guard let curve = entry["crv"], curve.isString(equalTo: "P-256") else { throw .curve }
            isRSA = false
        default:
            throw .keyType
        }
        // One key, one algorithm: what the type of the key implies, whatever a token says.
        let algorithm = isRSA ? SignatureAlgorithm.rs256 : .es256
        if let named = entry["alg"], !named.isString(equalTo: algorithm.rawValue) { throw .algorithm }
        if let use = entry["use"], !use.isString(equalTo: "sig") { throw .use }
        if let operations = entry["key_ops"], !Self.allowVerifying(operations, besideUse: entry["use"] != nil) {
            throw .operations
        }
        guard let id = entry["kid"]?.stringBytes, KeyID.isValid(id) else { throw .keyID }
        self.id = id
        let first = try Self.octets(isRSA ? "n" : "x", of: entry)
        let second = try Self.octets(isRSA ? "e" : "y", of: entry)
        let key = isRSA ? try? PublicKey(rsaModulus: first, exponent: second) : try? PublicKey(p256X: first, y: second)
        guard let key else { throw .unsound }
        self.key = key
    }

    /// RFC 7518 §6.2.2, §6.3.2 and §6.4.1.
    private static let privateMembers = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"]

    private static func octets(_ name: String, of entry: JSONValue) throws(RejectedKey.Reason) -> [UInt8] {
        guard let text = entry[name]?.stringBytes, let octets = Base64URL.decode(text.span.bytes), !octets.isEmpty
        else { throw .material }
        return octets
    }

    /// RFC 7517 §4.3: no duplicates, and in agreement with `use`, which at this point can only be `sig`.
    private static func allowVerifying(_ operations: JSONValue, besideUse: Bool) -> Bool {
        guard let elements = operations.elements else { return false }
        var names: [[UInt8]] = []
        for element in elements {
            guard let name = element.stringBytes, !names.contains(name) else { return false }
            let isForSigning = element.isString(equalTo: "verify") || element.isString(equalTo: "sign")
            guard isForSigning || !besideUse else { return false }
            names.append(name)
        }
        return names.contains([UInt8]("verify".utf8))
    }
}

/// The rule for a `kid`: bytes to compare, nothing else. It never becomes part of a path, an address or an SQL
/// statement.
enum KeyID {
    static func isValid(_ id: [UInt8]) -> Bool { 1...256 ~= id.count && id.allSatisfy { $0 >= 0x20 && $0 != 0x7F } }
}
