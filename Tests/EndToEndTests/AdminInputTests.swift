import Postgres
import TestSupport
import Testing

/// Hostile input in the URL of an admin call, sent with a key for every scope.
@Suite(.limitedConcurrency, .world, .timeLimit(.minutes(30))) struct AdminInputTests: WorldSuite {
    /// Texts, percent-encoded for a query.
    private static let hostile = Result { try Fixtures.file("hostile-texts.json").decoded(as: [String].self) }
    /// Values that are no text: NUL, other controls, and bytes that are not UTF-8.
    private static let malformed = Result { try Fixtures.file("malformed-texts.json").decoded(as: [String].self) }

    private func call(_ method: String, _ path: String, key: String) async throws -> Int {
        try await service.administer(method, "/admin/v1\(path)", bearer: key, headers: "Content-Length: 0\r\n").status
    }

    private static let filters = [
        "/accounts": ["email", "emailPrefix", "name", "subject", "provider", "status", "limit", "cursor"],
        "/audit-events": ["accountId", "type", "since", "limit", "cursor"],
        "/revocations": ["status", "limit", "cursor"], "/outbox": ["status", "limit", "cursor"],
        "/provider-events": ["limit", "cursor"], "/feed": ["after", "types", "limit", "wait"],
    ]

    @Test func `a hostile text in any filter finds nothing and breaks nothing`() async throws {
        try #require(try Self.hostile.get().count == 26 && Self.malformed.get().count == 13)
        let key = try await world.adminKey("read,revoke,manage", name: "e2e")
        let id = try await world.newAccount("admin-input-1").accountID()
        for (path, names) in Self.filters {
            for name in names {
                for text in try Self.hostile.get() {
                    let status = try await call("GET", "\(path)?\(name)=\(text)", key: key)
                    #expect([200, 400].contains(status), "\(path)?\(name)=\(text)")
                }
                for text in try Self.malformed.get() {
                    let status = try await call("GET", "\(path)?\(name)=\(text)", key: key)
                    #expect(status == 400, "\(path)?\(name)=\(text)")
                }
            }
        }
        #expect(try await call("GET", "/accounts/\(id)", key: key) == 200)
    }

    @Test func `a hostile text in place of an id is not found`() async throws {
        let key = try await world.adminKey("read,revoke,manage", name: "e2e")
        let id = try await world.newAccount("admin-input-2").accountID()
        let near = [
            id.uppercased(), "{\(id)}", id.replacing("-", with: ""), id + "%00", id + "%20", id + "'", "%2E", "..",
        ]
        let templates = [
            ("GET", "/accounts/ID"), ("GET", "/accounts/ID/sessions"), ("GET", "/accounts/ID/audit-events"),
            ("DELETE", "/accounts/ID"), ("POST", "/accounts/ID/replace-email"),
            ("DELETE", "/accounts/ID/replace-email"), ("DELETE", "/sessions/ID"), ("GET", "/identities/ID"),
            ("DELETE", "/identities/ID"), ("POST", "/identities/ID/unblock"), ("GET", "/revocations/ID"),
            ("POST", "/revocations/ID/retry"), ("POST", "/provider-events/ID/replay"),
        ]
        for (method, template) in templates {
            for text in try Self.hostile.get() + Self.malformed.get() + near {
                let path = template.replacing("ID", with: text)
                #expect(try await call(method, path, key: key) == 404, "\(method) \(path)")
            }
        }
        #expect(try await call("GET", "/accounts/\(id)", key: key) == 200)
    }
}
