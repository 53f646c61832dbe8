import COpenSSL

/// The named parameters of one call.
///
/// `OSSL_PARAM` keeps pointers, not values, and Swift's implicit bridges die with the call they are written in. So each
/// value is copied here and lives, and is wiped, with the list. Names are literals, which live as long as the process.
@safe
struct Parameters: ~Copyable {
    private var list: [OSSL_PARAM] = unsafe []
    private var values: [UnsafeMutableRawBufferPointer] = unsafe []

    deinit {
        for index in unsafe values.indices {
            unsafe OPENSSL_cleanse(values[index].baseAddress, values[index].count)
            unsafe values[index].deallocate()
        }
    }

    mutating func add(_ name: StaticString, octets: [UInt8]) {
        let value = unsafe octets.withUnsafeBytes { unsafe copy(of: $0) }
        unsafe list.append(OSSL_PARAM_construct_octet_string(Self.pointer(name), value.baseAddress, octets.count))
    }

    mutating func add(_ name: StaticString, text: StaticString) {
        // The count leaves the terminating NUL out, yet OpenSSL wants it there: a literal has it.
        let bytes = unsafe UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount + 1)
        let value = unsafe copy(of: bytes).assumingMemoryBound(to: CChar.self).baseAddress
        unsafe list.append(OSSL_PARAM_construct_utf8_string(Self.pointer(name), value, text.utf8CodeUnitCount))
    }

    mutating func add(_ name: StaticString, number: UInt64) {
        let value = unsafe withUnsafeBytes(of: number) { unsafe copy(of: $0) }
        let pointer = unsafe value.assumingMemoryBound(to: UInt64.self).baseAddress
        unsafe list.append(OSSL_PARAM_construct_uint64(Self.pointer(name), pointer))
    }

    /// An integer of any size. `OSSL_PARAM` integers have the byte order of the machine; BIGNUM knows it.
    mutating func add(_ name: StaticString, bigEndian octets: [UInt8]) throws(OpenSSLError) {
        let number = try Handle(bigEndian: octets)
        let value = unsafe copy(of: UnsafeRawBufferPointer(start: nil, count: 0), count: max(octets.count, 1))
        let pointer = unsafe value.assumingMemoryBound(to: UInt8.self).baseAddress
        guard unsafe BN_bn2nativepad(number.pointer, pointer, Int32(clamping: value.count)) == value.count else {
            throw OpenSSLError("BN_bn2nativepad")
        }
        unsafe list.append(OSSL_PARAM_construct_BN(Self.pointer(name), pointer, value.count))
    }

    /// Passes the finished list to `body`. It is mutable only because `EVP_PKEY_fromdata` is declared so.
    borrowing func withPointer<Result>(_ body: (UnsafeMutablePointer<OSSL_PARAM>?) -> Result) -> Result {
        var terminated = unsafe list
        unsafe terminated.append(OSSL_PARAM_construct_end())
        return unsafe terminated.withUnsafeMutableBufferPointer { unsafe body($0.baseAddress) }
    }

    /// `count` octets that start with `bytes`. Never empty, so that OpenSSL never sees a value without an address.
    private mutating func copy(of bytes: UnsafeRawBufferPointer, count: Int = 0) -> UnsafeMutableRawBufferPointer {
        let value = UnsafeMutableRawBufferPointer.allocate(
            byteCount: max(bytes.count, count, 1), alignment: MemoryLayout<UInt64>.alignment)
        unsafe value.initializeMemory(as: UInt8.self, repeating: 0)
        unsafe value.copyMemory(from: bytes)
        unsafe values.append(value)
        return unsafe value
    }

    private static func pointer(_ name: StaticString) -> UnsafePointer<CChar> {
        unsafe UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)
    }
}
