import TestSupport

/// Keys that OpenSSL itself reads, made with its command line for these tests alone. They protect nothing.
enum RefusedKey {
    static var privateKeys: [DataFile] { get throws { try DataFile.all(in: "Keys/private") } }

    static var publicKeys: [DataFile] { get throws { try DataFile.all(in: "Keys/public") } }
}
