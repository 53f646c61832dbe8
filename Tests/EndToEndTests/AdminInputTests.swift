import HTTPServer
import Postgres
import TestSupport
import Testing

/// Hostile input in the URL of an admin call, sent with a key for every scope.
@Suite(.limitedConcurrency, .world, .timeLimit(.minutes(30))) struct AdminInputTests: WorldSuite {
    /// Texts, percent-encoded for a query.
    private static let hostile = [
        "'", "%27%20OR%201=1%20--%20", "%27;%20DROP%20TABLE%20accounts;%20--", "%22", "%5C%27", "%25", "_%25", "$1",
        "{}",
        "%28SELECT%201%29", "%7B%22a%22:1%7D", "E%27%5C047", "\u{2019}".percentEncoded, "\u{10FFFF}".percentEncoded,
        "\u{1F511}".percentEncoded, "a\u{301}".percentEncoded, "%EF%BB%BF", "-1", "0", "9223372036854775808", "NaN",
        "infinity", "../..", "%2E%2E%2F", "MC4x", String(repeating: "x", count: 1024),
    ]
    /// Values that are no text: NUL, other controls, and bytes that are not UTF-8.
    private static let malformed = [
        "%00", "a%00b", "%0A", "%7F", "%FF", "%C0%AF", "%ED%A0%80", "%F4%90%80%80", "%E2%82", "%", "%4", "%GG",
        "%u0041",
    ]

    private static func call(
        _ method: String, _ path: String, key: String, in world: World
    ) async throws -> Int {
        let answer = try await RawConnection.exchange(
            world.service.privatePort,
            """
            \(method) /admin/v1\(path) HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: Bearer \(key)\r\n\
            Content-Length: 0\r\n\r\n
            """)
        return answer.status
    }

    private static let filters = [
        "/accounts": ["email", "emailPrefix", "name", "subject", "provider", "status", "limit", "cursor"],
        "/audit-events": ["accountId", "type", "since", "limit", "cursor"],
        "/revocations": ["status", "limit", "cursor"], "/outbox": ["status", "limit", "cursor"],
        "/provider-events": ["limit", "cursor"], "/feed": ["after", "types", "limit", "wait"],
    ]

    @Test func `a hostile text in any filter finds nothing and breaks nothing`() async throws {
        let key = try await world.adminKey("read,revoke,manage", name: "e2e")
        let id = try await world.newAccount("admin-input-1").text("account.accountId")
        for (path, names) in Self.filters {
            for name in names {
                for text in Self.hostile {
                    let status = try await Self.call("GET", "\(path)?\(name)=\(text)", key: key, in: world)
                    #expect([200, 400].contains(status), "\(path)?\(name)=\(text)")
                }
                for text in Self.malformed {
                    let status = try await Self.call("GET", "\(path)?\(name)=\(text)", key: key, in: world)
                    #expect(status == 400, "\(path)?\(name)=\(text)")
                }
            }
        }
        #expect(try await Self.call("GET", "/accounts/\(id)", key: key, in: world) == 200)
    }

    @Test func `a hostile text in place of an id is not found`() async throws {
        let key = try await world.adminKey("read,revoke,manage", name: "e2e")
        let id = try await world.newAccount("admin-input-2").text("account.accountId")
        let near = [
            id.uppercased(), "{\(id)}", id.replacing("-", with: ""), id + "%00", id + "%20", id + "'", "%2E", "..",
        ]
        let templates = [
            ("GET", "/accounts/ID"), ("GET", "/accounts/ID/sessions"), ("GET", "/accounts/ID/audit-events"),
            ("DELETE", "/accounts/ID"), ("POST", "/accounts/ID/replace-email"),
            ("DELETE", "/accounts/ID/replace-email"), ("DELETE", "/sessions/ID"), ("GET", "/identities/ID"),
            ("DELETE", "/identities/ID"), ("POST", "/identities/ID/unblock"), ("GET", "/revocations/ID"),
            ("POST", "/revocations/ID/retry"),
            ("POST", "/provider-events/ID/replay"),
        ]
        for (method, template) in templates {
            for text in Self.hostile + Self.malformed + near {
                let path = template.replacing("ID", with: text)
                #expect(
                    try await Self.call(method, path, key: key, in: world) == 404, "\(method) \(path)")
            }
        }
        #expect(try await Self.call("GET", "/accounts/\(id)", key: key, in: world) == 200)
    }
}

extension String {
    /// Every byte, percent-encoded.
    fileprivate var percentEncoded: String {
        let digits = Array("0123456789ABCDEF")
        return String(utf8.flatMap { ["%", digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
    }
}
