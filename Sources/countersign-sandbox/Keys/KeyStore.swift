import Foundation
import OpenSSL

/// The source of private keys: generated each time, or kept in a directory, so that a restarted sandbox still has the
/// keys that clients have cached, and a test run does not search primes for every test.
struct KeyStore: Sendable {
    /// The directory of the keys; nil keeps none.
    let directory: URL?

    init(path: String?) throws {
        directory = path.map { URL(filePath: $0, directoryHint: .isDirectory) }
        guard let directory else { return }
        try FileManager.default.createDirectory(
            at: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    /// The key of that name. Blocks for as long as a prime search takes.
    func key(_ name: String) throws -> RSAPrivateKey {
        guard let directory else { return try RSAPrivateKey(bits: 2048) }
        let file = directory.appending(path: name + ".pem")
        if let kept = try Self.read(file) { return kept }
        // Many sandboxes may start on an empty directory at once: one of them makes the key, the others wait for it.
        let lock = open(directory.appending(path: "lock").path, O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
        guard lock >= 0, flock(lock, LOCK_EX) == 0 else {
            throw CocoaError(.fileLocking, userInfo: [NSFilePathErrorKey: directory.path])
        }
        defer { close(lock) }
        if let kept = try Self.read(file) { return kept }
        let key = try RSAPrivateKey(bits: 2048)
        let temporary = directory.appending(path: name + ".new")
        let written = FileManager.default.createFile(
            atPath: temporary.path, contents: Data(try key.pem()), attributes: [.posixPermissions: 0o600])
        guard written, rename(temporary.path, file.path) == 0 else {
            throw CocoaError(.fileWriteUnknown, userInfo: [NSFilePathErrorKey: file.path])
        }
        return key
    }

    private static func read(_ file: URL) throws -> RSAPrivateKey? {
        guard FileManager.default.fileExists(atPath: file.path) else { return nil }
        return try RSAPrivateKey(pem: Array(try Data(contentsOf: file)))
    }
}
