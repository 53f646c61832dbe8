import Curl
import JOSE
import Providers
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct KeySetFaultTests {
    static let key = #"{"kty":"EC","crv":"P-256","kid":"x","x":"AA","y":"AA"}"#
    static let endless = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

    static let faults: [ServerFault] = [
        ServerFault(
            "HTML", "malformed", .respond(headers: [("Content-Type", "text/html")], text: "<html>maintenance</html>")),
        ServerFault("an empty body", "malformed", .respond()),
        ServerFault("no keys", "no usable key", .respond(text: #"{"keys":[]}"#)),
        ServerFault("keys that can't be used", "no usable key", .respond(text: #"{"keys":[\#(key)]}"#)),
        ServerFault("33 keys", "too many keys", .respond(text: "{\"keys\":[" + list(33) + "]}")),
        ServerFault("10,000 keys", "too_large", .respond(text: "{\"keys\":[" + list(10_000) + "]}")),
        ServerFault("no array of keys", "not a key set", .respond(text: #"{"keys":{}}"#)),
        ServerFault("an array", "not a key set", .respond(text: "[]")),
        ServerFault("duplicate members", "malformed", .respond(text: #"{"keys":[],"keys":[]}"#)),
        ServerFault("UTF-16", "malformed", .respond(body: [0xFF, 0xFE, 0x7B, 0, 0x7D, 0])),
        ServerFault(
            "100 MB", "too_large", .send(endless),
            .repeated(Array("10\r\n0123456789abcdef\r\n".utf8), times: 6_553_600)),
        ServerFault(
            "gzip", "malformed", .respond(headers: [("Content-Encoding", "gzip")], body: [0x1F, 0x8B, 0x08, 0, 0, 0])),
        ServerFault(
            "a body byte by byte", "timed_out", .send(endless),
            .drip([UInt8](repeating: 0x31, count: 99), every: .seconds(1))),
        ServerFault("no answer", "timed_out", .hold),
        ServerFault("truncated", "closed", .send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"keys\":["), .close),
        ServerFault("reset", "closed", .reset),
        ServerFault("a redirect", "status 302", .respond(302, headers: [("Location", "http://127.0.0.1:1/keys")])),
        ServerFault("not modified", "status 304", .respond(304)),
        ServerFault("another success", "status 203", .respond(203, body: good)),
        ServerFault("too many requests", "status 429", .respond(429, body: good)),
        ServerFault("an outage", "status 503", .respond(503)),
    ]

    static let good = (try? TokenMint.shared.keySetDocument) ?? []

    static func list(_ count: Int) -> String { [String](repeating: key, count: count).joined(separator: ",") }

    @Test(arguments: faults)
    func `a fault leaves the good set in place and is tried again`(fault: ServerFault) async throws {
        try await withKeyServer(answering: .keys("a")) { keys in
            #expect(try await keys.has("a"))
            keys.script.set(fault.steps, timeout: fault.timeout(.milliseconds(200)))
            keys.clock.advance(by: 3_600)
            await keys.cache.refresh()
            #expect(keys.cache.status == .init(keyCount: 1, age: 3_600, failures: 1))
            #expect(try await keys.has("a"))
            let warnings = keys.log.lines.filter { $0.hasPrefix("warning ") }
            #expect(warnings.count == 1)
            #expect(warnings.first?.contains(fault.report) == true)

            keys.script.set(try .keys("a", "b"))
            keys.clock.advance(by: 1)
            await keys.cache.refresh()
            #expect(keys.cache.status == .init(keyCount: 2, age: 0, failures: 1))
            #expect(try await keys.has("b"))
        }
    }

    @Test(arguments: faults)
    func `a fault of the first fetch leaves no keys`(fault: ServerFault) async throws {
        try await withKeyServer(answering: .respond()) { keys in
            keys.script.set(fault.steps, timeout: fault.timeout(.milliseconds(200)))
            await #expect(throws: CredentialRefusal(.keysUnavailable, retryAfter: 1)) { try await keys.has("a") }
            #expect(keys.cache.status == .init(keyCount: 0, age: nil, failures: 1))
            #expect(keys.log.lines.contains { $0.hasPrefix("warning ") && $0.contains(fault.report) })
        }
    }

    @Test func `failed fetches are spaced out, up to five minutes`() async throws {
        try await withKeyServer(answering: .keys("a")) { keys in
            await keys.cache.refresh()
            keys.script.set(.respond(503))
            keys.clock.advance(by: 3_600)
            await keys.cache.refresh()
            var fetches = 2
            for pause: Int64 in [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300] {
                keys.clock.advance(by: pause - 1)
                let hasOld = try await keys.has("a")
                #expect(hasOld)
                await keys.cache.refresh()
                #expect(keys.fetches == fetches)
                keys.clock.advance(by: 1)
                await keys.cache.refresh()
                fetches += 1
                #expect(keys.fetches == fetches)
            }
        }
    }

    @Test
    func `without keys the wait is four seconds at most, and the first good fetch ends the outage`() async throws {
        try await withKeyServer(answering: .respond(503)) { keys in
            for pause: Int64 in [1, 2, 4, 4, 4, 4] {
                await #expect(throws: CredentialRefusal(.keysUnavailable, retryAfter: pause)) {
                    try await keys.has("a")
                }
                keys.clock.advance(by: pause - 1)
                let before = keys.fetches
                await #expect(throws: CredentialRefusal(.keysUnavailable, retryAfter: 1)) { try await keys.has("a") }
                #expect(keys.fetches == before)
                keys.clock.advance(by: 1)
            }
            keys.script.set(try .keys("a"))
            #expect(try await keys.has("a"))
        }
    }

    @Test func `a thousand that come during an outage cause one fetch`() async throws {
        try await withKeyServer(answering: .hold, .respond(503)) { keys in
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<1_000 {
                    group.addTask {
                        await #expect(throws: CredentialRefusal(.keysUnavailable, retryAfter: 1)) {
                            try await keys.has("a")
                        }
                    }
                }
                await keys.server.history { $0.requests.count == 1 }
                keys.server.release()
            }
            #expect(keys.fetches == 1)
        }
    }

    @Test func `keys are believed for 24 hours after the last good fetch and not a second longer`() async throws {
        try await withKeyServer(answering: .keys("a")) { keys in
            #expect(try await keys.has("a"))
            keys.script.set(.close)
            keys.clock.advance(by: 86_399)
            #expect(try await keys.has("a"))
            await keys.cache.refresh()
            #expect(keys.cache.status.keyCount == 1)
            keys.clock.advance(by: 1)
            #expect(keys.cache.status.keyCount == 0)
            #expect(keys.cache.status.age == 86_400)
            await #expect(throws: CredentialRefusal(.keysUnavailable, retryAfter: 2)) { try await keys.has("a") }
            keys.script.set(try .keys("a"))
            keys.clock.advance(by: 2)
            #expect(try await keys.has("a"))
            #expect(keys.cache.status.age == 0)
        }
    }
}
