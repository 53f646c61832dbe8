import Accounts
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
@Suite(.timeLimit(.minutes(2))) struct PersonalDataExportTests {
    private static let owner = ChangeOrigin(actor: .person, requestID: "r1")

    private static func document(
        of id: AccountID, bytes: Int = .max, in fixture: SignInFixture
    ) async throws -> (text: String, json: JSONValue) {
        var document: [UInt8] = []
        let isFound = try await PersonalDataExport(store: fixture.stores.personalData).export(
            id, bytes: bytes, at: fixture.clock.now(), from: owner
        ) { document += $0 }
        #expect(isFound)
        let json = try JSONValue(parsing: document, limits: JSONLimits(maximumBytes: 8 << 20))
        return (String(decoding: document, as: UTF8.self), json)
    }

    /// The rows of a table in the document.
    private static func rows(of table: ExportedTable, in json: JSONValue) throws -> [JSONValue] {
        let value = try #require(json[table.member], "\(table.member)")
        return table.form == .object ? [value] : try #require(value.elements, "\(table.member)")
    }

    @Test func `each column that is exported is in the document, and nothing of another person`() async throws {
        try await SignInFixture.run { fixture in
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
            #expect(json.members?.map(\.name) == ["exportedAt"] + ExportedTable.all.map(\.member) + ["incompleteLists"])
            #expect(json["exportedAt"]?.string == fixture.clock.now().rfc3339)
            #expect(json["incompleteLists"]?.elements?.isEmpty == true)
            #expect(json["account"]?["accountId"]?.string == "\(kim.id)")
            #expect(json["account"]?["hasPassword"]?.bool == true)
            #expect(json["identities"]?.elements?.first?["blocked"]?["reason"]?.string == "kim-block")
            #expect(json["emailReplacements"]?.elements?.first?["email"]?.string == "k***@example.com")
            #expect(!text.contains("zoe-"))
            #expect(!text.contains("zoe@"))
        }
    }

    @Test func `no secret is in the document, and nothing that one is found by`() async throws {
        try await SignInFixture.run { fixture in
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
    }

    @Test func `of what others did in the account, where they called from stays out`() async throws {
        try await SignInFixture.run { fixture in
            let kim = try await RecordedPerson("kim", in: fixture.database, at: fixture.clock.now())
            let (text, json) = try await Self.document(of: kim.id, in: fixture)
            let events = (json["auditEvents"]?.elements ?? []).filter { $0["type"]?.string == "revocation_requested" }
            #expect(
                Set(events.map { $0["actor"]?.string }) == [
                    "person", "operator", "administrator", "provider", "service",
                ])
            for event in events {
                let isOwn = event["actor"]?.string == "person"
                #expect(event["network"]?.string == (isOwn ? "kim-person-network" : nil))
                #expect(event["requestId"]?.string == (isOwn ? "kim-person-request" : nil))
            }
            // That of the administrator who has requested another address.
            #expect(!text.contains("kim-request"))
        }
    }

    @Test(arguments: ["stated", "claimed"])
    func `what is mailed to an address that is not proven stays out, for it may be another's`(proof: String)
        async throws
    {
        try await SignInFixture.run { fixture in
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
    }

    @Test func `an account without anything is an object and empty lists`() async throws {
        try await SignInFixture.run { fixture in
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
    }

    @Test func `a long list is complete, the newest first, and a bounded one says that it is not`() async throws {
        try await SignInFixture.run { fixture in
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
            func audited(_ json: JSONValue) -> [JSONValue] {
                (json["auditEvents"]?.elements ?? []).filter { $0["type"]?.string == "signed_in" }
            }
            let (text, whole) = try await Self.document(of: account.id, in: fixture)
            let reasons = audited(whole).compactMap { $0["reason"]?.string }.compactMap { Int($0) }
            #expect(Set(reasons) == Set(1...1_234))
            #expect(reasons.count == 1_234)
            #expect(reasons.map { $0 / 7 } == reasons.map { $0 / 7 }.sorted())
            #expect(whole["incompleteLists"]?.elements?.isEmpty == true)

            let size = text.utf8.count
            for (bytes, isCut) in [(20_000, true), (size / 2, true), (size * 2, false)] {
                let (text, bounded) = try await Self.document(of: account.id, bytes: bytes, in: fixture)
                let names = bounded["incompleteLists"]?.elements?.map(\.string)
                #expect(names == (isCut ? ["auditEvents"] : []), "\(bytes)")
                let rest = audited(bounded).compactMap { $0["reason"]?.string }.compactMap { Int($0) }
                #expect(rest == Array(reasons.prefix(rest.count)), "\(bytes)")
                #expect(!rest.isEmpty)
                // The last row, and the names of the lists.
                if isCut { #expect(bytes..<bytes + 2_000 ~= text.utf8.count, "\(bytes)") }
            }
        }
    }

    @Test func `lists behind the bound are named if they have rows, and the account is there all the same`()
        async throws
    {
        try await SignInFixture.run { fixture in
            let kim = try await RecordedPerson("kim", in: fixture.database, at: fixture.clock.now())
            try await fixture.database.execute("DELETE FROM identity_transfers")
            let (_, json) = try await Self.document(of: kim.id, bytes: 1, in: fixture)
            #expect(json["account"]?["email"]?.string == "kim@example.com")
            let lists = ExportedTable.all.filter { $0.form == .list }.map(\.member)
            for list in lists { #expect(json[list]?.elements?.isEmpty == true, "\(list)") }
            #expect(
                json["incompleteLists"]?.elements?.compactMap(\.string) == lists.filter { $0 != "identityTransfers" })
        }
    }

    @Test func `an answer has four megabytes of what is stored, the newest`() async throws {
        try await SignInFixture.run { fixture in
            let signedIn = try await fixture.register("kim@example.com")
            try await fixture.database.execute(
                """
                INSERT INTO audit_events (event_id, type, actor, account_id, reason, created_at)
                SELECT gen_random_uuid(), 'signed_in', 'person', \(signedIn.account.id),
                    'row-' || number || '-' || repeat('x', 1000), \(fixture.clock.now()) - number * interval '1 minute'
                FROM generate_series(1, 6000) number
                """)
            let document = try await fixture.service.accounts.export(
                of: try await fixture.opened(signedIn), client: fixture.client)
            #expect(4_000_000...4_005_000 ~= document.count)
            let text = String(decoding: document, as: UTF8.self)
            #expect(text.contains("\"row-1-x"))
            #expect(!text.contains("\"row-6000-x"))
            #expect(text.hasSuffix(#""incompleteLists":["auditEvents"]}"#))
            let admin = try await fixture.administered()
            let other = try await admin.administration.export(signedIn.account.id, by: admin.administrator)
            #expect(4_000_000...4_005_000 ~= other.count)
        }
    }

    // MARK: Who gets it

    @Test func `the owner gets it in a fresh session, five times an hour, and each time is recorded`() async throws {
        try await SignInFixture.run {
            $0.limits = [.exportPerAccount: .limit(count: 5, seconds: 3_600)]
        } _: { fixture in
            let signedIn = try await fixture.register("kim@example.com")
            let other = try await fixture.register("ada@example.com")
            let session = try await fixture.opened(signedIn)
            @Sendable func export(_ session: Session) async throws -> JSONValue {
                try JSONValue(
                    parsing: try await fixture.service.accounts.export(of: session, client: fixture.client))
            }
            for _ in 0..<5 {
                #expect(try await export(session)["account"]?["email"]?.string == "kim@example.com")
            }
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
    }

    @Test func `a third at the same time is neither made, nor counted, nor recorded`() async throws {
        try await SignInFixture.run {
            $0.limits = [.exportPerAccount: .limit(count: 1, seconds: 3_600)]
        } _: { fixture in
            let underWay = PersonalDataExport.concurrency()
            let accounts = try fixture.service(exports: underWay).accounts
            let administration = Administration(
                stores: fixture.stores, exports: underWay, clock: fixture.clock, mailLanguages: [])
            let administrator = try await fixture.administered().administrator
            let signedIn = try await fixture.register("kim@example.com")
            let session = try await fixture.opened(signedIn)
            let ended: Void?? = try await underWay.admit { () async throws in
                try await underWay.admit { () async throws in
                    await expectFailure(.overloaded(retryAfter: 1)) {
                        try await accounts.export(of: session, client: fixture.client)
                    }
                    await #expect(throws: AdministrationFailure.overloaded(retryAfter: 1)) {
                        try await administration.export(signedIn.account.id, by: administrator)
                    }
                }
            }
            #expect(ended != nil)
            #expect(try await fixture.count("audit_events WHERE type = 'account_exported'") == 0)
            _ = try await accounts.export(of: session, client: fixture.client)
            _ = try await administration.export(signedIn.account.id, by: administrator)
            #expect(try await fixture.count("audit_events WHERE type = 'account_exported'") == 2)
        }
    }

    @Test func `an administrator gets it, also of a disabled account, and it is recorded with the key's name`()
        async throws
    {
        try await SignInFixture.run { fixture in
            let admin = try await fixture.administered()
            let kim = try await RecordedPerson("kim", in: fixture.database, at: fixture.clock.now())
            let document = try await admin.administration.export(kim.id, by: admin.administrator)
            let json = try JSONValue(parsing: document)
            #expect(json["account"]?["status"]?.string == "disabled")
            let export = json["auditEvents"]?.elements?.first { $0["type"]?.string == "account_exported" }
            #expect(export?["actorName"]?.string == AdministrationFixture.keyName)

            await #expect(throws: AdministrationFailure.notFound) {
                try await admin.administration.export(
                    AccountID(now: fixture.clock.now()), by: admin.administrator)
            }
            #expect(try await fixture.count("audit_events WHERE type = 'account_exported'") == 1)
        }
    }
}
