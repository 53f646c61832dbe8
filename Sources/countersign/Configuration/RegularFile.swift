import Foundation

/// A file that is open for reading: what is looked at is what is read, whichever file takes its name meanwhile. Foundation's
/// attributes would ask for the names of owner and group too, in a directory service where there is one.
struct RegularFile {
    let owner: uid_t
    let mode: Int
    let modificationDate: Date
    private let handle: FileHandle

    /// Nil, with `errno`, where there is none, or none that may be opened.
    ///
    /// - Parameter isLiteral: whether a `~` is no home folder, as libpq has it.
    init?(path: String, isLiteral: Bool = false) {
        // O_NONBLOCK keeps the open of a pipe from waiting for a writer, and changes nothing for a file. A URL's path has
        // the home folder in the place of `~`.
        let descriptor = open(isLiteral ? path : URL(filePath: path).path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else { return nil }
        handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        guard status.st_mode & S_IFMT == S_IFREG else {
            errno = ENOENT
            return nil
        }
        owner = status.st_uid
        mode = Int(status.st_mode & 0o7777)
        modificationDate = Date(
            timeIntervalSince1970: Double(status.st_mtim.tv_sec) + Double(status.st_mtim.tv_nsec) / 1e9)
    }

    /// Its first bytes; nil where they can't be read.
    func read(upTo count: Int) -> [UInt8]? { (try? handle.read(upToCount: count) ?? Data()).map { [UInt8]($0) } }

    /// The same with the time of the file.
    func content(upTo count: Int) -> FileContent? {
        read(upTo: count).map { FileContent(bytes: $0, writtenAt: modificationDate) }
    }
}

/// What a file had when it was read.
struct FileContent: Sendable {
    let bytes: [UInt8]
    let writtenAt: Date
}
