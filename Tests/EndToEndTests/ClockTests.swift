import Curl
import Foundation
import HTTPServer
import JSON
import Primitives
import TestSupport
import Testing

/// A service whose wall clock is wrong, or is set while it runs: libfaketime gives one process another time than the
/// sandbox, the database and the process beside it have.
@Suite(.limitedConcurrency, .timeLimit(.minutes(30))) struct ClockTests {
    private static let hour: Int64 = 3600
    /// From 2026 that is 2045: 32-bit seconds end in 2038.
    private static let nineteenYears: Int64 = 600_000_000

    /// The process with the other clock.
    private struct Shifted: Sendable {
        let url: String
        let offset: URL
        let fetcher: CurlFetcher

        func set(_ seconds: Int64) throws {
            // Atomically: the file is read whenever the clock is.
            try Data("\(seconds < 0 ? "" : "+")\(seconds)\n".utf8).write(to: offset, options: .atomic)
        }

        func post(_ path: String, _ members: TokenMint.Members) async throws -> Answer {
            let type = [(name: "Content-Type", value: "application/json")]
            return try await answer(FetchRequest(.post, url: url + path, headers: type, body: members.bytes))
        }

        func account(_ session: Answer) async throws -> Answer {
            let bearer = try "Bearer " + text("accessToken", of: session)
            return try await answer(
                FetchRequest(url: url + "/v1/account", headers: [(name: "Authorization", value: bearer)]))
        }

        func signIn(_ token: String) async throws -> Answer {
            try await post("/v1/sign-in/google", ["idToken": .string(token)])
        }

        func refresh(_ session: Answer) async throws -> Answer {
            let token = try text("refreshToken", of: session)
            return try await post("/v1/sessions/refresh", ["refreshToken": .string(token)])
        }

        /// A text of a session, which a refresh returns alone and other calls return beside the account.
        func text(_ name: String, of session: Answer) throws -> String {
            try session.text(session.json?["session"] == nil ? name : "session.\(name)")
        }

        private func answer(_ request: FetchRequest) async throws -> Answer {
            Answer(try await fetcher.fetch(request.uncontended))
        }
    }

    private static func environment(_ world: World, _ port: UInt16, _ offset: URL) throws -> [String: String] {
        let settings = try World.settings(world.scratch, world.sandbox).merging([
            "server.port": "\(port)", "admin.port": "\(try FreePort.choose(1)[0])",
            "apple.clientIds": Countersign.appleClient, "google.clientIds": Countersign.googleClient,
            "keyring.path": try Countersign.keyRingPath.get(),
        ]) { _, own in own }
        var environment = [
            // The dynamic linker replaces `$LIB` by the directory of this architecture.
            "LD_PRELOAD": "/usr/$LIB/faketime/libfaketime.so.1", "FAKETIME_NO_CACHE": "1",
            "FAKETIME_TIMESTAMP_FILE": offset.path, "DONT_FAKE_MONOTONIC": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        ]
        for (key, value) in settings {
            let words = key.map { $0 == "." ? "_" : $0.isUppercase ? "_\($0)" : $0.uppercased() }
            environment["COUNTERSIGN_" + words.joined()] = value
        }
        return environment
    }

    private func shifted(_ body: (World, Shifted, SideProcess) async throws -> Void) async throws {
        try await World.run { world in
            let port = try FreePort.choose(1)[0]
            let offset = FileManager.default.temporaryDirectory.appending(
                path: "countersign-clock-\(UUID().uuidString)")
            let other = Shifted(url: "http://127.0.0.1:\(port)", offset: offset, fetcher: try CurlFetcher())
            try other.set(0)
            let serve = "/proc/\(world.service.processID)/exe"
            // libfaketime extends the environment of the first process that loads it, and a Swift program then lacks
            // its arguments; so that process is a shell. It also prints the number in the names of the remaining files.
            let words = ["-c", #"echo $$; exec "$@""#, "sh", serve, "serve"]
            try await SideProcess.run(
                "/bin/sh", environment: try Self.environment(world, port, offset), prepare: { _ in words }
            ) { process in
                defer {
                    let number = process.log.prefix(while: \.isNumber)
                    for file in ["/dev/shm/faketime_shm_\(number)", "/dev/shm/sem.faketime_sem_\(number)", offset.path]
                    {
                        try? FileManager.default.removeItem(atPath: file)
                    }
                }
                try await eventually("the service with the other clock") {
                    let keys = FetchRequest(url: other.url + "/.well-known/jwks.json")
                    return (try? await other.fetcher.fetch(keys).status) == 200
                }
                try await body(world, other, process)
                #expect(process.isRunning)
                #expect(!process.log.contains("request failed unexpectedly"))
                await other.fetcher.shutdown()
            }
        }
    }

    /// Expects that the session of an answer works, and that its times are those of the clock that it was made by.
    private func expectUse(_ session: Answer, ahead: Int64, _ other: Shifted) async throws {
        #expect(session.status == 200, "\(ahead) s: \(session.text)")
        let token = try other.text("accessToken", of: session)
        let payload = try #require(token.split(separator: ".").dropFirst().first)
        let claims = try JSONValue(parsing: try #require(Base64URL.decode(String(payload))))
        let issued = try #require(claims["iat"]?.integer)
        #expect(try #require(claims["exp"]?.integer) - issued == 900)
        #expect(abs(issued - ahead - Int64(Date().timeIntervalSince1970)) < 300, "\(ahead) s: \(issued)")
        let end = try Date(try other.text("refreshExpiresAt", of: session), strategy: .iso8601)
        #expect(Int64(end.timeIntervalSince1970) > issued + 86_400)
        #expect(try await other.account(session).status == 200)
    }

    @Test func `a clock that is wrong or set while it runs refuses tokens of another time, and sessions go on`()
        async throws
    {
        try await shifted { world, other, _ in
            try await world.newPerson("kim")
            let ticket = try await other.signIn(try await world.googleToken("kim")).text("linkTicket")
            var session = try await other.post("/v1/links/create", ["linkTicket": .string(ticket)])
            #expect(session.status == 201)

            for ahead in [300, 0, -300, 0, -Self.hour, 0] {
                let access = try await other.account(session)
                try other.set(ahead)
                let signedIn = try await other.signIn(try await world.googleToken("kim"))
                if ahead < 0 {
                    // By this clock, issued more than a minute in the future.
                    #expect(signedIn.code == "invalid_token", "\(ahead) s: \(signedIn.text)")
                    #expect(try await other.account(session).code == "invalid_session")
                } else {
                    try await expectUse(signedIn, ahead: ahead, other)
                }
                #expect(access.status == 200)
                session = try await other.refresh(session)
                try await expectUse(session, ahead: ahead, other)
                // After the return from an hour ago the access token has expired: it had 15 minutes.
                if ahead == -Self.hour { session = try await returnToPresent(session, other) }
            }
        }
    }

    private func returnToPresent(_ session: Answer, _ other: Shifted) async throws -> Answer {
        try other.set(0)
        #expect(try await other.account(session).code == "invalid_session")
        return try await other.refresh(session)
    }

    @Test func `after 2038 people sign in as before, and a clock that is there too early deletes nothing`() async throws
    {
        try await shifted { world, other, process in
            try await world.newPerson("kim")
            let ticket = try await other.signIn(try await world.googleToken("kim")).text("linkTicket")
            let created = try await other.post("/v1/links/create", ["linkTicket": .string(ticket)])
            try other.set(Self.nineteenYears)
            #expect(try await other.account(created).code == "invalid_session")
            #expect(try await other.refresh(created).code == "invalid_refresh_token")
            #expect(try await other.signIn(try await world.googleToken("kim")).code == "invalid_token")

            let now = Int64(Date().timeIntervalSince1970) + Self.nineteenYears
            let claims = Sandbox.TokenChanges(claims: #"{"iat":\#(now),"exp":\#(now + Self.hour)}"#)
            let signedIn = try await other.signIn(try await world.googleToken("kim", nonce: nil, claims))
            try await expectUse(signedIn, ahead: Self.nineteenYears, other)
            try await expectUse(try await other.refresh(signedIn), ahead: Self.nineteenYears, other)

            // By this clock the first session ended years ago, and its row would be deleted.
            try await eventually("a log line about the difference") {
                process.log.contains(#""reason":"clock_differs""#)
            }
            let token = try other.text("refreshToken", of: created)
            #expect(try await world.service.refresh(token).status == 200)
        }
    }
}
