import JSON
import Postgres
import TestSupport
import Testing

/// The trail as support searches it: by what it is given, at the console, in the admin API and as a table.
@Suite(.limitedConcurrency, .world, .timeLimit(.minutes(30))) struct TrailSearchTests: WorldSuite {
    private static let request = "01a1fc41-9b43-7a01-afff-a0f49219c0de"
    private static let network = "198.51.100.0/24"

    /// The reasons of the rows that a query of the admin API lists, the newest first.
    private func reasons(_ query: String, _ key: String) async throws -> [String] {
        let answer = try await service.administer("GET", "/admin/v1/audit-events?\(query)", bearer: key).expecting(200)
        return try #require(answer.json?["items"]?.elements).compactMap { $0["reason"]?.string }
    }

    /// Rows of two accounts, two minutes apart, which differ in each column that is searched.
    private func write(_ mark: String) async throws {
        try await scratch.execute(
            """
            INSERT INTO audit_events (event_id, type, actor, actor_name, account_id, identity_id, reason, request_id, network,
                created_at)
            VALUES
                (\(AuditRows.id(1, mark))::uuid, 'account_disabled', 'administrator', \(mark), \(AuditRows.account(mark))::uuid,
                    NULL, \(mark + " 1"), 'request-' || \(mark), \(Self.network), '2026-11-01T00:01:00Z'),
                (\(AuditRows.id(2, mark))::uuid, 'signed_in', 'person', NULL, \(AuditRows.account(mark))::uuid,
                    \(AuditRows.id(9, mark))::uuid, \(mark + " 2"), 'request-' || \(mark), '203.0.113.0/24',
                    '2026-11-01T00:03:00Z')
            """)
    }

    @Test func `each condition finds its rows, and all that are given hold`() async throws {
        let (mark, key) = ("filters", try await world.adminKey("read"))
        try await write(mark)
        let account = "accountId=\(AuditRows.account(mark))"
        let both = ["\(mark) 2", "\(mark) 1"]
        let cases: [(String, [String])] = [
            (account, both), ("request=request-\(mark)", both), ("actor=\(mark)", [both[1]]),
            ("identity=\(AuditRows.id(9, mark))", [both[0]]), ("\(account)&actor=administrator", [both[1]]),
            ("\(account)&actor=person", [both[0]]), ("\(account)&network=198.51.100.7", [both[1]]),
            ("\(account)&network=203.0.113.0/24", [both[0]]), ("\(account)&type=signed_in", [both[0]]),
            ("\(account)&since=2026-11-01T00:03:00Z", [both[0]]), ("\(account)&until=2026-11-01T00:03:00Z", [both[1]]),
            ("request=request-\(mark)&actor=operator", []),
            ("actor=administrator&\(account)&since=2026-11-01T00:02:00Z", []),
        ]
        for (query, expected) in cases { #expect(try await reasons(query, key) == expected, "\(query)") }
        for query in ["actor=", "identity=x", "network=198.51.100.0/16", "network=x", "request=a%20b", "until=x"] {
            let answer = try await service.administer("GET", "/admin/v1/audit-events?\(query)", bearer: key)
            #expect(answer.status == 400, "\(query)")
        }
    }

    @Test func `the reference of a page finds its rows, below people or in place of them`() async throws {
        let visit = try await ConsoleVisit.signedIn(to: world, "read")
        try await scratch.execute(
            """
            INSERT INTO audit_events (event_id, type, actor, reason, request_id, created_at)
            VALUES (gen_random_uuid(), 'credential_rejected', 'person', 'nonce_missing', \(Self.request), now())
            """)
        let page = try await visit.open("/console/accounts?q=\(Self.request)")
        #expect(page.html.text.contains("There is no such account."))
        #expect(page.html.text.contains("nonce_missing"))
        #expect(page.html.links.contains { $0.target == "/console/audit?request=\(Self.request)" })
        // That of a request that left nothing in the trail is in the log.
        let reference = try #require(try await service.get("/v1/nowhere").header("X-Request-Id"))
        _ = try await service.logged(reference)
        let none = try await visit.open("/console/accounts?q=\(reference)")
        #expect(none.html.text.contains("Nothing recorded"))
        #expect(none.html.text.contains("look there for this requestId"))
        #expect(try await !visit.open("/console/accounts?q=kim").html.text.contains("Nothing recorded"))
    }

    @Test func `the trail names accounts by their addresses, and says what is wrong with a search`() async throws {
        let created = try await world.newAccount("trail-named")
        let id = try created.accountID()
        let visit = try await ConsoleVisit.signedIn(to: world, "read")
        let page = try await visit.open("/console/audit?accountId=\(id)&type=account_created")
        let link = try #require(page.html.links.first { $0.target == "/console/accounts/\(id)" })
        #expect(link.label == "trail-named@example.com")
        let sessions = try await visit.open("/console/audit?accountId=\(id.uppercased())&type=signed_in").html.links
            .filter { $0.label == "session" }
        #expect(sessions.map(\.target) == ["/console/accounts/\(id)"])
        for query in ["network=x", "until=yesterday", "identity=1"] {
            let faulty = try await visit.open("/console/audit?\(query)")
            #expect(faulty.status == 400 && faulty.notice != nil, "\(query)")
            #expect(try faulty.form("/console/audit").input("network") != nil)
        }
    }

    @Test func `an account that calls itself by another's address is called by its id`() async throws {
        let id = try await world.newAccount("trail-posing").accountID()
        let name = "trail-posed@example.com"
        try await scratch.execute(
            """
            UPDATE accounts SET email = NULL, email_verified = false, display_name = \(name)
            WHERE account_id = \(id)::uuid
            """)
        let visit = try await ConsoleVisit.signedIn(to: world, "read")
        for (path, label) in [
            ("/console/audit?accountId=\(id)", id), ("/console/accounts?q=\(FormEncoding.encode(name))", "no address"),
        ] {
            let page = try await visit.open(path)
            let links = page.html.links.filter { $0.target == "/console/accounts/\(id)" && $0.label != "session" }
            #expect(Set(links.map(\.label)) == [label], "\(path)")
        }
        let page = try await visit.account(id)
        #expect(page.html.title == "\(id) – Countersign console")
        #expect(page.html.text.contains(name))
    }

    @Test func `spaces that were pasted around what is searched for count in no field of the console`() async throws {
        let mark = "pasted"
        try await write(mark)
        let visit = try await ConsoleVisit.signedIn(to: world, "read")
        let account = "accountId=+\(AuditRows.account(mark))+"
        let cases = [
            (account, [true, true]), ("account=+\(AuditRows.account(mark))", [true, true]),
            ("request=+request-\(mark)+", [true, true]), ("actor=+\(mark)+", [true, false]),
            ("identity=+\(AuditRows.id(9, mark))+", [false, true]),
            ("\(account)&network=+198.51.100.7+", [true, false]),
            ("\(account)&since=+2026-11-01T00:02:00Z+", [false, true]),
            ("\(account)&until=+2026-11-01T00:02:00Z+", [true, false]),
            ("\(account)&since=+2026-11-01+&until=+&type=+", [true, true]),
            ("actor=%09\(mark)%0A", [true, false]), ("\(account)%09&network=%0A%09203.0.113.0/24", [false, true]),
            ("account=%09\(AuditRows.account(mark))", [true, true]),
        ]
        for (query, expected) in cases {
            let page = try await visit.open("/console/audit?\(query)")
            #expect(page.status == 200 && page.notice == nil, "\(query)")
            #expect([1, 2].map { page.html.text.contains("\(mark) \($0)") } == expected, "\(query)")
        }
        let revocation = "/console/revocations?id=+\(AuditRows.id(8, mark))+"
        #expect(try await visit.open(revocation).status == 404)
        #expect(try await visit.open("/console/revocations?id=%09\(AuditRows.id(8, mark))%0A").status == 404)
        // One within is of no text, and the rest of the search stays as it was typed.
        let within = try await visit.open("/console/audit?actor=a%09b&network=198.51.100.7")
        #expect(within.status == 400 && within.notice?.hasPrefix("By: ") == true)
        #expect(try within.form("/console/audit").input("network")?.value == "198.51.100.7")
        let sheet = try await visit.open("/console/audit/csv?actor=%09\(mark)")
        #expect(sheet.status == 200 && sheet.answer.body.contains("\(mark) 1"))
    }

    @Test
    func `a time is searched for as a row shows it, and two that have nothing between them are named`() async throws {
        let mark = "timed"
        try await write(mark)
        let visit = try await ConsoleVisit.signedIn(to: world, "read")
        let path = "/console/audit?accountId=\(AuditRows.account(mark))"
        let all = try await visit.open(path)
        let latest = try #require(all.html.elements("time").first).content
        let pasted = try await visit.browser.submit("/console/audit", on: all, typed: ["since": latest])
        let cases = [
            ("since=2026-11-01+00:02", [false, true]), ("until=2026-11-01+00:03:00", [true, false]),
            ("since=2026-11-01&until=2026-11-02", [true, true]),
        ]
        var pages = [(latest, pasted, [false, true])]
        for (query, expected) in cases { pages.append((query, try await visit.open("\(path)&\(query)"), expected)) }
        for (query, page, expected) in pages {
            #expect(page.status == 200 && page.notice == nil, "\(query)")
            #expect([1, 2].map { page.html.text.contains("\(mark) \($0)") } == expected, "\(query)")
        }
        for query in ["since=2026-11-02&until=2026-11-01+23:59", "since=2026-11-01&until=2026-11-01T00:00:00Z"] {
            let page = try await visit.open("/console/audit?\(query)")
            #expect(page.status == 400 && page.notice?.hasPrefix("Until has to be later") == true, "\(query)")
        }
        let faulty = try await visit.open("/console/audit?until=yesterday")
        #expect(faulty.notice?.hasPrefix("Until: write a time as 2026-11-23,") == true, "\(faulty.html.text)")
    }

    @Test(.world)
    func `a comparison says that it is of all rows between the first and the last that is shown`() async throws {
        let visit = try await ConsoleVisit.signedIn(to: world, "read")
        for name in ["trail-first", "trail-last"] { _ = try await world.newAccount(name) }
        try await eventually("every row has a seal") {
            try await world.count(
                "SELECT count(*) - COALESCE((SELECT total_count FROM audit_head), -1) FROM audit_events") == 0
        }
        let page = try await visit.open("/console/audit?type=account_created")
        let link = try #require(page.html.links.first { $0.label.hasPrefix("Compare") })
        let compared = try await visit.browser.click(link.target, on: page)
        #expect(compared.html.elements("tbody").first?.content.matches(of: /<tr/).count == 2)
        let notice = try #require(compared.notice)
        #expect(notice.hasPrefix("All rows from the first to the last that is shown, "))
        let rows = try #require(notice.firstMatch(of: /(\d+) under \d+ seals, are as they were sealed\.$/), "\(notice)")
        #expect(try #require(Int(rows.1)) > 2)
    }

    @Test func `CSV has the rows that the filters match, no formula, and leaves a row that says which`() async throws {
        let mark = "sheet"
        try await write(mark)
        try await scratch.execute(
            """
            INSERT INTO audit_events (event_id, type, actor, account_id, reason, created_at)
            VALUES (gen_random_uuid(), 'account_enabled', 'operator', \(AuditRows.account(mark))::uuid,
                \("=HYPERLINK(\"a\"\u{200C}), ü"), '2026-11-01T00:00:00Z')
            """)
        let visit = try await ConsoleVisit.signedIn(to: world, "read", name: "sheets")
        let page = try await visit.open(
            "/console/audit?accountId=\(AuditRows.account(mark))&until=2026-11-01T00:02:00Z")
        let link = try #require(page.html.links.first { $0.label == "CSV" })
        let answer = try await visit.open(link.target).answer
        #expect(answer["Content-Type"] == "text/csv; charset=utf-8")
        #expect(answer["Content-Disposition"] == "attachment; filename=\"audit.csv\"")
        #expect(answer["Cache-Control"] == "no-store")
        let lines = answer.body.split(separator: "\r\n").map(String.init)
        #expect(lines.count == 3, "\(answer.body)")
        #expect(lines.first?.hasPrefix("eventId,type,actor,actorName,accountId,") == true)
        #expect(lines.dropFirst().first?.contains("account_disabled,administrator,sheet,") == true)
        #expect(lines.last?.contains(",\"'=HYPERLINK(\"\"a\"\"\u{200C}), ü\",") == true)
        #expect(
            try await world.audited(
                "audit_exported", by: "sheets",
                reason: "accountId=\(AuditRows.account(mark)) until=2026-11-01T00:02:00Z") == 1)
        // What may be anybody's address is not kept.
        _ = try await visit.open("/console/audit/csv?actor=kim%40example.com&request=kim.example")
        #expect(try await world.audited("audit_exported", by: "sheets", reason: "actor request") == 1)
        _ = try await visit.open("/console/audit/csv?actor=sheets&until=2026-11-01T00:02:00Z")
        #expect(
            try await world.audited(
                "audit_exported", by: "sheets", reason: #"actor="sheets" until=2026-11-01T00:02:00Z"#) == 1)
        let keyless = try await ConsoleVisit.signedIn(to: world, "manage")
        #expect(try await keyless.open(link.target).status == 403)
    }
}

/// Ids of rows that a test writes itself.
private enum AuditRows {
    private static func hash(_ mark: String) -> UInt32 { mark.utf8.reduce(7) { $0 &* 31 &+ UInt32($1) } }

    static func id(_ number: Int, _ mark: String) -> String {
        let digits = String(hash(mark), radix: 16)
        return "01a1fc41-9b43-7a0\(number)-afff-0000" + String(repeating: "0", count: 8 - digits.count) + digits
    }

    static func account(_ mark: String) -> String { id(0, mark) }
}
