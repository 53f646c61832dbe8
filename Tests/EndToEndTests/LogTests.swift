import Foundation
import JSON
import TestSupport
import Testing

/// The log of a running service, searched by request id.
@Suite(.limitedConcurrency, .timeLimit(.minutes(30))) struct LogTests {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"

    @Test func `a log line of a use case names the request and the trace that it is a part of`() async throws {
        try await World.run(["apple.tokenUrl": "http://127.0.0.1:1/auth/token"]) { world in
            try await world.newPerson("kim")
            let credential = try await world.authorize("kim", .apple)
            let answer = try await world.service.post(
                "/v1/sign-in/apple", credential.both,
                headers: [("X-Request-Id", "looked-for"), ("traceparent", "00-\(Self.trace)-00f067aa0ba902b7-01")])
            #expect(answer.status == 200)
            _ = try await world.service.logged("looked-for")
            let lines = try world.service.logLines().filter { $0["requestId"]?.string == "looked-for" }
            let messages = lines.compactMap { $0["message"]?.string }
            #expect(messages.contains("code not exchanged"))
            #expect(messages.contains("request"))
            #expect(lines.allSatisfy { $0["traceId"]?.string == Self.trace })
            #expect(lines.allSatisfy { $0["parentId"]?.string == "00f067aa0ba902b7" })
        }
    }

    @Test func `the log has emails and client addresses only where personal data is allowed`() async throws {
        for isAllowed in [true, false] {
            try await World.run(["log.personalData": "\(isAllowed)"]) { world in
                try await world.newPerson("kim", email: "kim@example.com")
                let ticket = try await world.signIn("kim", with: .apple)
                let wrong = try await world.signIn("lee@example.com", password: "wrong-password")
                for (answer, email) in [(ticket, "kim@example.com"), (wrong, "lee@example.com")] {
                    let line = try await world.service.logged(try #require(answer.header("X-Request-Id")))
                    #expect(line["email"]?.string == (isAllowed ? email : nil))
                    #expect(line["client"]?.string == (isAllowed ? "127.0.0.1" : nil))
                }
                #expect(world.service.log.contains("@example.com") == isAllowed)
            }
        }
    }

    @Test(arguments: ["pipe", "openpty"])
    func `a log that nobody reads holds neither the requests nor the end of the service`(_ ends: String) async throws {
        try await World.run { world in
            // The service has the other end itself.
            let script = """
                import os, sys
                read, write = os.\(ends)()
                os.set_inheritable(read, True)
                os.dup2(write, 2)
                os.execv(sys.argv[1], sys.argv[1:])
                """
            let launcher = ["/usr/bin/python3", "-c", script]
            try await World.serve(world.scratch, world.sandbox, launcher: launcher) { other in
                // Their lines are more than the pipe holds.
                for _ in 0..<600 {
                    let answer = try await other.service.get("/.well-known/jwks.json")
                    #expect(answer.status == 200)
                }
                other.service.send(SIGTERM)
                #expect(await other.service.end().status == 0)
            }
        }
    }
}
