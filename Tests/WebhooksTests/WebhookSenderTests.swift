import Accounts
import Curl
import Synchronization
import TestSupport
import Testing

@testable import Webhooks

/// What the sender asks of the address that a connection goes to, by every spelling of one.
@Suite struct WebhookSenderTests {
    private static func send(_ url: String, allowing networks: [String] = []) async throws -> WebhookOutcome {
        let targets = try #require(WebhookTargets(allowing: networks))
        let endpoint = WebhookEndpoint(
            name: "crm", url: url, types: [], secrets: [try WebhookSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")])
        return try await withFetcher { fetcher in
            let sender = WebhookSender(fetcher: fetcher, targets: targets, clock: ManualClock(at: 1_767_225_600))
            return await sender.test(endpoint)
        }
    }

    private static let hosts = [
        "localhost", "127.0.0.1", "127.0.0.2", "127.1", "127.0.1", "2130706433", "017700000001", "0x7f000001", "0x7f.1",
        "0177.0.0.1", "127.0.0.1.", "0", "0.0.0.0", "[::1]", "[::]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]", "[::127.0.0.1]", "kim:secret@127.0.0.1", "１２７.0.0.1", "127.0.0.1%00.example",
    ]

    @Test(arguments: hosts)
    func `no spelling of this machine is connected to`(_ host: String) async throws {
        let listener = try LoopbackServer { _ in [.respond(204)] }
        let port = try #require(listener.url.split(separator: ":").last)
        for scheme in ["http", "https"] {
            let outcome = try await Self.send("\(scheme)://\(host):\(port)/hook")
            guard case .failed(let error, _, _) = outcome else {
                Issue.record("\(scheme)://\(host) was answered: \(outcome)")
                continue
            }
            let refusals: [WebhookError] = [.addressRefused, .resolveFailed, .connectFailed, .timedOut]
            #expect(refusals.contains(error), "\(scheme)://\(host): \(error)")
        }
        #expect(listener.history.opened == 0)
        // By the plain spelling it is there where that network is allowed.
        #expect(
            try await Self.send("http://127.0.0.1:\(port)/hook", allowing: ["127.0.0.1"]) == .delivered(status: 204))
    }

    @Test func `a receiver asks for time in seconds or by a date`() async throws {
        let asked = Mutex("")
        let listener = try LoopbackServer { _ in
            [.respond(503, headers: [("Retry-After", asked.withLock { $0 })])]
        }
        func seconds(_ header: String) async throws -> Int64? {
            asked.withLock { $0 = header }
            guard
                case .failed(.status(503), 503, let seconds) = try await Self.send(
                    listener.url, allowing: ["127.0.0.1"])
            else { return nil }
            return seconds
        }
        for (header, expected) in [
            ("120", 120), ("0", 0), ("-5", -5), ("Thu, 01 Jan 2026 12:00:00 GMT", 43_200),
            ("Thursday, 01-Jan-26 00:01:00 GMT", 60), ("Thu Jan  1 00:00:01 2026", 1),
            ("Wed, 31 Dec 2025 23:59:00 GMT", -60), ("soon", 0), ("", 0), ("99999999999999999999", 0),
        ] as [(String, Int64)] { #expect(try await seconds(header) == expected, "\(header)") }
    }

    @Test(arguments: [
        "file:///etc/passwd", "gopher://127.0.0.1/_x", "ftp://127.0.0.1/x", "dict://127.0.0.1/x", "smtp://127.0.0.1",
        "//127.0.0.1/", "127.0.0.1", "https://", "https:///x", "javascript:alert(1)",
        "",
    ])
    func `no other scheme and no other form is used`(_ url: String) async throws {
        let outcome = try await Self.send(url, allowing: ["0.0.0.0/0", "::/0"])
        guard case .failed(let error, _, _) = outcome else {
            Issue.record("\(url) was answered: \(outcome)")
            return
        }
        #expect(![.timedOut, .redirected].contains(error), "\(url): \(error)")
    }
}
