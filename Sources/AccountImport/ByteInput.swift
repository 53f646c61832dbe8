import Glibc
import Synchronization

/// The bytes of a source, in the order in which they come.
package protocol ByteInput: AnyObject, Sendable {
    /// The next bytes, some 256 KiB at most; `nil` at the end.
    ///
    /// - Throws: `InputStopped`; `SourceFault`.
    func read() throws -> [UInt8]?
}

/// The run was stopped while its source waited for more: what has come of the next row is no row.
struct InputStopped: Error {}

/// A file, or standard input, without the byte order mark that some editors write before UTF-8.
package final class FileInput: ByteInput {
    private let descriptor: Int32
    private let name: String
    private let isStopped: @Sendable () -> Bool
    private let consumed = Atomic(0)
    private let hasBegun = Atomic(false)
    /// The size of a regular file.
    package let size: Int?
    /// How much of it has been read, in bytes.
    package var position: Int { consumed.load(ordering: .relaxed) }

    /// - Parameters:
    ///   - path: `-` is standard input.
    ///   - isStopped: asked while nothing comes; then reading throws `InputStopped`.
    package init(_ path: String, isStopped: @escaping @Sendable () -> Bool) throws(SourceFault) {
        name = path == "-" ? "Standard input" : "The file \(path)"
        descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        self.isStopped = isStopped
        guard descriptor >= 0 else {
            throw SourceFault("The file \(path) can't be read: \(String(cString: strerror(errno))).")
        }
        var status = stat()
        let isKnown = fstat(descriptor, &status) == 0
        guard isKnown, status.st_mode & S_IFMT != S_IFDIR else { throw SourceFault("\(name) can't be read: no file.") }
        size = status.st_mode & S_IFMT == S_IFREG ? Int(status.st_size) : nil
    }

    deinit {
        if descriptor > STDIN_FILENO { close(descriptor) }
    }

    /// Whether a descriptor is of the same file.
    package func isAt(_ other: Int32) -> Bool {
        var (one, two) = (stat(), stat())
        return fstat(descriptor, &one) == 0 && fstat(other, &two) == 0 && one.st_mode & S_IFMT == S_IFREG
            && one.st_dev == two.st_dev && one.st_ino == two.st_ino
    }

    package func read() throws -> [UInt8]? {
        if hasBegun.exchange(true, ordering: .relaxed) { return try readOn() }
        // As many as a mark has: a pipe may bring them one by one.
        var begin: [UInt8] = []
        while begin.count < Self.mark.count, let more = try readOn() { begin += more }
        guard !begin.starts(with: [0xFF, 0xFE]), !begin.starts(with: [0xFE, 0xFF]) else {
            throw SourceFault(
                """
                \(name) is UTF-16, as PowerShell 5 writes it by “>”, and has to be UTF-8: write it by \
                “| Out-File -Encoding utf8”, or convert it by iconv -f UTF-16 -t UTF-8.
                """)
        }
        guard !begin.starts(with: [0x1F, 0x8B]) else {
            throw SourceFault("\(name) is packed by gzip, and has to be plain: unpack it by gunzip.")
        }
        if begin.starts(with: Self.mark) { begin.removeFirst(Self.mark.count) }
        return try begin.isEmpty ? readOn() : begin
    }

    /// Of UTF-8.
    private static let mark: [UInt8] = [0xEF, 0xBB, 0xBF]

    private func readOn() throws -> [UInt8]? {
        var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        while size == nil, poll(&ready, 1, 200) <= 0 {
            if isStopped() { throw InputStopped() }
        }
        var failure: Int32 = 0
        let chunk = [UInt8](unsafeUninitializedCapacity: 262_144) { buffer, count in
            repeat {
                let read = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
                failure = read < 0 ? errno : 0
                count = max(0, read)
            } while failure == EINTR
        }
        guard failure == 0 else { throw SourceFault("\(name) can't be read: \(String(cString: strerror(failure))).") }
        consumed.add(chunk.count, ordering: .relaxed)
        return chunk.isEmpty ? nil : chunk
    }
}

let maximumRowBytes = 1 << 20

/// A row's bytes; `nil` stands for one that is longer than a row may be.
typealias RowBytes = [UInt8]?

/// The lines of an input that are not blank, without their ends. Of a line that is too long nothing is kept.
struct LineReader {
    private let input: any ByteInput
    private var hasBegun = false
    private var chunk: [UInt8]
    private var position = 0

    /// - Parameter begun: the beginning of the input, where that has been read already.
    init(_ input: any ByteInput, begun: [UInt8] = []) {
        self.input = input
        chunk = begun
    }

    /// - Returns: `nil` behind the last line.
    /// - Throws: ``SourceFault`` when the input is an array: one document, of which no line is a row.
    mutating func next() throws -> RowBytes? {
        if !hasBegun {
            hasBegun = true
            while chunk.allSatisfy(\.isJSONSpace), let more = try input.read() { chunk = more }
            guard chunk.first(where: { !$0.isJSONSpace }) != UInt8(ascii: "[") else {
                throw SourceFault(
                    "The source is a JSON array, and has to have an object a line: jq -c '.[]' FILE makes that of it.")
            }
        }
        while let line = try nextLine() {
            if let bytes = line, bytes.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }) { continue }
            return .some(line)
        }
        return nil
    }

    private mutating func nextLine() throws -> RowBytes? {
        var line: [UInt8] = []
        var isTooLong = false
        var isBegun = false
        while true {
            if position == chunk.count {
                guard let more = try input.read() else { return isBegun ? .some(isTooLong ? nil : line) : nil }
                (chunk, position) = (more, 0)
            }
            isBegun = true
            let rest = chunk[position...]
            let end = rest.firstIndex(of: 0x0A)
            let part = rest[..<(end ?? chunk.endIndex)]
            isTooLong = isTooLong || line.count + part.count > maximumRowBytes
            if isTooLong { line = [] } else { line += part }
            position = end.map { $0 + 1 } ?? chunk.count
            if end != nil { return .some(isTooLong ? nil : line) }
        }
    }
}
