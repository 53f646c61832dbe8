import Foundation
import JOSE
import TestSupport
import Testing

@Suite(.inTurn, .timeLimit(.minutes(5))) struct ShutdownTests {
    @Test func `readiness ends at once, requests are answered while they come and to their end, and the exit is 0`()
        async throws
    {
        try await World.run(["server.drainSeconds": "8"]) { world in
            let service = world.service
            // Two requests that are half there when the signal comes: one ends within the drain, one after it.
            let body = String(decoding: TokenMint.Members(dictionaryLiteral: ("linkTicket", "a")).bytes, as: UTF8.self)
            let head = """
                POST /v1/links/cancel HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r
                Content-Length: \(body.utf8.count)\r\n\r\n
                """
            let early = try RawConnection(service.port)
            let late = try RawConnection(service.port)
            for connection in [early, late] { connection.send(head + body.prefix(3)) }
            let before = try await service.get("/.well-known/jwks.json")
            #expect(before.header("Connection") != "close")

            service.send(SIGTERM)
            try await until("readiness to end") { try await service.privateGet("/health/ready").status == 503 }
            #expect(try await service.privateGet("/health/live").status == 200)
            for _ in 0..<3 {
                let answer = try await service.get("/.well-known/jwks.json")
                #expect(answer.status == 200)
                #expect(answer.header("Connection") == "close")
            }
            early.send(String(body.dropFirst(3)))
            let answered = RawAnswer(await early.readToEnd())
            #expect(answered.status == 204)
            #expect(answered["Connection"] == "close")

            try await until("the end of the drain") { (try? RawConnection(service.port)) == nil }
            #expect(service.isRunning)
            late.send(String(body.dropFirst(3)))
            let answeredLate = RawAnswer(await late.readToEnd())
            #expect(answeredLate.status == 204)
            #expect(answeredLate["Connection"] == "close")
            let ending = await service.end()
            #expect(ending.status == 0)
        }
    }

    @Test func `an interrupt ends it too`() async throws {
        try await World.run { world in
            let ending = await world.service.kill(SIGINT)
            #expect(ending.status == 0)
        }
    }

    /// A request whose work goes on when the signal comes.
    @Test func `a password that is being hashed is answered before the end`() async throws {
        try await World.run { world in
            let registering = Task {
                try await world.service.post(
                    "/v1/accounts", ["email": "kim@example.com", "password": "correct horse battery"])
            }
            try await until("the work to begin") { try memory(of: world.service, "VmHWM") > 100_000 }
            world.service.send(SIGTERM)
            #expect(try await registering.value.status == 201)
            #expect(await world.service.end().status == 0)
        }
    }
}
