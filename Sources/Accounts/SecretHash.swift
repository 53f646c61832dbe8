/// The SHA-256 of a secret that its bearer alone keeps: what is stored of tickets, codes, nonces, cookies, tokens and keys,
/// and what they are looked up by.
///
/// Not `Equatable`, as `==` ends at the first octet that differs: the database compares, or `constantTimeEquals`.
package struct SecretHash: Sendable {
    /// 32.
    package let bytes: [UInt8]

    package init(_ bytes: [UInt8]) { self.bytes = bytes }
}
