/// The supported signature algorithms (RFC 7518 §3.1). A key is bound to one of them for good.
package enum SignatureAlgorithm: String, Sendable {
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    case rs256 = "RS256"
    /// ECDSA on P-256 with SHA-256.
    case es256 = "ES256"
}
