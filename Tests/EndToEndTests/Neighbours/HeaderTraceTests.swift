import Foundation
import TestSupport
import Testing

extension Neighbours {
    /// The service under strace, while it gets tokens whose headers name files and addresses.
    @Suite(
        .enabled("strace is not installed (Scripts/setup --neighbours), or may not trace.") {
            await Neighbours.succeeds("/usr/bin/strace", "-f", "-e", "trace=connect", "/bin/true")
        },
        .limitedConcurrency, .timeLimit(.minutes(30)))
    struct HeaderTraceTests {
        /// Runs a service under strace. Returns the files that it opened, the programs that it ran and the addresses that
        /// it connected to.
        private func traced(
            _ scratch: ScratchDatabase, _ sandbox: Sandbox, _ body: (World) async throws -> Void
        ) async throws -> Set<String> {
            let trace = Trace()
            defer { trace.remove() }
            let processID = try await World.serve(scratch, sandbox, launcher: trace.launcher) { world in
                try await body(world)
                return world.service.processID
            }
            try await eventually("the end of the trace") { trace.hasEnd(of: processID) }
            return trace.reached
        }

        /// What both services get: a sign-in, and tokens that are refused and name nothing.
        private func postPlainTokens(_ world: World) async throws {
            #expect(try await world.signIn("kim", with: .apple).status == 200)
            #expect(try await world.signIn("kim", with: .google).status == 200)
            for change in [
                Sandbox.TokenChanges(header: #"{"kid":"unknown"}"#), .init(signature: .otherKey), .init(expired: true),
            ] {
                #expect(
                    try await world.service.signInWithApple(try await world.appleToken("kim", change)).status == 401)
                #expect(
                    try await world.service.signInWithGoogle(try await world.googleToken("kim", change)).status == 401)
            }
        }

        private static func headers(naming file: String, _ url: String) throws -> [String] {
            let forms = try Fixtures.file("key-headers.json").decoded(as: [String].self)
            let places = [file, "../../../../../..\(file)", "file://\(file)", url, "|cat \(file)", "$(cat \(file))"]
            return places.flatMap { place in forms.map { $0.replacing("{place}", with: place) } }
        }

        @Test func `a token that names a file or an address in its header has neither opened nor connected to`()
            async throws
        {
            let elsewhere = try LoopbackServer { _ in [.respond(200, text: #"{"keys":[]}"#)] }
            let file = try World.privateFile("named-in-a-header", "a key")
            try await ScratchDatabase.withMigrated { scratch in
                try await Sandbox.run { sandbox in
                    try await World.registerClients(at: sandbox)
                    try await sandbox.addApplePerson("kim", #"{"email":"kim@example.com"}"#)
                    try await sandbox.addGooglePerson("kim", #"{"email":"kim@example.com"}"#)
                    let usual = try await traced(scratch, sandbox, postPlainTokens)
                    // The trace has what the service does reach.
                    #expect(usual.contains { $0.hasPrefix("connect ") && $0.contains("AF_INET") })
                    #expect(usual.contains { $0.hasPrefix("open ") && $0.contains("keyring") })

                    let all = try await traced(scratch, sandbox) { world in
                        try await postPlainTokens(world)
                        for header in try Self.headers(naming: file, "\(elsewhere.url)/keys") {
                            let change = Sandbox.TokenChanges(header: header, signature: .otherKey)
                            let apple = try await world.service.signInWithApple(
                                try await world.appleToken("kim", change))
                            #expect(apple.status == 401, "\(header)")
                            let google = try await world.service.signInWithGoogle(
                                try await world.googleToken("kim", change))
                            #expect(google.status == 401, "\(header)")
                        }
                    }
                    #expect(all.subtracting(usual) == [])
                }
            }
            #expect(elsewhere.history.opened == 0)
        }
    }
}

/// What strace writes of one process and its threads.
private struct Trace {
    private let file = FileManager.default.temporaryDirectory.appending(path: "countersign-trace-\(UUID().uuidString)")

    /// With `-D` the tracer is no parent of the service: signals and the exit status are the service's own.
    var launcher: [String] {
        ["/usr/bin/strace", "-D", "-f", "-o", file.path, "-e", "trace=open,openat,openat2,connect,execve"]
    }

    private var lines: [Substring] { (try? String(contentsOf: file, encoding: .utf8))?.split(separator: "\n") ?? [] }

    func hasEnd(of process: Int32) -> Bool {
        lines.contains { $0.hasPrefix("\(process) ") && $0.contains("+++ exited with") }
    }

    /// `open` and a path, `execve` and a path, or `connect` and an address. Without what the runtime reads of the machine
    /// and of its own threads.
    var reached: Set<String> {
        var reached: Set<String> = []
        for line in lines {
            guard let opening = line.firstIndex(of: "("), let call = line[..<opening].split(separator: " ").last else {
                continue
            }
            let rest = line[opening...]
            if call == "connect" {
                guard let start = rest.firstIndex(of: "{"), let end = rest.firstIndex(of: "}") else { continue }
                reached.insert("connect \(rest[start...end])")
            } else if call.hasPrefix("open") || call == "execve" {
                let quoted = rest.split(separator: "\"", omittingEmptySubsequences: false)
                guard quoted.count > 2 else { continue }
                let path = quoted[1]
                guard !path.hasPrefix("/proc/"), !path.hasPrefix("/sys/") else { continue }
                reached.insert("\(call == "execve" ? "execve" : "open") \(path)")
            }
        }
        return reached
    }

    func remove() { try? FileManager.default.removeItem(at: file) }
}
