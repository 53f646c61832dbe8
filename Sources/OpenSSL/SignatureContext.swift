import COpenSSL
import Synchronization

/// The OpenSSL contexts of one verification or signature, set up once and reused: that of the public-key operation
/// (PKCS #1 v1.5 padding for RSA, SHA-256) and that of the digest.
///
/// Sendable because its pool gives it to one thread at a time, and to the next through a lock.
@safe
final class SignatureContext: @unchecked Sendable {
    private let operation: Handle
    private let hash: Handle
    private let sha256: OpaquePointer

    init(
        _ key: borrowing AsymmetricKey, _ algorithm: SignatureAlgorithm, initialise: (OpaquePointer?) -> Int32
    ) throws(OpenSSLError) {
        operation = try key.newContext()
        hash = try unsafe Handle(EVP_MD_CTX_new(), freedBy: EVP_MD_CTX_free, "EVP_MD_CTX_new")
        unsafe sha256 = try Algorithm.sha256.fetched
        try require(unsafe initialise(operation.pointer), "EVP_PKEY_sign_init or EVP_PKEY_verify_init")
        if algorithm == .rs256 {
            try require(
                unsafe EVP_PKEY_CTX_set_rsa_padding(operation.pointer, RSA_PKCS1_PADDING),
                "EVP_PKEY_CTX_set_rsa_padding")
        }
        try require(unsafe EVP_PKEY_CTX_set_signature_md(operation.pointer, sha256), "EVP_PKEY_CTX_set_signature_md")
    }

    /// True only for OpenSSL's 1: it returns 0 for a wrong signature and a negative number for a malformed one.
    func verifies(_ signature: UnsafeRawBufferPointer, of message: UnsafeRawBufferPointer) -> Bool {
        unsafe withDigest(of: message) { digest in
            unsafe EVP_PKEY_verify(
                operation.pointer, signature.baseAddress, signature.count, digest.baseAddress, digest.count) == 1
        } ?? false
    }

    /// Signs into `signature` and returns the length, or nil.
    func sign(_ message: UnsafeRawBufferPointer, into signature: UnsafeMutableRawBufferPointer) -> Int? {
        var count = signature.count
        let isSigned = unsafe withDigest(of: message) { digest in
            unsafe EVP_PKEY_sign(
                operation.pointer, signature.baseAddress, &count, digest.baseAddress, digest.count) == 1
        }
        return isSigned == true ? count : nil
    }

    private func withDigest(
        of message: UnsafeRawBufferPointer, _ body: (UnsafeMutableBufferPointer<UInt8>) -> Bool
    ) -> Bool? {
        unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: SHA256.byteCount) { digest in
            guard
                unsafe EVP_DigestInit_ex2(hash.pointer, sha256, nil) == 1,
                unsafe EVP_DigestUpdate(hash.pointer, message.baseAddress, message.count) == 1,
                unsafe EVP_DigestFinal_ex(hash.pointer, digest.baseAddress, nil) == 1
            else { return nil }
            return unsafe body(digest)
        }
    }
}

/// The idle contexts of one key: at most as many as threads have used it at once.
struct SignatureContextPool: ~Copyable, Sendable {
    private let idle = Mutex<[SignatureContext]>([])

    func take(orMake make: () throws(OpenSSLError) -> SignatureContext) throws(OpenSSLError) -> SignatureContext {
        if let context = idle.withLock({ $0.popLast() }) { return context }
        return try make()
    }

    func put(back context: SignatureContext) { idle.withLock { $0.append(context) } }
}
