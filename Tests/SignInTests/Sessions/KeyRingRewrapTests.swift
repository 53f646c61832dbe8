import Accounts
import Foundation
import KeyRing
import Postgres
import SignIn
import Storage
import TestSupport
import Testing

/// The move from one line of the key ring to the next.
@Suite(.fixture(SignInFixture.self)) struct KeyRingRewrapTests {
    var fixture: SignInFixture { .current }

    private static let rings = Result {
        (
            first: try SignInFixture.makeKeyRing(lines: [("k1", 7)]),
            both: try SignInFixture.makeKeyRing(lines: [("k2", 8), ("k1", 7)]),
            second: try SignInFixture.makeKeyRing(lines: [("k2", 8)])
        )
    }

    private var rings: (first: KeyRing, both: KeyRing, second: KeyRing) { get throws { try Self.rings.get() } }

    private func rewrap() throws -> KeyRingRewrap { KeyRingRewrap(database: fixture.database, keyRing: try rings.both) }

    @Test func `what an old line sealed is sealed again, page by page, and opens without it`() async throws {
        try await fixture.database.insertGrants(1_201, under: rings.first)
        let results = try await rewrap().run()
        #expect(results.map(\.done) == [1_201, 1, 0])
        #expect(results.map(\.total) == [1_201, 1, 0])
        #expect(results.map(\.left) == [0, 0, 0])
        #expect(try await fixture.database.tokens(rings.second) == (0..<1_201).map { "token \($0)" })

        // A process that never had the old line starts.
        try await fixture.tokens(keyRing: rings.second).rereadKeys()
        #expect(try await rewrap().run().map(\.done) == [0, 0, 0])
    }

    @Test func `the rows of an import are known under the new line`() async throws {
        let name = try #require(ImportName("old"))
        let id = try #require(ExternalID("u1"))
        let row = ImportRow(
            externalID: id,
            content: .person(
                ImportedPerson(
                    externalID: id, email: EmailAddress("kim@example.com"), emailProof: .stated, displayName: nil,
                    createdAt: fixture.clock.now(), isDisabled: false, identities: [], passwordHash: nil)))
        let call = Call.at(fixture.clock.now())
        let before = ImportStore(database: fixture.database, keyRing: try rings.first)
        let begun = try await before.begin(name, source: "ndjson", by: call)
        let made = try await before.merge([row], of: begun, by: call)
        let results = try await rewrap().run()
        #expect(results.last?.done == 1 && results.last?.left == 0)
        let after = ImportStore(database: fixture.database, keyRing: try rings.second)
        let next = try await after.begin(name, source: "ndjson", by: call)
        let again = try await after.merge([row], of: next, by: call)
        #expect(made.first?.outcome.word == "created")
        #expect(again.first?.outcome == .unchanged(made.first?.outcome.accountID))
    }

    @Test func `a grant is found by a provider's event as if it had been sealed under the new line`() async throws {
        for (subject, ring) in [("kim", try rings.first), ("lee", try rings.second)] {
            _ = try await fixture.signUp(.google(subject))
            let grant = NewGrant(
                clientID: ProviderClientID(SignInFixture.googleClient), refreshToken: "1//the-same-token",
                exchangedAt: fixture.clock.now(), checkAt: nil)
            let key = IdentityKey(provider: .google, realm: .main, subject: try #require(ProviderSubject(subject)))
            let isKept = try await ServiceDatabase(fixture.database, keyRing: ring).grants.keep(
                grant, for: key, by: .at(fixture.clock.now()))
            #expect(isKept)
        }
        let kinds: SQL = "(SELECT DISTINCT prefix_fingerprint, digest_fingerprint FROM provider_grants) AS f"
        #expect(try await fixture.count(kinds) == 2)
        _ = try await rewrap().run()
        #expect(try await fixture.count(kinds) == 1)
    }

    @Test func `of two runs at once each value is sealed again by one`() async throws {
        try await fixture.database.insertGrants(1_201, under: rings.first)
        let rewrap = try rewrap()
        async let one = rewrap.run()
        async let other = rewrap.run()
        let (first, second) = (try await one, try await other)
        #expect(first[0].done + second[0].done == 1_201)
        #expect(first[1].done + second[1].done == 1)
        #expect(try await rewrap.run().map(\.left) == [0, 0, 0])
        #expect(try await fixture.database.tokens(rings.second).count == 1_201)
    }

    @Test(.noFixture(SignInFixture.self))
    func `a run that is killed leaves good values, and the next one carries on`() async throws {
        try await ScratchDatabase.withMigrated { scratch in
            try await scratch.withPool { database in
                try await database.insertGrants(1_201, under: rings.first)
                await #expect(processExitsWith: .signal(SIGKILL)) { [url = scratch.url as String] in
                    let database = Database(configuration: .init(url: url, poolSize: 1), logger: .silent)
                    _ = try await KeyRingRewrap(database: database, keyRing: try Self.rings.get().both).run {
                        progress in
                        if progress.done == 1_000 { kill(getpid(), SIGKILL) }
                    }
                }
                #expect(try await database.tokens(rings.both).count == 1_201)
                let rest = try await KeyRingRewrap(database: database, keyRing: rings.both).run()
                #expect(rest[0].total == 201)
                #expect(rest[0].done == 201)
                #expect(try await database.tokens(rings.second) == (0..<1_201).map { "token \($0)" })
            }
        }
    }

    @Test func `a grant that somebody has locked is left to a later round`() async throws {
        try await fixture.database.insertGrants(3, under: rings.first)
        let rewrap = try rewrap()
        let (rounds, round) = AsyncStream.makeStream(of: Int.self)
        let running = try await fixture.database.transaction { transaction in
            _ = try await transaction.execute("SELECT FROM provider_grants WHERE subject = '1' FOR UPDATE")
            let running = Task {
                try await rewrap.run { progress in
                    if progress.kind == .grants { round.yield(progress.done) }
                }
            }
            #expect(await rounds.first { _ in true } == 2)
            return running
        }
        let grants = try await running.value[0]
        #expect(grants.done == 3)
        #expect(grants.left == 0)
    }

    @Test func `a grant that stays locked comes with the next run`() async throws {
        try await fixture.database.insertGrants(3, under: rings.first)
        let rewrap = KeyRingRewrap(database: fixture.database, keyRing: try rings.both, pauses: [.zero])
        let held = try await fixture.database.transaction { transaction in
            _ = try await transaction.execute("SELECT FROM provider_grants WHERE subject = '1' FOR UPDATE")
            return try await rewrap.run()
        }
        #expect(held[0].done == 2)
        #expect(held[0].left == 1)
        #expect(try await rewrap.run()[0].left == 0)
    }

    @Test func `a grant that is replaced meanwhile keeps its newest token`() async throws {
        try await fixture.database.insertGrants(200, under: rings.first)
        let old = ServiceDatabase(fixture.database, keyRing: try rings.first).grants
        let replacing = Task {
            for number in 1...5 {
                for subject in 0..<200 {
                    let grant = NewGrant(
                        clientID: "client", refreshToken: "newer \(subject) \(number)",
                        exchangedAt: fixture.clock.now(), checkAt: nil)
                    let key = IdentityKey(
                        provider: .google, realm: .main, subject: try #require(ProviderSubject("\(subject)")))
                    #expect(try await old.keep(grant, for: key, by: .at(fixture.clock.now())))
                }
            }
        }
        let rewrap = try rewrap()
        let watching = Task { while !Task.isCancelled { _ = try await rewrap.run() } }
        try await replacing.value
        watching.cancel()
        _ = try? await watching.value
        #expect(try await rewrap.run()[0].left == 0)
        #expect(try await fixture.database.tokens(rings.second) == (0..<200).map { "newer \($0) 5" })
    }

    @Test func `what can't be opened is counted and left as it is`() async throws {
        try await fixture.database.insertGrants(3, under: rings.first)
        let results = try await KeyRingRewrap(database: fixture.database, keyRing: rings.second).run()
        #expect(results.map(\.left) == [3, 1, 0])
        #expect(results.map(\.unreadable) == [3, 1, 0])
        #expect(results.compactMap { $0.reason?.description.contains("lacks a key") } == [true, true])
        #expect(try await fixture.database.tokens(rings.first).count == 3)
    }

    @Test func `what the first line should open and doesn't is counted, and left as it is`() async throws {
        try await fixture.database.insertGrants(3, under: rings.second)
        let other = try SignInFixture.makeKeyRing(lines: [("k2", 9), ("k1", 7)])
        let results = try await KeyRingRewrap(database: fixture.database, keyRing: other).run()
        #expect(results.map(\.done) == [0, 1, 0])
        #expect(results.map(\.left) == [3, 0, 0])
        #expect(results.map(\.unreadable) == [3, 0, 0])
        #expect(results[0].reason?.description.contains("another key of that id") == true)
        #expect(results[0].row != nil)
        #expect(try await fixture.database.tokens(rings.second).count == 3)
        // The signing key is under the other line now, and the right one doesn't open it.
        let again = try await rewrap().run()
        #expect(again.map(\.left) == [0, 1, 0])
        #expect(again.map(\.unreadable) == [0, 1, 0])
        let keyID = try await fixture.storage.signingKeys.keys().first?.keyID
        #expect(again[1].row == keyID)
        #expect(keyID != nil)
    }

    @Test func `a first line that opens nothing under its id is not ours`() async throws {
        let inspection = DatabaseInspection(database: fixture.database)
        let other = try SignInFixture.makeKeyRing(lines: [("k2", 9), ("k1", 7)])
        // Nothing is under k2 yet.
        #expect(try await !inspection.isFirstLineForeign(in: other))
        try await fixture.database.insertGrants(3, under: rings.second)
        #expect(try await inspection.isFirstLineForeign(in: other))
        #expect(try await !inspection.isFirstLineForeign(in: rings.both))
        // A row that was changed is no other line.
        try await fixture.database.execute(
            """
            UPDATE provider_grants
            SET sealed_refresh_token = sealed_refresh_token || '\\x00'
            WHERE subject = '0'
            """)
        #expect(try await !inspection.isFirstLineForeign(in: rings.both))
    }

    @Test func `sessions, codes and seals that need a line are reported with it`() async throws {
        let old = KeyRingLines(database: fixture.database, keyRing: try rings.first)
        let new = KeyRingLines(database: fixture.database, keyRing: try rings.both)
        #expect(try await old.otherUses(by: .at(fixture.clock.now())).isEmpty)
        #expect(try await new.otherUses(by: .at(fixture.clock.now())).map(\.writtenAt) == [nil])

        try await old.noteWriting(by: .at(fixture.clock.now()))
        let kim = try await fixture.signUp(.google("kim"))
        _ = try await fixture.signUp(.google("lee"))
        try await fixture.database.execute(
            """
            INSERT INTO audit_seals (seal_number, chain, transaction_id, event_id, row_count, total_count, key_id, mac,
                created_at)
            VALUES (1, 1, 12, gen_random_uuid(), 1, 1, 'k1', decode(repeat('0c', 32), 'hex'), now())
            """)
        let lastWritten = fixture.clock.now()
        fixture.clock.advance(by: 3_600)
        try await new.noteWriting(by: .at(fixture.clock.now()))

        let before = try #require(try await new.otherUses(by: .at(fixture.clock.now())).first)
        #expect(before.keyID == "k1")
        #expect(before.writtenAt == lastWritten)
        #expect(before.sessions == 2)
        #expect(before.sessionsUntil == lastWritten.advanced(bySeconds: 5_184_000))
        #expect(before.seals == 1)
        // A minute for the notes that came in between, and ten for the code that was mailed last.
        #expect(before.codesUntil == lastWritten.advanced(bySeconds: 660))
        #expect(before.consoleSessionsUntil == lastWritten.advanced(bySeconds: 60 + 8 * 3_600))
        // A session that was refreshed needs it no more.
        _ = try await fixture.service(keyRing: rings.both).sessions.refresh(kim.session.refreshToken, by: fixture.call)
        #expect(try await new.otherUses(by: .at(fixture.clock.now())).map(\.sessions) == [1])
        fixture.clock.advance(by: 5_184_000)
        #expect(try await new.otherUses(by: .at(fixture.clock.now())).map(\.sessionsUntil) == [nil])
    }

    @Test(.fixture { try await SignInFixture.withMail($0) })
    func `wrong tries at mailed codes need a line, until another code is mailed or they are forgotten`() async throws {
        let email = "kim@example.com"
        let old = KeyRingLines(database: fixture.database, keyRing: try rings.first)
        let new = KeyRingLines(database: fixture.database, keyRing: try rings.both)
        try await old.noteWriting(by: .at(fixture.clock.now()))
        _ = try await fixture.member(email)
        let code = try await fixture.code(.signIn, for: email)
        try await expectFailure("invalidCredentials") {
            try await fixture.signIn(email, code: SignInFixture.wrong(code))
        }
        fixture.clock.advance(by: 3_600)
        try await new.noteWriting(by: .at(fixture.clock.now()))

        let use = try #require(try await new.otherUses(by: .at(fixture.clock.now())).first)
        #expect(use.guessedAddresses == 1)
        // One of thirty that come back within a year.
        let until = Timestamp(seconds: SignInFixture.start + 365 * 86_400 / 30)
        #expect(use.guessesUntil == until)
        #expect(try await new.otherUses(by: .at(until)).map(\.guessesUntil) == [nil])

        try await fixture.service(keyRing: rings.both).emailCodes.mailCode(to: email, for: .signIn, by: fixture.call)
        #expect(try await new.otherUses(by: .at(fixture.clock.now())).map(\.guessedAddresses) == [0])
        #expect(try await fixture.count("guessed_addresses") == 1)
    }
}

extension Database {
    /// Identities with the subjects "0", "1" …, each with a grant of the token "token 0", "token 1" …
    fileprivate func insertGrants(_ count: Int, under keyRing: KeyRing) async throws {
        let now = Timestamp(seconds: SignInFixture.start)
        let ids = (0..<count).map { _ in GrantID(now: now) }
        let sealed = try ids.enumerated().map { index, id in
            try keyRing.seal(
                Array("token \(index)".utf8), for: .grants,
                at: SealedLocation(table: "provider_grants", row: id.description, column: "sealed_refresh_token"))
        }
        let numbers = Array(0..<count)
        try await execute(
            """
            WITH row AS (
                SELECT *, gen_random_uuid() AS account_id, gen_random_uuid() AS identity_id
                FROM unnest(\(ids), \(sealed), \(numbers)) AS r (grant_id, sealed, number)
            ), account AS (
                INSERT INTO accounts (account_id, email_verified, status, created_at)
                SELECT account_id, false, 'active', \(now) FROM row
            ), identity AS (
                INSERT INTO identities (identity_id, account_id, provider, realm, subject, email_verified,
                    is_private_email, authorization_status, created_at)
                SELECT identity_id, account_id, 'google', 'main', number::text, false, false, 'active', \(now)
                FROM row
            )
            INSERT INTO provider_grants (grant_id, identity_id, provider, realm, subject, client_id,
                sealed_refresh_token, prefix_fingerprint, digest_fingerprint, created_at)
            SELECT grant_id, identity_id, 'google', 'main', number::text, 'client', sealed,
                decode(lpad(to_hex(number), 8, '0'), 'hex'), '\\x00', \(now)
            FROM row
            """)
    }

    /// The refresh tokens of all grants, in the order of their subjects.
    fileprivate func tokens(_ keyRing: KeyRing) async throws -> [String] {
        try await query(
            "SELECT grant_id, sealed_refresh_token FROM provider_grants ORDER BY subject::integer",
            as: GrantID.self, [UInt8].self
        )
        .map { id, sealed in
            let location = SealedLocation(table: "provider_grants", row: id.description, column: "sealed_refresh_token")
            return String(decoding: try keyRing.open(sealed, for: .grants, at: location), as: UTF8.self)
        }
    }
}
