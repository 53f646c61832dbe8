import JSON
import OpenSSL
import Primitives

extension ControlMembers {
    /// The public half of a key that a developer registers, as a PEM block or as a JWK (RFC 7518 §6.2.1, §6.3.1). nil
    /// where `revoked` is true, which ends the key.
    func publicKey(_ algorithm: SignatureAlgorithm) -> PublicKey? {
        let value = raw("publicKey")
        if flag("revoked") {
            if value != nil { refuse("publicKey and revoked exclude each other.") }
            return nil
        }
        let pem = value?.stringBytes.flatMap { try? PublicKey(pem: $0) }
        let key =
            pem
            ?? value.flatMap { jwk in
                switch algorithm {
                case .es256: jwk.p256Key
                case .rs256: jwk.rsaKey
                }
            }
        guard let key, key.algorithm == algorithm else {
            let (kind, names) = algorithm == .es256 ? ("a P-256", "kty, crv, x and y") : ("an RSA", "kty, n and e")
            refuse("publicKey must be \(kind) key: a PEM block (PUBLIC KEY) or a JWK with \(names).")
            return nil
        }
        return key
    }
}

extension JSONValue {
    fileprivate var p256Key: PublicKey? {
        guard self["kty"]?.string == "EC", self["crv"]?.string == "P-256", let x = octets("x"), let y = octets("y")
        else { return nil }
        return try? PublicKey(p256X: x, y: y)
    }

    fileprivate var rsaKey: PublicKey? {
        guard self["kty"]?.string == "RSA", let modulus = octets("n"), let exponent = octets("e") else { return nil }
        return try? PublicKey(rsaModulus: modulus, exponent: exponent)
    }

    private func octets(_ name: String) -> [UInt8]? { self[name]?.string.flatMap(Base64URL.decode) }
}
