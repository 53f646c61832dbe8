import Foundation
import Synchronization

/// Ends what this process has started when this process is gone: a shell whose `read` returns when the other end of its
/// pipe, which is here, closes.
final class Watchdog: Sendable {
    private let shell: Mutex<(process: Process, lifeline: Pipe)>

    convenience init(over processID: Int32) throws {
        try self.init(running: #"kill -9 "$1""#, "\(processID)")
    }

    /// - Parameter command: for the shell, which knows the words as `$1` and so on.
    init(running command: String, _ words: String...) throws {
        let process = Process()
        let lifeline = Pipe()
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments = ["-c", "read -r line; \(command)", "sh"] + words
        process.standardInput = lifeline
        try process.run()
        shell = Mutex((process, lifeline))
    }

    /// By a signal that no thread can have blocked for it.
    func dismiss() {
        shell.withLock { shell in
            if shell.process.isRunning { Glibc.kill(shell.process.processIdentifier, SIGKILL) }
        }
    }
}
