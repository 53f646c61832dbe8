import ArgumentParser
import Foundation

/// Standard output for a command that writes more than fits into memory.
struct StandardOutput {
    /// Standard output can't take what is written: a full disk.
    struct Fault: Error, CustomStringConvertible {
        let description: String
    }

    private static let bufferSize = 1 << 16
    private var buffer: [UInt8] = []

    /// From here on a reader that has gone is seen by `flush`, and doesn't end the process.
    init() {
        signal(SIGPIPE, SIG_IGN)
    }

    mutating func append(_ line: [UInt8]) throws {
        buffer += line
        if buffer.count >= Self.bufferSize { try flush() }
    }

    /// - Throws: `ExitCode`, and so without a word, when the reader has gone: it has what it wanted.
    mutating func flush() throws {
        var rest = buffer[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe Foundation.write(STDOUT_FILENO, $0.baseAddress, $0.count) }
            if count >= 0 {
                rest.removeFirst(count)
            } else if errno == EPIPE {
                throw ExitCode(1)
            } else if errno != EINTR {
                throw Fault(
                    description: "Standard output can't be written: \(unsafe String(cString: strerror(errno))).")
            }
        }
        buffer.removeAll(keepingCapacity: true)
    }
}
