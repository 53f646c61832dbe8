import JSON
import OpenSSL
import Primitives

/// A developer team's keys for client secrets.
struct AppleTeam: Sendable {
    struct Key: Sendable {
        let id: String
        let publicKey: PublicKey
        var isRevoked = false
    }

    let id: String
    /// Keys in the order of their registration.
    private(set) var keys: [Key] = []

    init(id: String) {
        self.id = id
    }

    func liveKey(_ id: String) -> PublicKey? {
        keys.first { $0.id == id && !$0.isRevoked }?.publicKey
    }

    /// A key id that is registered again gets the new key.
    mutating func register(_ publicKey: PublicKey, as id: String) {
        keys.removeAll { $0.id == id }
        keys.append(Key(id: id, publicKey: publicKey))
    }

    mutating func revoke(_ id: String) throws(ControlRefusal) {
        guard let index = keys.firstIndex(where: { $0.id == id }) else {
            throw .notFound("Team \(self.id) has no key \(id).")
        }
        keys[index].isRevoked = true
    }

    /// The public half of a `.p8` file, as a PEM block or as a JWK (RFC 7518 §6.2.1).
    static func publicKey(_ members: ControlMembers) throws(ControlRefusal) -> PublicKey {
        let value = members.raw("publicKey")
        var key: PublicKey?
        if let pem = value?.stringBytes {
            key = try? PublicKey(pem: pem)
        } else if let value, value["kty"]?.string == "EC", value["crv"]?.string == "P-256",
            let x = value["x"]?.string.flatMap(Base64URL.decode), let y = value["y"]?.string.flatMap(Base64URL.decode)
        {
            key = try? PublicKey(p256X: x, y: y)
        }
        guard let key, key.algorithm == .es256 else {
            throw .invalid("publicKey must be a P-256 key: a PEM block (PUBLIC KEY) or a JWK with kty, crv, x and y.")
        }
        return key
    }
}
