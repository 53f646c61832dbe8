import JOSE
import JSON
import OpenSSL
import Primitives

extension VerifiedCredential {
    /// The token's `c_hash`, if it has one, must be of this code (OpenID Connect Core 1.0 §3.3.2.11): so a code can't be
    /// combined with another person's token.
    package func checkHash(ofCode code: String) throws(CredentialRefusal) { try checkHash("c_hash", of: code) }

    /// The same for `at_hash` (§3.1.3.6).
    func checkHash(ofAccessToken token: String) throws(CredentialRefusal) { try checkHash("at_hash", of: token) }

    /// Compares a claim with the left half of the text's hash, by the hash function of the token's algorithm: SHA-256 for
    /// RS256 and ES256.
    private func checkHash(_ name: String, of text: String) throws(CredentialRefusal) {
        guard let claim = claims[name] else { return }
        guard let bytes = claim.stringBytes else { throw CredentialRefusal(.claimInvalid) }
        let half = SHA256.hash(Array(text.utf8)).prefix(SHA256.byteCount / 2)
        guard constantTimeEquals(bytes, Array(Base64URL.encode(Array(half)).utf8)) else {
            throw CredentialRefusal(.hashMismatch)
        }
    }
}
