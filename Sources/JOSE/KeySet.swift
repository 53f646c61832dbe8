package import JSON
package import OpenSSL

/// The usable keys of one issuer (RFC 7517 §5), by `kid`.
///
/// An entry that cannot be used is left out with its reason and does not affect the others. Immutable: a newer set
/// replaces the whole value.
package struct KeySet: Sendable {
    package static let maximumBytes = 65_536
    package static let maximumKeys = 32
    package static let empty = KeySet(keys: [], rejected: [])

    /// A linear search over three to five short ids is quicker than hashing one, and 32 is the most there can be.
    private let keys: [JSONWebKey]
    /// The entries that were left out, in the order of the document.
    package let rejected: [RejectedKey]

    /// Reads a JWK Set document.
    ///
    /// - Throws: when the document is no key set, and when no key in it can be used: the previous set is better than
    ///   none.
    package init(parsing bytes: [UInt8]) throws(KeySetError) {
        guard bytes.count <= Self.maximumBytes else { throw .tooLarge }
        let document: JSONValue
        do throws(JSONError) {
            document = try JSONValue(parsing: bytes)
        } catch {
            throw .malformed(error)
        }
        guard let entries = document["keys"]?.elements else { throw .notAKeySet }
        guard entries.count <= Self.maximumKeys else { throw .tooManyKeys }
        var usable: [JSONWebKey] = []
        var rejected: [RejectedKey] = []
        for entry in entries {
            do throws(RejectedKey.Reason) {
                usable.append(try JSONWebKey(entry))
            } catch {
                let id = entry["kid"]?.stringBytes.flatMap {
                    KeyID.isValid($0) ? String(decoding: $0, as: UTF8.self) : nil
                }
                rejected.append(RejectedKey(keyID: id, reason: error))
            }
        }
        self.init(keys: usable, rejected: rejected)
        guard !keys.isEmpty else { throw .noUsableKey(self.rejected) }
    }

    /// A set of known keys, such as our own.
    package init(keys: [(id: String, key: PublicKey)]) {
        self.init(keys: keys.map { JSONWebKey(id: [UInt8]($0.id.utf8), key: $0.key) }, rejected: [])
    }

    /// Two usable keys with one `kid` and one `kty` are ambiguous: nothing says which is meant, so neither is used.
    private init(keys: [JSONWebKey], rejected: [RejectedKey]) {
        var unique: [JSONWebKey] = []
        var rejected = rejected
        for key in keys {
            if keys.count(where: { $0.id == key.id && $0.key.algorithm == key.key.algorithm }) == 1 {
                unique.append(key)
            } else {
                rejected.append(RejectedKey(keyID: String(decoding: key.id, as: UTF8.self), reason: .ambiguousKeyID))
            }
        }
        self.keys = unique
        self.rejected = rejected
    }

    package var count: Int { keys.count }

    /// In the order of the document.
    package var keyIDs: [String] { keys.map { String(decoding: $0.id, as: UTF8.self) } }

    /// The key with exactly this `kid`; when an RSA and an EC key share it, the first.
    package func key(id: [UInt8]) -> PublicKey? { keys.first { $0.id == id }?.key }

    /// The key with exactly this `kid` that is bound to this algorithm.
    package func key(id: [UInt8], for algorithm: SignatureAlgorithm) -> PublicKey? {
        keys.first { $0.id == id && $0.key.algorithm == algorithm }?.key
    }
}

/// An entry of a key set that is not used.
package struct RejectedKey: Equatable, Sendable {
    package enum Reason: String, Error, Sendable {
        /// Not a JSON object.
        case notAnObject = "not_an_object"
        /// It has a private or symmetric part: the publisher must be informed.
        case privateKeyPublished = "private_key_published"
        /// `kty` is missing or neither `RSA` nor `EC`.
        case keyType = "key_type"
        /// `crv` is missing or not `P-256`.
        case curve
        /// `alg` is there and not the one algorithm of this kind of key.
        case algorithm
        /// `use` is there and not `sig`.
        case use
        /// `key_ops` is there and does not allow to verify, has duplicates or contradicts `use`.
        case operations
        /// `kid` is missing or not a string of 1 to 256 bytes without control characters.
        case keyID = "key_id"
        /// `n`, `e`, `x` or `y` is missing or not base64url.
        case material
        /// A modulus outside 2048 to 8192 bits or even, an absurd exponent, a point that is not on the curve.
        case unsound
        /// Another key has the same `kid`.
        case ambiguousKeyID = "ambiguous_key_id"
    }

    /// `nil` when there is none that could stand in a log.
    package let keyID: String?
    package let reason: Reason

    package init(keyID: String?, reason: Reason) {
        self.keyID = keyID
        self.reason = reason
    }
}

/// Why a document was refused as a key set.
package enum KeySetError: Error, Equatable, Sendable {
    case tooLarge
    case malformed(JSONError)
    /// Not an object with an array `keys`.
    case notAKeySet
    case tooManyKeys
    case noUsableKey([RejectedKey])
}

extension KeySetError: CustomStringConvertible, CustomDebugStringConvertible {
    package var description: String { "The key set was refused." }

    package var debugDescription: String {
        switch self {
        case .tooLarge: "KeySetError: more than \(KeySet.maximumBytes) bytes"
        case .malformed(let error): "KeySetError: \(error.debugDescription)"
        case .notAKeySet: "KeySetError: no array named keys"
        case .tooManyKeys: "KeySetError: more than \(KeySet.maximumKeys) keys"
        case .noUsableKey(let rejected):
            "KeySetError: no usable key (\(rejected.map(\.reason.rawValue).joined(separator: ", ")))"
        }
    }
}
