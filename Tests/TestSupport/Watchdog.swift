import Foundation
import Synchronization

/// A shell that ends a child of this process once this process is gone: its `read` returns when the other end of its
/// pipe, which this process holds, closes.
final class Watchdog: Sendable {
    private let shell: Mutex<(process: Process, lifeline: Pipe)>

    convenience init(over processID: Int32) throws { try self.init(running: #"kill -9 "$1""#, "\(processID)") }

    /// - Parameter command: a shell command, with the words as `$1` and so on.
    init(running command: String, _ words: String...) throws {
        let process = Process()
        let lifeline = Pipe()
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments = ["-c", "read -r line; \(command)", "sh"] + words
        process.standardInput = lifeline
        try process.start()
        shell = Mutex((process, lifeline))
    }

    /// Ends the shell by SIGKILL, which no inherited signal mask blocks.
    func dismiss() {
        shell.withLock { shell in
            if shell.process.isRunning { Glibc.kill(shell.process.processIdentifier, SIGKILL) }
            try? shell.lifeline.fileHandleForWriting.close()
        }
    }
}
