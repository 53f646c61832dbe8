package import Foundation
import Primitives
import Synchronization

/// A program that runs beside a test, in a process of its own: the service, or what is around it, as HAProxy and PgBouncer
/// are. It ends with the test process, also when that crashes.
package final class SideProcess: Sendable {
    /// How a process ended and what it had written.
    package struct Ending: Sendable {
        /// The exit status; nil when a signal ended the process.
        package let status: Int32?
        package let output: String
        /// Standard error: the log of a server, the sentence of a command that failed.
        package let error: String
    }

    let id: Int32
    private let written: Collected
    private let reported: Collected
    private let exit: Task<Int32?, Never>
    private let ended: Task<Ending, Never>
    private let isSignalled = Atomic(false)
    private let process: Mutex<Process>

    /// - Parameters:
    ///   - words: the program and its arguments.
    ///   - environment: that of this process, if nil.
    ///   - endsWithInput: whether it ends by itself when its standard input closes, which is empty otherwise.
    init(_ words: [String], environment: [String: String]? = nil, endsWithInput: Bool = false) throws {
        let process = Process()
        process.executableURL = URL(filePath: words[0])
        process.arguments = Array(words.dropFirst())
        if let environment { process.environment = environment }
        let input = endsWithInput ? Pipe() : nil
        process.standardInput = input ?? FileHandle.nullDevice
        // Foundation keeps it, whatever becomes of the process.
        let lifeline = input?.fileHandleForWriting
        let (output, error) = (Pipe(), Pipe())
        process.standardOutput = output
        process.standardError = error
        let (statuses, status) = AsyncStream.makeStream(of: Int32?.self)
        process.terminationHandler = { process in
            status.yield(process.terminationReason == .exit ? process.terminationStatus : nil)
        }
        try process.start()
        let written = Collected(from: output)
        let reported = Collected(from: error)
        let watchdog = try endsWithInput ? nil : Watchdog(over: process.processIdentifier)
        let exit = Task { () -> Int32? in
            let status = await statuses.first { _ in true } ?? nil
            watchdog?.dismiss()
            try? lifeline?.close()
            return status
        }
        ended = Task { Ending(status: await exit.value, output: await written.whole(), error: await reported.whole()) }
        id = process.processIdentifier
        self.written = written
        self.reported = reported
        self.exit = exit
        self.process = Mutex(process)
    }

    /// Runs a third party's program for as long as `body` runs.
    ///
    /// - Parameter prepare: writes the program's files to a directory of its own, and returns the arguments.
    package static func run<T>(
        _ executable: String, environment: [String: String] = [:], prepare: (URL) throws -> [String],
        _ body: (SideProcess) async throws -> T
    ) async throws -> T {
        guard FileManager.default.isExecutableFile(atPath: executable) else {
            throw SetUpFailure("\(executable) is not installed; Scripts/setup does it.")
        }
        let directory = try ScratchDirectory()
        defer { directory.remove() }
        let side = try SideProcess(
            [executable] + prepare(directory.url),
            environment: ["PATH": "/usr/sbin:/usr/bin:/bin"].merging(environment) { _, asked in asked })
        return try await closing(side.abort) { try await body(side) }
    }

    package var isRunning: Bool { process.withLock(\.isRunning) }

    /// Whether it has ended although no test sent it a signal.
    var endedByItself: Bool { !isRunning && !isSignalled.load(ordering: .relaxed) }

    /// The standard output so far.
    package var output: String { written.text }

    var outputBytes: [UInt8] { written.bytes }

    /// The standard error so far.
    var error: String { reported.text }

    /// All that it has written so far.
    package var log: String { output + error }

    /// The first line of the output; nil when it ends before.
    func firstLine() async -> String? {
        while isRunning, !output.contains("\n"), (try? await pollingPause()) != nil {}
        let text = output
        return text.firstIndex(of: "\n").map { String(text[..<$0]) }
    }

    /// Sends a signal without waiting for the end. Does nothing once the process has ended: its id may belong to another.
    package func send(_ signal: Int32) {
        process.withLock { process in
            guard process.isRunning else { return }
            isSignalled.store(true, ordering: .relaxed)
            Glibc.kill(process.processIdentifier, signal)
        }
    }

    /// Waits for the end.
    package func end() async -> Ending { await ended.value }

    /// Ends it by SIGKILL: it may have inherited a signal mask that blocks any other signal.
    func abort() async {
        send(SIGKILL)
        // Its children may still hold its output.
        _ = await exit.value
    }
}

/// The output of a pipe, read by a thread of its own.
private final class Collected: Sendable {
    private struct State {
        var bytes: [UInt8] = []
        var isOpen = true
    }

    private let state = Mutex(State())
    private let pipe: FileHandle
    private let ends: AsyncStream<Void>

    init(from pipe: Pipe) {
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        self.ends = ends
        self.pipe = pipe.fileHandleForReading
        let descriptor = self.pipe.fileDescriptor
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        let thread = Thread { [self] in
            while state.withLock({ drain(&$0) }) {
                var readable = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                _ = poll(&readable, 1, -1)
            }
            // Here alone: its number may be another file's from then on.
            state.withLock { state in
                try? self.pipe.close()
                state.isOpen = false
            }
            end.finish()
        }
        thread.start()
    }

    /// Reads what the pipe holds. False if the other end is closed.
    @discardableResult
    private func drain(_ state: inout State) -> Bool {
        guard state.isOpen else { return false }
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(pipe.fileDescriptor, &buffer, buffer.count)
            if count > 0 {
                state.bytes += buffer.prefix(count)
            } else if count == 0 || errno != EINTR {
                return count < 0 && errno == EAGAIN
            }
        }
    }

    /// All that has been written so far, whether or not the thread has read it.
    var bytes: [UInt8] {
        state.withLock { state in
            drain(&state)
            return state.bytes
        }
    }

    var text: String { String(decoding: bytes, as: UTF8.self) }

    /// The whole output, once the other end is closed.
    func whole() async -> String {
        for await _ in ends {}
        return text
    }
}
