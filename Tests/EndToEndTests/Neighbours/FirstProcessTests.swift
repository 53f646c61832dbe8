import Foundation
import Postgres
import TestSupport
import Testing

extension Neighbours {
    /// The program as process 1, as it is in the image: the kernel drops what would end any other process.
    @Suite(
        .enabled("Process 1 takes a namespace of its own, and this process may make none.") {
            await Neighbours.succeeds("/usr/bin/unshare", "--pid", "--fork", "--kill-child", "/bin/true")
        },
        .limitedConcurrency, .timeLimit(.minutes(30)))
    struct FirstProcessTests {
        /// The migrations' lock, "counters" in ASCII.
        private static let lock: Int64 = 0x636F_756E_7465_7273
        private static let isAwaited: SQL = """
            SELECT EXISTS (
                SELECT FROM pg_stat_activity
                WHERE datname = current_database() AND application_name = 'countersign migrate'
                    AND query LIKE 'SELECT pg_try_advisory_lock%')
            """

        @Test(arguments: [SIGTERM, SIGINT, SIGHUP])
        func `a command that waits is ended by a signal, and its exit code says by which`(
            _ signal: Int32
        ) async throws {
            let first = try FirstProcess()
            defer { first.remove() }
            try await ScratchDatabase.withMigrated { scratch in
                try await scratch.withPool { database in
                    try await database.withConnection { holder in
                        try await holder.execute("SELECT pg_advisory_lock(\(Self.lock))")
                        let command = try Countersign.begin(
                            ["migrate", "up"], ["postgres.url": scratch.url], launcher: first.launcher)
                        try await eventually("the wait for the lock") {
                            try await holder.query(Self.isAwaited, as: Bool.self) == [true]
                        }
                        try first.send(signal)
                        try await eventually("the end of the command") { !command.isRunning }
                        let ending = await command.end()
                        #expect(ending.status == 128 + signal, "\(ending.error)")
                    }
                }
            }
        }

        @Test(arguments: [(SIGTERM, "SIGTERM"), (SIGINT, "SIGINT")])
        func `the service ends in order, as it traps the signal itself`(_ signal: Int32, name: String) async throws {
            let first = try FirstProcess()
            defer { first.remove() }
            try await ScratchDatabase.withMigrated { scratch in
                let settings = ["postgres.url": scratch.url, "apple.keysUrl": "http://127.0.0.1:1/"]
                try await Countersign.serve(settings, launcher: first.launcher) { service in
                    try first.send(signal)
                    let ending = await service.end()
                    #expect(ending.status == 0, "\(ending.error)")
                    let last = ending.error.split(separator: "\n").last
                    #expect(last?.contains(#""message":"ended","reason":"\#(name)""#) == true, "\(last ?? "")")
                }
            }
        }
    }
}

/// What makes a program process 1 of a namespace, and its id outside of that.
private struct FirstProcess: Sendable {
    private let directory: ScratchDirectory

    init() throws { directory = try ScratchDirectory() }

    private var file: URL { directory.url.appending(path: "id") }

    /// What becomes the program whose words follow. It ends with the process that the test has started. The file system of
    /// the processes is that of the outside, and so are the ids in it.
    var launcher: [String] {
        let script = #"read -r id rest </proc/self/stat && echo "$id" >"$0" && exec "$@""#
        return ["/usr/bin/unshare", "--pid", "--fork", "--kill-child", "/bin/sh", "-c", script, file.path]
    }

    /// Sends the program a signal, once it is process 1.
    func send(_ signal: Int32) throws {
        let text = try String(contentsOf: file, encoding: .utf8)
        let id = try #require(Int32(text.trimmingCharacters(in: .newlines)))
        try #require(kill(id, signal) == 0)
    }

    func remove() { directory.remove() }
}
