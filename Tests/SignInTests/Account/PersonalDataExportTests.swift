import Accounts
import Administration
import Foundation
import JSON
import OpenSSL
import Postgres
import Primitives
import SignIn
import Storage
import TestSupport
import Testing

/// What the export of a person's data holds, and what it doesn't.
@Suite(.fixture(SignInFixture.self), .timeLimit(.minutes(2))) struct PersonalDataExportTests {
    var fixture: SignInFixture { .current }

    private static let owner = ChangeOrigin(actor: .person, requestID: "r1")

    private static func document(
        of id: AccountID, in fixture: SignInFixture
    ) async throws -> (text: String, json: JSONValue) {
        let export = try await PersonalDataExport(
            of: id, from: fixture.storage.personalData, by: .at(fixture.clock.now(), from: owner))
        return try await document(try #require(export))
    }

    private static func document(_ export: PersonalDataExport) async throws -> (text: String, json: JSONValue) {
        var document: [UInt8] = []
        try await export.write { document += $0 }
        let json = try JSONValue(parsing: document, limits: JSONLimits(maximumBytes: 16 << 20))
        return (String(decoding: document, as: UTF8.self), json)
    }

    /// The rows of a table in the document.
    private static func rows(of table: ExportedTable, in json: JSONValue) throws -> [JSONValue] {
        let value = try #require(json[table.member], "\(table.member)")
        return table.form == .object ? [value] : try #require(value.elements, "\(table.member)")
    }

    @Test func `each column that is exported is in the document, and nothing of another person`() async throws {
        let kim = try await RecordedPerson("kim", in: fixture.database, at: fixture.clock.now())
        _ = try await RecordedPerson("zoe", in: fixture.database, at: fixture.clock.now())
        let (text, json) = try await Self.document(of: kim.id, in: fixture)
        for table in ExportedTable.all {
            let rows = try Self.rows(of: table, in: json)
            for column in table.columns {
                let isThere = rows.contains { row in
                    (column.group.map { row[$0] } ?? row)?[column.member] != nil
                }
                #expect(isThere, "\(table.member): \(column.member)")
            }
        }
        #expect(json.members?.map(\.name) == ["exportedAt"] + ExportedTable.all.map(\.member))
        #expect(json["exportedAt"]?.string == fixture.clock.now().rfc3339)
        #expect(json["account"]?["accountId"]?.string == "\(kim.id)")
        #expect(json["account"]?["hasPassword"]?.bool == true)
        #expect(json["identities"]?.elements?.first?["blocked"]?["reason"]?.string == "kim-block")
        #expect(json["emailReplacements"]?.elements?.first?["email"]?.string == "k***@example.com")
        #expect(!text.contains("zoe-"))
        #expect(!text.contains("zoe@"))
    }

    @Test func `no secret is in the document, and nothing that one is found by`() async throws {
        let kim = try await RecordedPerson("kim", in: fixture.database, at: fixture.clock.now())
        let text = try await Self.document(of: kim.id, in: fixture).text
        for secret in kim.secrets {
            let digest = Data(SHA256.hash(Array(secret.utf8)))
            let base64 = digest.base64EncodedString()
            let forms = [
                secret, digest.map { String(format: "%02x", $0) }.joined(), base64,
                base64.replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: ""),
            ]
            for form in forms { #expect(!text.contains(form), "\(secret)") }
        }
        // The generation of a refresh token.
        #expect(!text.contains("987654321"))
    }

    @Test func `of what others did in the account, where they called from stays out`() async throws {
        let kim = try await RecordedPerson("kim", in: fixture.database, at: fixture.clock.now())
        let (text, json) = try await Self.document(of: kim.id, in: fixture)
        let events = (json["auditEvents"]?.elements ?? []).filter { $0["type"]?.string == "revocation_requested" }
        #expect(
            Set(events.map { $0["actor"]?.string }) == ["person", "operator", "administrator", "provider", "service"])
        for event in events {
            let isOwn = event["actor"]?.string == "person"
            #expect(event["network"]?.string == (isOwn ? "kim-person-network" : nil))
            #expect(event["requestId"]?.string == (isOwn ? "kim-person-request" : nil))
        }
        // That of the administrator who has requested another address.
        #expect(!text.contains("kim-request"))
    }

    @Test(arguments: [
        "guess_rejected", "rate_limited", "link_required", "email_stated", "email_reclaimed", "refresh_reused",
        "web_code_reused", "client_unlinked",
    ])
    func `from where another may have come stays out`(type: String) async throws {
        let kim = try await RecordedPerson("kim", in: fixture.database, at: fixture.clock.now())
        try await fixture.database.execute(
            """
            INSERT INTO audit_events (event_id, type, actor, account_id, reason, request_id, network, created_at)
            VALUES (gen_random_uuid(), \(type), 'person', \(kim.id), 'password', 'guesser-request',
                'guesser-network', \(fixture.clock.now()))
            """)
        let (text, json) = try await Self.document(of: kim.id, in: fixture)
        let guesses = (json["auditEvents"]?.elements ?? []).filter { $0["type"]?.string == type }
        #expect(guesses.count == 1)
        #expect(!text.contains("guesser-"))
    }

    @Test(arguments: ["stated", "claimed"])
    func `what is mailed to an address that is not proven stays out, for it may be another's`(proof: String)
        async throws
    {
        let kim = try await RecordedPerson("kim", in: fixture.database, at: fixture.clock.now())
        for list in ["mailedCodes", "waitingMails"] {
            #expect(try await Self.document(of: kim.id, in: fixture).json[list]?.elements?.count == 1, "\(list)")
        }
        try await fixture.database.execute(
            "UPDATE accounts SET email_proof = \(proof), email_verified = \(proof != "claimed")")
        let json = try await Self.document(of: kim.id, in: fixture).json
        #expect(json["account"]?["emailProof"]?.string == proof)
        for list in ["mailedCodes", "waitingMails"] { #expect(json[list]?.elements?.isEmpty == true, "\(list)") }
    }

    @Test(.fixture(LifeCycleFixture.self))
    func `a grant that is yet to be revoked is in it, also once its identity is unlinked`() async throws {
        let life = LifeCycleFixture.current
        let account = try await life.bind(
            try await life.ticket(try await life.consent(.google)), to: try await life.account(.apple))
        let apple = try #require(account.account.identities.first { $0.key.provider == .apple })
        try await life.service.accounts.unlink(apple.id, of: try await life.opened(account), by: life.call)
        let export = try await PersonalDataExport(
            of: account.account.id, from: life.storage.personalData, by: .at(life.clock.now(), from: Self.owner))
        let json = try await Self.document(try #require(export)).json
        let grants = try #require(json["providerGrants"]?.elements)
        #expect(grants.compactMap { $0["provider"]?.string }.sorted() == ["apple", "google"])
    }

    @Test func `an account without anything is an object and empty lists`() async throws {
        let account = try await fixture.register("kim@example.com").account
        try await fixture.database.execute("DELETE FROM sessions")
        let json = try await Self.document(of: account.id, in: fixture).json
        #expect(json["account"]?["email"]?.string == "kim@example.com")
        #expect(json["account"]?["emailProof"]?.string == "claimed")
        #expect(json["account"]?["pendingEmail"] == nil)
        for table in ExportedTable.all where table.form == .list && table.name != "audit_events" {
            #expect(json[table.member]?.elements?.isEmpty == true, "\(table.member)")
        }
    }

    @Test func `a long list is complete, the newest first`() async throws {
        let account = try await fixture.register("kim@example.com").account
        try await fixture.database.execute("DELETE FROM audit_events")
        // Several at each time, so that a page ends among them.
        try await fixture.database.execute(
            """
            INSERT INTO audit_events (event_id, type, actor, account_id, reason, created_at)
            SELECT gen_random_uuid(), 'signed_in', 'person', \(account.id), number::text,
                \(fixture.clock.now()) - (number / 7) * interval '1 minute'
            FROM generate_series(1, 1234) number
            """)
        let (_, whole) = try await Self.document(of: account.id, in: fixture)
        let reasons = (whole["auditEvents"]?.elements ?? []).filter { $0["type"]?.string == "signed_in" }
            .compactMap { $0["reason"]?.string }.compactMap { Int($0) }
        #expect(Set(reasons) == Set(1...1_234))
        #expect(reasons.count == 1_234)
        #expect(reasons.map { $0 / 7 } == reasons.map { $0 / 7 }.sorted())
    }

    @Test func `a document without a bound is written in parts of a page at most`() async throws {
        let signedIn = try await fixture.register("kim@example.com")
        try await fixture.database.execute(
            """
            INSERT INTO audit_events (event_id, type, actor, account_id, reason, created_at)
            SELECT gen_random_uuid(), 'signed_in', 'person', \(signedIn.account.id),
                'row-' || number || '-' || repeat('x', 1000), \(fixture.clock.now()) - number * interval '1 minute'
            FROM generate_series(1, 6000) number
            """)
        let export = try await fixture.service.accounts.export(of: try await fixture.opened(signedIn), by: fixture.call)
        var parts: [Int] = []
        try await export.write { parts.append($0.count) }
        #expect(parts.reduce(0, +) > 6_000_000)
        // 200 rows.
        #expect((parts.max() ?? 0) < 300_000)
        let text = try await Self.document(of: signedIn.account.id, in: fixture).text
        for number in [1, 4_000, 6_000] { #expect(text.contains("\"row-\(number)-x")) }
    }

    @Test func `an export during which its account is deleted does not end as a whole document`() async throws {
        let signedIn = try await fixture.register("kim@example.com")
        // More than a page, of a list that is not the last.
        try await fixture.database.execute(
            """
            INSERT INTO sessions (session_id, account_id, rotated_at, auth_time, amr, created_at, last_used_at, expires_at)
            SELECT gen_random_uuid(), \(signedIn.account.id), t, t, '{pwd}', t, t, t + interval '60 days'
            FROM generate_series(1, 300), CAST(\(fixture.clock.now()) AS timestamptz) t
            """)
        let export = try await fixture.service.accounts.export(of: try await fixture.opened(signedIn), by: fixture.call)
        await #expect(throws: Refusal.accountNotFound) {
            try await export.write { _ in
                // By who reads the first part.
                guard try await fixture.count("accounts") == 1 else { return }
                try await fixture.deleteAccount(signedIn)
            }
        }
        #expect(try await fixture.count("accounts") == 0)
    }

    // MARK: Who gets it

    /// Runs `body` where an account has so many exports an hour.
    private static func run(exports count: Int, _ body: (SignInFixture) async throws -> Void) async throws {
        let limit = RateLimit.limit(count: count, seconds: 3_600)
        try await SignInFixture.run(configure: { $0.limits = [.exportPerAccount: limit] }, body)
    }

    @Test(.fixture { try await PersonalDataExportTests.run(exports: 5, $0) })
    func `the owner gets it in a fresh session, five times an hour, and each time is recorded`() async throws {
        let signedIn = try await fixture.register("kim@example.com")
        let other = try await fixture.register("ada@example.com")
        let session = try await fixture.opened(signedIn)
        @Sendable func export(_ session: Session) async throws -> JSONValue {
            try await Self.document(try await fixture.service.accounts.export(of: session, by: fixture.call)).json
        }
        for _ in 0..<5 { #expect(try await export(session)["account"]?["email"]?.string == "kim@example.com") }
        try await expectFailure("rateLimited") { try await export(session) }
        // The limit is the account's own.
        _ = try await export(try await fixture.opened(other))
        let recorded = try await fixture.count(
            """
            audit_events
            WHERE type = 'account_exported' AND actor = 'person' AND account_id = \(signedIn.account.id)
                AND request_id = \(fixture.client.requestID)
            """)
        #expect(recorded == 5)

        fixture.clock.advance(by: 720)
        try await expectFailure("reauthenticationRequired") { try await export(session) }
        let fresh = try await fixture.opened(try await fixture.signIn("kim@example.com"))
        _ = try await export(fresh)
    }

    @Test(.fixture { try await PersonalDataExportTests.run(exports: 2, $0) })
    func `one more than are written at once is neither begun, nor counted, nor recorded`() async throws {
        let accounts = try fixture.service(exports: FairLimit(running: 1)).accounts
        let administration = Administration(database: fixture.storage.pool, clock: fixture.clock, mailLanguages: [])
        let administrator = try await fixture.administered().administrator
        let signedIn = try await fixture.register("kim@example.com")
        let session = try await fixture.opened(signedIn)
        // A place is taken from the beginning to the end of the document, however slowly it is read.
        var exports = [try await accounts.export(of: session, by: fixture.call)]
        for _ in 1...4 { exports.append(try await administration.export(signedIn.account.id, by: administrator)) }
        for export in exports { _ = try await Self.document(export) }
        await expectFailure(.overloaded(retryAfter: 1)) { try await accounts.export(of: session, by: fixture.call) }
        await #expect(throws: AdministrationFailure.overloaded(retryAfter: 1)) {
            try await administration.export(signedIn.account.id, by: administrator)
        }
        #expect(try await fixture.count("audit_events WHERE type = 'account_exported'") == 5)
        exports = []
        _ = try await accounts.export(of: session, by: fixture.call)
        _ = try await administration.export(signedIn.account.id, by: administrator)
        #expect(try await fixture.count("audit_events WHERE type = 'account_exported'") == 7)
    }

    @Test func `an account has two of the places, and the others are for other people`() async throws {
        let accounts = fixture.service.accounts
        let kim = try await fixture.opened(try await fixture.register("kim@example.com"))
        let robin = try await fixture.opened(try await fixture.register("robin@example.com"))
        var exports = [
            try await accounts.export(of: kim, by: fixture.call), try await accounts.export(of: kim, by: fixture.call),
        ]
        await expectFailure(.overloaded(retryAfter: 1)) { try await accounts.export(of: kim, by: fixture.call) }
        exports.append(try await accounts.export(of: robin, by: fixture.call))
        exports.removeFirst()
        exports.append(try await accounts.export(of: kim, by: fixture.call))
        for export in exports { _ = try await Self.document(export) }
    }

    @Test
    func `an administrator gets it, also of a disabled account, and it is recorded with the key's name`() async throws {
        let admin = try await fixture.administered()
        let kim = try await RecordedPerson("kim", in: fixture.database, at: fixture.clock.now())
        let json = try await Self.document(try await admin.administration.export(kim.id, by: admin.administrator)).json
        #expect(json["account"]?["status"]?.string == "disabled")
        let export = json["auditEvents"]?.elements?.first { $0["type"]?.string == "account_exported" }
        #expect(export?["actorName"]?.string == AdministrationFixture.keyName)

        await #expect(throws: AdministrationFailure.notFound) {
            try await admin.administration.export(AccountID(now: fixture.clock.now()), by: admin.administrator)
        }
        #expect(try await fixture.count("audit_events WHERE type = 'account_exported'") == 1)
    }
}
