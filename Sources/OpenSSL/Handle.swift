import COpenSSL

/// A C object with exactly one owner, freed with its owner.
@safe
struct Handle: ~Copyable {
    let pointer: OpaquePointer
    private let free: (OpaquePointer?) -> Void

    /// Adopts what a constructor returned; NULL is that constructor's failure.
    init(
        _ pointer: OpaquePointer?, freedBy free: @escaping (OpaquePointer?) -> Void, _ operation: StaticString,
        file: StaticString = #fileID, line: UInt = #line
    ) throws(OpenSSLError) {
        guard let pointer = unsafe pointer else { throw OpenSSLError(operation, file: file, line: line) }
        unsafe self.pointer = pointer
        unsafe self.free = unsafe free
    }

    deinit { unsafe free(pointer) }
}

extension Handle {
    /// A BIGNUM from big-endian octets, wiped when it is freed.
    init(bigEndian octets: [UInt8]) throws(OpenSSLError) {
        let number = unsafe octets.withUnsafeBufferPointer {
            unsafe BN_bin2bn($0.baseAddress, Int32(clamping: $0.count), nil)
        }
        try unsafe self.init(number, freedBy: BN_clear_free, "BN_bin2bn")
    }

    /// A memory BIO that reads `bytes`, which must outlive it.
    init(reading bytes: UnsafeBufferPointer<UInt8>) throws(OpenSSLError) {
        // A count of -1 would mean "up to the first NUL".
        guard let count = Int32(exactly: bytes.count) else {
            throw OpenSSLError("BIO_new_mem_buf", refused: "too long")
        }
        try unsafe self.init(BIO_new_mem_buf(bytes.baseAddress, count), freedBy: BIO_vfree, "BIO_new_mem_buf")
    }
}
