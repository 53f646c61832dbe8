import Foundation
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

    /// The clock of one process.
    private struct Clock: Sendable {
        /// Has the seconds by which it is ahead.
        let file: URL

        func set(_ seconds: Int64) throws {
            // Atomically: the file is read whenever the clock is.
            try Data("\(seconds < 0 ? "" : "+")\(seconds)\n".utf8).write(to: file, options: .atomic)
        }
    }

    private func shifted(_ body: (World, Countersign, Clock) async throws -> Void) async throws {
        let directory = try ScratchDirectory()
        defer { directory.remove() }
        let clock = Clock(file: directory.url.appending(path: "offset"))
        try clock.set(0)
        let environment = [
            // The dynamic linker replaces `$LIB` by the directory of this architecture.
            "LD_PRELOAD=/usr/$LIB/faketime/libfaketime.so.1", "FAKETIME_NO_CACHE=1",
            "FAKETIME_TIMESTAMP_FILE=\(clock.file.path)", "DONT_FAKE_MONOTONIC=1", "FAKETIME_DONT_FAKE_MONOTONIC=1",
        ]
        // libfaketime extends the environment of the first process that loads it, and a Swift program then lacks its
        // arguments; so that process is a shell.
        let launcher = ["/usr/bin/env"] + environment + ["/bin/sh", "-c", #"exec "$@""#, "sh"]
        try await World.run { world in
            try await World.serve(world.scratch, world.sandbox, launcher: launcher) { other in
                defer {
                    for name in ["faketime_shm", "sem.faketime_sem"] {
                        try? FileManager.default.removeItem(atPath: "/dev/shm/\(name)_\(other.service.processID)")
                    }
                }
                try await body(world, other.service, clock)
                #expect(other.service.isRunning)
                // Not by a shutdown, which is no matter of clocks.
                await other.service.kill(SIGKILL)
            }
        }
    }

    /// Expects that the session of an answer works, and that its times are those of the clock that it was made by.
    private func expectUse(_ session: Answer, ahead: Int64, _ other: Countersign) async throws {
        #expect(session.status == 200, "\(ahead) s: \(session.text)")
        let token = try session.sessionText("accessToken")
        let payload = try #require(token.split(separator: ".").dropFirst().first)
        let claims = try JSONValue(parsing: try #require(Base64URL.decode(String(payload))))
        let issued = try #require(claims["iat"]?.integer)
        #expect(try #require(claims["exp"]?.integer) - issued == 900)
        #expect(abs(issued - ahead - Int64(Date().timeIntervalSince1970)) < 300, "\(ahead) s: \(issued)")
        let end = try Date(try session.sessionText("refreshExpiresAt"), strategy: .iso8601)
        #expect(Int64(end.timeIntervalSince1970) > issued + 86_400)
        #expect(try await other.account(of: session).status == 200)
    }

    @Test func `a clock that is wrong or set while it runs refuses tokens of another time, and sessions go on`()
        async throws
    {
        try await shifted { world, other, clock in
            try await world.newPerson("kim")
            let ticket = try await other.signInWithGoogle(try await world.googleToken("kim")).linkTicket()
            var session = try await other.create(ticket)
            #expect(session.status == 201)

            for ahead in [300, 0, -300, 0, -Self.hour, 0] {
                let access = try await other.account(of: session)
                try clock.set(ahead)
                let signedIn = try await other.signInWithGoogle(try await world.googleToken("kim"))
                if ahead < 0 {
                    // By this clock, issued more than a minute in the future.
                    #expect(signedIn.code == "invalid_token", "\(ahead) s: \(signedIn.text)")
                    #expect(try await other.account(of: session).code == "invalid_session")
                } else {
                    try await expectUse(signedIn, ahead: ahead, other)
                }
                #expect(access.status == 200)
                session = try await other.refresh(of: session)
                try await expectUse(session, ahead: ahead, other)
                // After the return from an hour ago the access token has expired: it had 15 minutes.
                if ahead == -Self.hour {
                    try clock.set(0)
                    #expect(try await other.account(of: session).code == "invalid_session")
                    session = try await other.refresh(of: session)
                }
            }
        }
    }

    @Test func `after 2038 people sign in as before, and a clock that is there too early deletes nothing`() async throws
    {
        try await shifted { world, other, clock in
            try await world.newPerson("kim")
            let ticket = try await other.signInWithGoogle(try await world.googleToken("kim")).linkTicket()
            let created = try await other.create(ticket)
            try clock.set(Self.nineteenYears)
            #expect(try await other.account(of: created).code == "invalid_session")
            #expect(try await other.refresh(of: created).code == "invalid_refresh_token")
            #expect(try await other.signInWithGoogle(try await world.googleToken("kim")).code == "invalid_token")

            let now = Int64(Date().timeIntervalSince1970) + Self.nineteenYears
            let claims = Sandbox.TokenChanges(claims: #"{"iat":\#(now),"exp":\#(now + Self.hour)}"#)
            let signedIn = try await other.signInWithGoogle(try await world.googleToken("kim", nonce: nil, claims))
            try await expectUse(signedIn, ahead: Self.nineteenYears, other)
            try await expectUse(try await other.refresh(of: signedIn), ahead: Self.nineteenYears, other)

            // By this clock the first session ended years ago, and its row would be deleted.
            try await eventually("a log line about the difference") { other.log.contains(#""reason":"clock_differs""#) }
            let token = try created.sessionText("refreshToken")
            #expect(try await world.service.refresh(token).status == 200)
        }
    }
}

extension Answer {
    /// A text of a session, which a refresh returns alone and other calls return beside the account.
    fileprivate func sessionText(_ name: String) throws -> String {
        try text(json?["session"] == nil ? name : "session.\(name)")
    }
}

extension Countersign {
    fileprivate func account(of session: Answer) async throws -> Answer {
        try await get("/v1/account", bearer: try session.sessionText("accessToken"))
    }

    fileprivate func refresh(of session: Answer) async throws -> Answer {
        try await refresh(try session.sessionText("refreshToken"))
    }
}
