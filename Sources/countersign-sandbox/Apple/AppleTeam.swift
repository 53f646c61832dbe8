import OpenSSL

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

    func liveKey(_ id: String) -> PublicKey? { keys.first { $0.id == id && !$0.isRevoked }?.publicKey }

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

    var json: JSONObject {
        ["teamId": id, "keys": keys.map { key -> JSONObject in ["keyId": key.id, "revoked": key.isRevoked] }]
    }
}
