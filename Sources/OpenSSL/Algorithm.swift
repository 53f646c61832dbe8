import COpenSSL

/// An algorithm fetched from OpenSSL's providers once for the life of the process.
///
/// A name, and even `EVP_sha256()`, is looked up again behind a lock in every operation; a fetched one is not.
///
/// Sendable because a fetched algorithm is reference-counted and never written to after the fetch; OpenSSL documents it
/// as shareable between threads (openssl-threads(7)).
@safe
struct Algorithm: @unchecked Sendable {
    private let name: StaticString
    private let pointer: OpaquePointer?

    private init(_ name: StaticString, _ pointer: OpaquePointer?) {
        self.name = name
        unsafe self.pointer = pointer
    }

    /// Throws where the providers lack the algorithm: a FIPS provider has no scrypt, for one.
    var fetched: OpaquePointer {
        get throws(OpenSSLError) {
            guard let pointer = unsafe pointer else {
                throw OpenSSLError(name, refused: "not offered by the providers")
            }
            return unsafe pointer
        }
    }

    static let sha256 = unsafe Algorithm("SHA-256", EVP_MD_fetch(nil, "SHA256", nil))
    static let sha512 = unsafe Algorithm("SHA-512", EVP_MD_fetch(nil, "SHA512", nil))
    static let hmac = unsafe Algorithm("HMAC", EVP_MAC_fetch(nil, "HMAC", nil))
    static let hkdf = unsafe Algorithm("HKDF", EVP_KDF_fetch(nil, "HKDF", nil))
    static let pbkdf2 = unsafe Algorithm("PBKDF2", EVP_KDF_fetch(nil, "PBKDF2", nil))
    static let scrypt = unsafe Algorithm("scrypt", EVP_KDF_fetch(nil, "SCRYPT", nil))
    static let aes256CTR = unsafe Algorithm("AES-256-CTR", EVP_CIPHER_fetch(nil, "AES-256-CTR", nil))
    static let aes256GCM = unsafe Algorithm("AES-256-GCM", EVP_CIPHER_fetch(nil, "AES-256-GCM", nil))
}
