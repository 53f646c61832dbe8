import Foundation
import JSON
import Postgres
import Primitives
import TestSupport
import Testing

/// People of another system, from the command that brings them in to their first sign-in.
@Suite(.limitedConcurrency, .world, .timeLimit(.minutes(30))) struct ImportedPersonTests: WorldSuite {
    static func `import`(
        _ name: String, _ rows: [String], into scratch: ScratchDatabase, undo: Bool = false
    ) async throws -> Countersign.Ending {
        let file = FileManager.default.temporaryDirectory.appending(path: "rows-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data(rows.joined(separator: "\n").utf8).write(to: file)
        let words = undo ? ["undo", name] : ["ndjson", file.path, "--id", name, "--apple-team", "main"]
        return try await scratch.run(["import"] + words)
    }

    private static func claims(_ token: String) throws -> JSONValue {
        let part = try #require(token.split(separator: ".").dropFirst().first)
        return try JSONValue(parsing: try #require(Base64URL.decode(String(part))))
    }

    @Test func `an imported person signs in as before, is known by the old id everywhere, and stays at an undo`()
        async throws
    {
        try await world.newPerson("imported-kim")
        let token = try await world.appleToken("imported-kim")
        let subject = try #require(try Self.claims(token)["sub"]?.string)
        let rows = [
            #"{"externalId":"old/1","email":"imported@example.com","emailVerified":true,"displayName":"Kim Imported","#
                + #""passwordHash":"$2y$04$mIJxfrCaEI3GukZe11CiXublhEFanu5.ododkll1WphfSp6pn4zIu"}"#,
            #"{"externalId":"old/2","identities":[{"provider":"apple","subject":"\#(subject)"}]}"#,
            #"{"externalId":"old/3","email":"untouched@example.com"}"#,
        ]
        try await Self.import("moved", rows, into: scratch).expecting(0)

        try await world.signIn("imported@example.com", password: "wrong").expecting(401)
        for _ in 0..<2 {
            let signedIn = try await world.signIn("imported@example.com", password: "test").expecting(200)
            #expect(try signedIn.text("account.externalId") == "old/1")
            #expect(try signedIn.text("account.emailProof") == "stated")
            #expect(try Self.claims(signedIn.bearer())["external_id"]?.string == "old/1")
            let refreshed = try await service.refresh(try signedIn.refreshToken())
            #expect(try Self.claims(refreshed.text("accessToken"))["external_id"]?.string == "old/1")
        }
        let byApple = try await world.signIn("imported-kim", with: .apple)
        #expect(try byApple.text("status") == "signedIn")
        #expect(try byApple.text("account.externalId") == "old/2")

        let found = try await service.administer(
            "GET", "/admin/v1/accounts?externalId=old%2F1", bearer: try await world.adminKey("read"))
        #expect(found.status == 200)
        #expect(found.text.contains("imported@example.com"), "\(found)")
        let visit = try await ConsoleVisit.signedIn(to: world, "read")
        let list = try await visit.open("/console/accounts?q=old%2F3")
        let link = try #require(list.html.links.first { $0.label == "untouched@example.com" })
        #expect(try await visit.browser.click(link.target, on: list).html.text.contains("old/3"))
        let system = try await visit.open("/console/system").html.text
        for word in ["moved", "ndjson", "created 3"] { #expect(system.contains(word), "\(word)") }

        let undone = try await Self.import("moved", [], into: scratch, undo: true).expecting(1)
        #expect(undone.output.contains("old/1") && undone.output.contains("old/2"), "\(undone.output)")
        #expect(!undone.output.contains("old/3"))
        #expect(undone.error.contains("1 removed, 2 kept"), "\(undone.error)")
    }

    @Test func `a person moves here from another installation with the hash that it has made`() async throws {
        func hash(of id: String) async throws -> String {
            try #require(try await scratch.texts("SELECT password_hash FROM accounts WHERE external_id = \(id)").first)
        }
        func row(_ id: String, hash: String) -> String {
            #"{"externalId":"\#(id)","email":"\#(id)@example.com","passwordHash":"\#(hash)"}"#
        }
        let bcrypt = "$2y$04$mIJxfrCaEI3GukZe11CiXublhEFanu5.ododkll1WphfSp6pn4zIu"
        #expect(try await Self.import("there", [row("there", hash: bcrypt)], into: scratch).status == 0)
        #expect(try await world.signIn("there@example.com", password: "test").status == 200)
        let made = try await hash(of: "there")
        try #require(made.hasPrefix("$scrypt$ln="))

        let run = try await Self.import("moving", [row("moving", hash: made)], into: scratch)
        #expect(run.status == 0 && !run.output.contains("notes"), "\(run.output)\(run.error)")
        #expect(try await hash(of: "moving") == String(made.dropFirst()))
        #expect(try await world.signIn("moving@example.com", password: "wrong").status == 401)
        for _ in 0..<2 { #expect(try await world.signIn("moving@example.com", password: "test").status == 200) }
        let replaced = try await hash(of: "moving")
        #expect(replaced.hasPrefix("$scrypt$ln=") && replaced != made)
    }

    /// What `deploy/export/accounts.sql` writes.
    private static func exported(from scratch: ScratchDatabase) async throws -> [String] {
        let root = URL(filePath: #filePath).appending(path: "../../..").standardized
        let text = try String(contentsOf: root.appending(path: "deploy/export/accounts.sql"), encoding: .utf8)
        return try await scratch.withPool { try await $0.query(SQL(unsafeSQL: text), as: String.self) }
    }

    @Test func `everybody is exported as rows that another installation takes whole`() async throws {
        let row =
            #"{"externalId":"kim","email":"kim@example.com","emailVerified":true,"displayName":"Kim “K” Lee","#
            + #""createdAt":"2024-05-06T07:08:09Z","disabled":true,"identities":[{"provider":"apple","subject":"001.kim","#
            + #""email":"x@privaterelay.appleid.com","emailVerified":true,"linkedAt":"2025-05-06T07:08:09Z"},"#
            + #"{"provider":"google","subject":"109"}],"passwordHash":"$scrypt$ln=14,r=8,p=1$c2FsdHNhbHQ$"#
            + String(repeating: "A", count: 43) + #""}"#
        var rows = [
            row,
            #"{"externalId":"lee","identities":[{"provider":"google","subject":"110"},{"provider":"apple","subject":"001.lee"}]}"#,
        ]
        var written: [[String]] = []
        for name in ["first", "second"] {
            try await ScratchDatabase.withFresh { other in
                #expect(try await Countersign.run(["migrate", "up"], ["postgres.url": other.url]).status == 0)
                let run = try await Self.import(name, rows, into: other)
                #expect(run.status == 0 && !run.output.contains("notes"), "\(run.output)\(run.error)")
                // What Google has disabled it reports here alone, and an older release leaves an address without a degree.
                try await other.execute(
                    "UPDATE identities SET blocked_at = now(), block_reason = 'hijacking' WHERE subject = '110'",
                    """
                    INSERT INTO accounts (account_id, email, email_verified, created_at)
                    VALUES (gen_random_uuid(), 'ann@example.com', false, now())
                    ON CONFLICT DO NOTHING
                    """)
                rows = try await Self.exported(from: other)
            }
            // All but the ids, which are each installation's own.
            written.append(rows.map { String($0.drop { $0 != "," }) }.sorted())
        }
        #expect(written[0] == written[1])
        #expect(written[0].count == 3 && !written[0].contains { $0.contains("\"110\"") }, "\(written[0])")
        #expect(written[0].contains { $0.contains("ann@") && $0.contains("\"emailVerified\":false") })
        let kim = try JSONValue(parsing: Array(try #require(rows.first { $0.contains("kim@") }).utf8))
        let original = try JSONValue(parsing: Array(row.utf8))
        for member in ["email", "emailVerified", "displayName", "createdAt", "disabled", "passwordHash"] {
            #expect(kim[member]?.string == original[member]?.string && kim[member]?.bool == original[member]?.bool)
        }
        #expect(kim["identities"]?.elements?.map { $0["subject"]?.string } == ["109", "001.kim"])
    }

    /// What `Tests/Django/people.py` makes in a database.
    private static func makeDjango(in scratch: ScratchDatabase) async throws {
        let root = URL(filePath: #filePath).appending(path: "../../..").standardized
        let run = try await FinishedProcess.run(
            root.appending(path: ".local/python/bin/python"),
            [root.appending(path: "Tests/Django/people.py").path, scratch.url])
        try #require(run.code == 0, "Scripts/python-environment installs what it needs; \(run.errors)")
    }

    @Test func `people of a real django-allauth sign in with the passwords that Django hashed`() async throws {
        try await ScratchDatabase.withFresh { other in
            try await Self.makeDjango(in: other)
            let words = [
                "allauth", "--from", other.url, "--id", "django", "--apple-team", "main", "--provider-alias",
                "siwa=apple",
            ]
            let run = try await world.run(["import"] + words).expecting(0)
            #expect(!run.output.contains("notes"), "\(run.output)")
            #expect(run.error.contains("created 7"), "\(run.error)")
            for hasher in ["pbkdf2", "pbkdf2sha1", "argon2", "bcryptsha256", "scrypt"] {
                let email = "\(hasher)@example.com"
                let wrong = try await world.signIn(email, password: "letmein")
                #expect(wrong.status == 401, "\(hasher)")
                for _ in 0..<2 {
                    let signedIn = try await world.signIn(email, password: "lètmein")
                    #expect(signedIn.status == 200, "\(hasher): \(signedIn)")
                    #expect(try signedIn.text("account.emailProof") == "stated")
                }
            }
            let found = try await service.administer(
                "GET", "/admin/v1/accounts?provider=google&subject=109", bearer: try await world.adminKey("read"))
            #expect(found.text.contains("kim@example.com"), "\(found)")
            let inactive = try await service.administer(
                "GET", "/admin/v1/accounts?email=lee@example.com", bearer: try await world.adminKey("read"))
            #expect(inactive.text.contains(#""status":"disabled""#), "\(inactive)")
        }
    }
}
