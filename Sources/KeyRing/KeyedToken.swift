package import OpenSSL
import Primitives

/// The codec of tokens that are derived and stored nowhere: the content of one is authenticated by an HMAC-SHA-256
/// under a subkey of the key ring, which the token names.
///
/// Layout, in base64url: `header ‖ length of key id ‖ key id ‖ body ‖ HMAC`, where the HMAC covers the domain and all
/// octets before it.
package struct KeyedToken: Sendable {
    /// The longest text that is decoded, in characters: longer than any token of ours.
    private static let maximumCharacters = 256

    private let keyRing: KeyRing
    private let purpose: KeyRing.Purpose
    private let domain: [UInt8]
    private let headerOctets: Int
    private let bodyOctets: Int
    private let macOctets: Int

    /// - Parameters:
    ///   - purpose: the purpose of the subkeys that authenticate.
    ///   - domain: the beginning of the HMAC's input, which separates one kind of token from another under the same
    ///     subkey.
    ///   - headerOctets: the number of octets before the key id, the version first.
    ///   - macOctets: how many of the HMAC's 32 octets are kept, at least half of them (RFC 2104 §5).
    package init(
        keyRing: KeyRing, purpose: KeyRing.Purpose, domain: String = "", headerOctets: Int, bodyOctets: Int,
        macOctets: Int = 32
    ) {
        self.keyRing = keyRing
        self.purpose = purpose
        self.domain = Array(domain.utf8)
        self.headerOctets = headerOctets
        self.bodyOctets = bodyOctets
        self.macOctets = macOctets
    }

    /// The token, under the current subkey.
    package func encode(header: [UInt8], body: [UInt8]) throws(OpenSSLError) -> String {
        let subkey = keyRing.current(for: purpose)
        var octets = header
        octets.append(UInt8(truncatingIfNeeded: subkey.keyID.utf8.count))
        octets += subkey.keyID.utf8
        octets += body
        octets += try mac(of: octets, under: subkey).bytes
        return Base64URL.encode(octets)
    }

    /// The header and the body of a token of this key ring; `nil` for anything else. Their lengths are those of the
    /// layout.
    package func decode(_ text: some StringProtocol) -> (header: [UInt8], body: [UInt8])? {
        guard text.utf8.count <= Self.maximumCharacters, let octets = Base64URL.decode(String(text)),
            octets.count > headerOctets
        else { return nil }
        let keyEnd = headerOctets + 1 + Int(octets[headerOctets])
        let bodyEnd = keyEnd + bodyOctets
        guard octets.count == bodyEnd + macOctets,
            let subkey = keyRing.subkey(
                String(decoding: octets[(headerOctets + 1)..<keyEnd], as: UTF8.self), for: purpose),
            let expected = try? mac(of: Array(octets[..<bodyEnd]), under: subkey),
            expected.matches(Array(octets[bodyEnd...]))
        else { return nil }
        return (Array(octets[..<headerOctets]), Array(octets[keyEnd..<bodyEnd]))
    }

    private func mac(of octets: [UInt8], under subkey: KeyRing.Subkey) throws(OpenSSLError) -> SecretBytes {
        let code = try HMACSHA256.authenticationCode(for: domain + octets, key: subkey.bytes)
        return SecretBytes(Array(code.bytes.prefix(macOctets)))
    }
}
