public import Foundation

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A session in a file that only its owner can read (0600); one that others can read, that another user owns, or that
/// is a link, is refused: an attacker may have put a session of their own there. A new document is written beside it,
/// flushed and renamed into place, so a crash leaves the old one or the new one. Folders that are missing are made
/// (0700).
///
/// With a key the document is sealed by ChaCha20-Poly1305; where that key is kept is the app's decision.
public final class FileSessionStore: SessionStore {
    private let path: String
    private let seal: (key: Data, purpose: Data)?

    /// - Parameter file: a file URL; the file and its folders need not exist.
    public init(file: URL) throws(SessionError) {
        path = try Self.path(of: file)
        seal = nil
    }

    /// - Parameters:
    ///   - key: 32 random bytes.
    ///   - purpose: what the file is for. A file sealed for one purpose can't be put in the place of another.
    public init(file: URL, key: Data, purpose: String = "session") throws(SessionError) {
        guard key.count == SealedBytes.keyLength else { throw .storage("the key of a session file has 32 bytes") }
        path = try Self.path(of: file)
        seal = (key, Data("CountersignClient/\(purpose)".utf8))
    }

    public func load() throws -> Data? {
        // Without O_NONBLOCK a FIFO in its place would wait for a writer.
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard file >= 0 else {
            if errno == ENOENT || errno == ENOTDIR { return nil }
            if errno == ELOOP { throw SessionError.storage("the session file is a link") }
            throw failure("open")
        }
        defer { close(file) }
        try check(file)
        let data = try readToEnd(file)
        guard let seal else { return data }
        guard let document = SealedBytes.open(data, key: seal.key, purpose: seal.purpose) else {
            throw SessionError.storage("the file was not sealed with this key for this purpose")
        }
        return document
    }

    public func save(_ data: Data) throws {
        var document = data
        if let seal {
            guard let sealed = SealedBytes.seal(data, key: seal.key, purpose: seal.purpose) else {
                throw SessionError.storage("the document could not be sealed")
            }
            document = sealed
        }
        let folder = (path as NSString).deletingLastPathComponent
        try makeFolder(folder)
        let name = (path as NSString).lastPathComponent
        let draft = (folder as NSString).appendingPathComponent(".\(name).\(Base64URL.encode(randomBytes(9))).new")
        let file = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw failure("create") }
        do {
            defer { close(file) }
            try writeAll(document, to: file)
            // What the process's umask took away is given back.
            guard fchmod(file, 0o600) == 0 else { throw failure("chmod") }
            guard fsync(file) == 0 else { throw failure("flush") }
        } catch {
            unlink(draft)
            throw error
        }
        guard rename(draft, path) == 0 else {
            let failure = failure("rename")
            unlink(draft)
            throw failure
        }
        flushFolder(folder)
    }

    public func remove() throws {
        guard unlink(path) == 0 else {
            if errno == ENOENT || errno == ENOTDIR { return }
            throw failure("remove")
        }
        flushFolder((path as NSString).deletingLastPathComponent)
    }

    private static func path(of file: URL) throws(SessionError) -> String {
        guard file.isFileURL, !file.hasDirectoryPath, !file.lastPathComponent.isEmpty, file.lastPathComponent != "/"
        else { throw .storage("the URL names no file") }
        return file.path
    }

    /// Looks at the open file, so that nothing takes its place in between.
    private func check(_ file: Int32) throws {
        var status = stat()
        guard fstat(file, &status) == 0 else { throw failure("stat") }
        guard status.st_mode & S_IFMT == S_IFREG else { throw SessionError.storage("the session file is no file") }
        guard status.st_uid == geteuid() else { throw SessionError.storage("the session file is somebody else's") }
        guard status.st_mode & 0o077 == 0 else {
            throw SessionError.storage("others than its owner may use the session file")
        }
    }

    private func readToEnd(_ file: Int32) throws -> Data {
        var data = Data()
        var buffer = [UInt8](repeating: 0, count: 16_384)
        while true {
            let count = read(file, &buffer, buffer.count)
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else { throw failure("read") }
            guard count > 0 else { return data }
            data.append(contentsOf: buffer[..<count])
        }
    }

    private func writeAll(_ data: Data, to file: Int32) throws {
        var rest = Array(data)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { throw failure("write") }
            rest = rest.dropFirst(count)
        }
    }

    private func makeFolder(_ folder: String) throws {
        var status = stat()
        if folder.isEmpty || stat(folder, &status) == 0 { return }
        try makeFolder((folder as NSString).deletingLastPathComponent)
        // Another process may have made it meanwhile.
        guard mkdir(folder, 0o700) == 0 || errno == EEXIST else { throw failure("make the folder") }
    }

    /// So that the rename survives a loss of power. Some file systems can't; the document is in place all the same.
    private func flushFolder(_ folder: String) {
        let handle = open(folder, O_RDONLY | O_CLOEXEC)
        guard handle >= 0 else { return }
        _ = fsync(handle)
        close(handle)
    }

    /// With `errno` alone: a path may contain the user's name.
    private func failure(_ step: String) -> SessionError { .storage("\(step): error \(errno)") }
}

extension FileSessionStore: Redacted {
    public var description: String { seal == nil ? "FileSessionStore" : "FileSessionStore(sealed)" }
}
