import ArgumentParser
import Foundation

/// Standard output, or a file in its place, for a command that writes more than fits into memory.
struct StandardOutput {
    /// Standard output can't take what is written: a full disk.
    struct Fault: Error, CustomStringConvertible {
        let description: String
    }

    private static let bufferSize = 1 << 16
    private let descriptor: Int32
    private let name: String
    /// Of a new file, whose name has to be on the disk too.
    private var folder: String?
    private var buffer: [UInt8] = []

    /// From here on a reader that has gone is seen by `flush`, and doesn't end the process.
    init() {
        signal(SIGPIPE, SIG_IGN)
        (descriptor, name) = (STDOUT_FILENO, "Standard output")
    }

    /// A file that the owner alone may read; what was in it goes. It stays open until the command ends.
    ///
    /// - Parameter isInput: whether a descriptor is of the file that the command reads, which is not to go.
    /// - Throws: `UsageFault` if it can't be written.
    init(replacing path: String, unless isInput: (Int32) -> Bool = { _ in false }) throws {
        descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        name = "The file \(path)"
        guard descriptor < 0 || !isInput(descriptor) else {
            throw UsageFault(sentence: "\(path) is the file to be read")
        }
        var status = stat()
        // A device or a pipe keeps its mode.
        guard descriptor >= 0, fstat(descriptor, &status) == 0,
            status.st_mode & S_IFMT != S_IFREG || (fchmod(descriptor, 0o600) == 0 && ftruncate(descriptor, 0) == 0)
        else {
            throw UsageFault(sentence: "\(path) can't be written: \(unsafe String(cString: strerror(errno)))")
        }
    }

    /// A new file that the owner alone may read.
    ///
    /// - Throws: `UsageFault` if it can't be made, as where there is one already.
    init(creating path: String) throws {
        descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        name = "The file \(path)"
        folder = URL(filePath: path).deletingLastPathComponent().path
        guard descriptor >= 0 else {
            throw UsageFault(sentence: "\(path) can't be made: \(unsafe String(cString: strerror(errno)))")
        }
    }

    /// Writes what is left, and waits until it is on the disk.
    mutating func commit() throws {
        try flush()
        var isOnDisk = fsync(descriptor) == 0
        if isOnDisk, let folder {
            let directory = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            isOnDisk = directory >= 0 && fsync(directory) == 0
            if directory >= 0 { close(directory) }
        }
        guard isOnDisk else { throw fault(errno) }
    }

    /// Throws where it shows beforehand that nothing can be written: to a stream that is closed or that nothing reads, or to a
    /// device that is full. Not so a full disk.
    func requireWritable() throws {
        var stream = pollfd(fd: descriptor, events: 0, revents: 0)
        if poll(&stream, 1, 0) > 0, Int32(stream.revents) & POLLERR != 0 { throw fault(EPIPE) }
        guard unsafe Foundation.write(descriptor, "", 0) == 0 else { throw fault(errno) }
    }

    private func fault(_ code: Int32) -> Fault {
        Fault(description: "\(name) can't be written: \(unsafe String(cString: strerror(code))).")
    }

    mutating func append(_ line: [UInt8]) throws {
        buffer += line
        if buffer.count >= Self.bufferSize { try flush() }
    }

    /// - Throws: `ExitCode`, and so without a word, when the reader has gone: it has what it wanted.
    mutating func flush() throws {
        var rest = buffer[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe Foundation.write(descriptor, $0.baseAddress, $0.count) }
            if count >= 0 {
                rest.removeFirst(count)
            } else if errno == EPIPE {
                throw ExitCode(1)
            } else if !StandardStream.isToBeTriedAgain(descriptor, POLLOUT) {
                throw fault(errno)
            }
        }
        buffer.removeAll(keepingCapacity: true)
    }
}
