import Foundation
import Synchronization

/// Kills a process when this one is gone: a shell whose `read` returns when the other end of its pipe, which is here,
/// closes.
final class Watchdog: Sendable {
    private let shell: Mutex<(process: Process, lifeline: Pipe)>

    init(over processID: Int32) throws {
        let process = Process()
        let lifeline = Pipe()
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments = ["-c", "read -r line; kill -9 \(processID)"]
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
