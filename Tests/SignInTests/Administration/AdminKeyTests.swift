import Accounts
import Administration
import Postgres
import SignIn
import Storage
import TestSupport
import Testing

/// The keys of administrators, checked against their rows in the database.
@Suite(.fixture(SignInFixture.self)) struct AdminKeyTests {
    var fixture: SignInFixture { .current }

    private func makeKey(_ scopes: Set<AdminKey.Scope> = [.read]) async throws -> (key: AdminKey, secret: AdminSecret) {
        try await AdministrationFixture.makeKey(scopes, in: fixture.storage, at: fixture.clock.now())
    }

    private func authenticate(
        _ text: String?, for scope: AdminKey.Scope = .read
    ) async throws(AdministrationFailure) -> Administrator {
        try await Administration(
            database: fixture.storage.pool, refusals: fixture.service.refusals, clock: fixture.clock, mailLanguages: []
        ).administrator(
            presenting: text.map { Array($0.utf8) }, for: scope, by: fixture.call(by: AdministrationFixture.client))
    }

    @Test(arguments: AdminKey.Scope.allCases)
    func `a key opens what its scope says and nothing else`(scope: AdminKey.Scope) async throws {
        let (key, secret) = try await makeKey([scope])
        for asked in AdminKey.Scope.allCases {
            // Who may read everything may read the feed.
            if asked == scope || (scope, asked) == (.read, .feed) {
                #expect(try await authenticate(secret.text, for: asked).name == key.name)
            } else {
                await #expect(throws: AdministrationFailure.forbidden) {
                    try await authenticate(secret.text, for: asked)
                }
            }
        }
    }

    @Test func `an unknown key, a revoked one, a malformed one and none at all are refused alike`() async throws {
        let (key, secret) = try await makeKey()
        _ = try await authenticate(secret.text)
        #expect(try await fixture.storage.adminKeys.revoke(key.id, by: .at(fixture.clock.now(), from: .commandLine)))
        let body = secret.text.dropFirst("csa_".count)
        let refused: [String?] = [
            secret.text, try AdminSecret().text, nil, "", "csa_", "csa_x", String(body), "csb_" + body,
            secret.text + "A", String(secret.text.dropLast()), "csa_" + String(repeating: "A", count: 10_000),
            "csa_\u{FF}", "csa_' OR true --",
        ]
        for text in refused {
            await #expect(throws: AdministrationFailure.unknownKey, "\(text ?? "none")") {
                try await authenticate(text)
            }
        }
    }

    @Test func `refused keys are recorded as sums by their network, a revoked one with its name`() async throws {
        let (key, secret) = try await makeKey()
        _ = try await fixture.storage.adminKeys.revoke(key.id, by: .at(fixture.clock.now(), from: .commandLine))
        let unknown = try AdminSecret().text
        // Who brings no key has no wrong one.
        for text in [secret.text, unknown, "csa_x", secret.text, nil, ""] {
            await #expect(throws: AdministrationFailure.unknownKey) { try await authenticate(text) }
        }
        try await fixture.service.refusals.flush()
        let rows = try await fixture.texts(
            """
            SELECT concat_ws(' ', actor, reason, COALESCE(actor_name, '-'), network, request_id, occurrences)
            FROM audit_events WHERE type = 'admin_key_rejected' ORDER BY reason
            """)
        let revoked = "person revoked \(AdministrationFixture.keyName) 192.0.2.0/24 r9 2"
        #expect(rows == [revoked, "person unknown - 192.0.2.0/24 r9 2"])
        let all = try await fixture.texts("SELECT e::text FROM audit_events e").compactMap(\.self).joined()
        for text in [secret.text, unknown] { #expect(!all.contains(text.dropFirst("csa_".count))) }
    }

    @Test func `the database has the digest of a key and not the key`() async throws {
        let secret = try await makeKey().secret
        let row = try #require(try await fixture.texts("SELECT k::text FROM admin_keys k").first ?? nil)
        #expect(!row.contains(secret.text.dropFirst("csa_".count)))
        let hash = secret.hash.bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        #expect(try await fixture.texts("SELECT encode(key_hash, 'hex') FROM admin_keys") == [hash])
    }

    @Test func `that a key is used is noted once a minute`() async throws {
        let secret = try await makeKey().secret
        func writes() async throws -> [String?] {
            // The row's version: each UPDATE makes another.
            try await fixture.texts("SELECT xmin::text || COALESCE(last_used_at::text, '') FROM admin_keys")
        }
        let unused = try await writes()
        _ = try await authenticate(secret.text)
        let first = try await writes()
        #expect(first != unused)
        #expect(try await fixture.storage.adminKeys.list().map(\.lastUsedAt) == [fixture.clock.now()])
        fixture.clock.advance(by: 59)
        _ = try await authenticate(secret.text)
        #expect(try await writes() == first)
        fixture.clock.advance(by: 1)
        _ = try await authenticate(secret.text)
        #expect(try await fixture.storage.adminKeys.list().map(\.lastUsedAt) == [fixture.clock.now()])
    }

    @Test func `a use that lacks the scope is a use too`() async throws {
        let secret = try await makeKey().secret
        await #expect(throws: AdministrationFailure.forbidden) { try await authenticate(secret.text, for: .manage) }
        #expect(try await fixture.storage.adminKeys.list().map(\.lastUsedAt) == [fixture.clock.now()])
    }

    @Test func `that a key is made and revoked is recorded by its name, and once`() async throws {
        let now = fixture.clock.now()
        let key = try await makeKey([.read, .manage]).key
        for _ in 0..<2 { #expect(try await fixture.storage.adminKeys.revoke(key.id, by: .at(now, from: .commandLine))) }
        #expect(try await !fixture.storage.adminKeys.revoke(AdminKeyID(now: now), by: .at(now, from: .commandLine)))
        let rows = try await fixture.texts(
            """
            SELECT concat_ws(' ', type, actor, actor_name, reason)
            FROM audit_events
            WHERE type IN ('admin_key_created', 'admin_key_revoked')
            ORDER BY type
            """)
        let made = "admin_key_created operator kim@support \(key.id) manage,read"
        #expect(rows == [made, "admin_key_revoked operator kim@support \(key.id)"])
    }

    @Test func `who revokes a key by a name of theirs is recorded by it, and the key by its own behind its id`()
        async throws
    {
        let now = fixture.clock.now()
        let key = try await makeKey().key
        #expect(try await fixture.storage.adminKeys.revoke(key.id, by: .at(now, from: .commandLine(named: "kim"))))
        let rows = try await fixture.texts(
            "SELECT concat_ws(' ', actor, actor_name, reason) FROM audit_events WHERE type = 'admin_key_revoked'")
        #expect(rows == ["operator kim \(key.id) kim@support"])
    }

    @Test(.noFixture(SignInFixture.self)) func `a name is a line that the trail can hold, and reads as it is`() {
        for name in [
            "k", "kim@support", "Kim, Köln", "Zoe\u{308}", "نیک\u{200C}پور", "葛\u{E0100}城", "☎\u{FE0E}",
            String(repeating: "k", count: 100),
        ] {
            #expect(AdminKey.isName(name), "\(name)")
        }
        for name in [
            "\u{200B}", "\u{3164}", "\u{2060} \u{FE0F}", "kim\u{202E}troppus", "kim\u{2066}", "kim\u{200B}",
            "kim\u{AD}", "kim\u{34F}", "kim\u{115F}", "kim\u{1160}", "kim\u{180E}", "kim\u{2061}", "kim\u{2065}",
            "kim\u{206A}", "kim\u{206F}", "kim\u{3164}", "kim\u{FFA0}",
        ] {
            #expect(!AdminKey.isName(name) && !OAuthClient.isName(name), "\(name.unicodeScalars)")
            // Keys from before may have it, and what they did is searched for.
            #expect(AuditFilter.ActorCondition(name)?.text == name)
        }
        for name in [
            "", " ", "   ", String(repeating: "k", count: 101), "a\nb", "a\u{7F}", String(repeating: "ö", count: 51),
        ] { #expect(!AdminKey.isName(name), "\(name)") }
    }
}
