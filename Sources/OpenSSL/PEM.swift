import COpenSSL

/// The textual encoding of keys (RFC 7468): one block, and around it nothing but whitespace.
enum PEM {
    static let privateKey: StaticString = "PRIVATE KEY"
    static let publicKey: StaticString = "PUBLIC KEY"

    /// The DER inside the only block of `text`.
    ///
    /// OpenSSL's own readers skip what precedes a block, stop after the first one and, on an encrypted one, prompt on
    /// the terminal. `PEM_read_bio` only removes the armour; the rest is refused here.
    static func decode(_ text: [UInt8], label: StaticString) throws(OpenSSLError) -> [UInt8] {
        ERR_clear_error()
        let text = text.drop(while: isSpace)
        guard text.starts(with: "-----BEGIN \(label)-----".utf8) else {
            throw OpenSSLError("PEM", refused: "does not begin with the expected block")
        }
        var block = Block()
        var rest: [UInt8] = []
        let result = try unsafe text.withUnsafeBufferPointer { text throws(OpenSSLError) in
            let bio = try unsafe Handle(reading: text)
            let result = unsafe PEM_read_bio(bio.pointer, &block.name, &block.header, &block.octets, &block.count)
            rest = unsafe text.suffix(countersign_BIO_pending(bio.pointer)).filter { !isSpace($0) }
            return result
        }
        try require(result, "PEM_read_bio")
        guard block.isNamed(label) else { throw OpenSSLError("PEM", refused: "another kind of block") }
        guard block.hasNoHeader else { throw OpenSSLError("PEM", refused: "encrypted") }
        guard rest.isEmpty else { throw OpenSSLError("PEM", refused: "trailing data") }
        return block.der
    }

    static func encode(_ der: [UInt8], label: StaticString) throws(OpenSSLError) -> [UInt8] {
        ERR_clear_error()
        let bio = try unsafe Handle(BIO_new(BIO_s_mem()), freedBy: BIO_vfree, "BIO_new")
        guard unsafe PEM_write_bio(bio.pointer, label.description, "", der, der.count) > 0 else {
            throw OpenSSLError("PEM_write_bio")
        }
        var text: UnsafePointer<CChar>?
        let count = unsafe countersign_BIO_get_mem_data(bio.pointer, &text)
        return unsafe UnsafeRawBufferPointer(start: text, count: count).map { $0 }
    }

    private static func isSpace(_ octet: UInt8) -> Bool { octet == 0x20 || (0x09...0x0D).contains(octet) }

    /// The memory that `PEM_read_bio` allocates, wiped with its owner.
    @safe
    private struct Block: ~Copyable {
        var name: UnsafeMutablePointer<CChar>?
        var header: UnsafeMutablePointer<CChar>?
        var octets: UnsafeMutablePointer<UInt8>?
        var count = 0

        func isNamed(_ label: StaticString) -> Bool {
            unsafe name.map { unsafe String(cString: $0) == label.description } ?? false
        }

        /// The headers of RFC 1421 (`Proc-Type: 4,ENCRYPTED`) say that the content is encrypted.
        var hasNoHeader: Bool { unsafe header.map { unsafe $0.pointee == 0 } ?? true }

        var der: [UInt8] { unsafe Array(UnsafeBufferPointer(start: octets, count: count)) }

        deinit {
            unsafe countersign_OPENSSL_free(name)
            unsafe countersign_OPENSSL_free(header)
            unsafe countersign_OPENSSL_clear_free(octets, count)
        }
    }
}
