import Accounts
import Foundation
import KeyRing
import OpenSSL
import Postgres
import Providers
import SignIn
import Storage
import TestSupport
import Testing

@Suite(.fixture(LifeCycleFixture.self), .timeLimit(.minutes(15))) struct GrantKeepingTests {
    var fixture: LifeCycleFixture { .current }

    @Test(arguments: Provider.allCases)
    func `an exchange without a refresh token erases nothing`(provider: Provider) async throws {
        _ = try await fixture.account(provider)
        let kept = try await fixture.refreshTokens()
        let bare = try await fixture.consent(provider, exchange: .init(omitsRefreshToken: true))
        #expect(try await fixture.session(bare).identity?.authorization == .active)
        #expect(try await fixture.tokenRequests(of: bare).map(\.status) == [200])
        #expect(try await fixture.refreshTokens() == kept)
    }

    @Test(arguments: Provider.allCases)
    func `a later refresh token takes the place of the one before`(provider: Provider) async throws {
        _ = try await fixture.account(provider)
        for _ in 1...2 { _ = try await fixture.session(try await fixture.consent(provider)) }
        let issued = try await fixture.grants(provider).map(\.refreshToken)
        #expect(issued.count == 3)
        #expect(try await fixture.refreshTokens().map(Sandbox.fingerprint) == [issued.last])
    }

    @Test(arguments: [1, 4096, 4097])
    func `a refresh token is kept up to 4 KiB, and beyond it there is none`(length: Int) async throws {
        let token = String(repeating: "r", count: length)
        let answer = #"{"refresh_token":"\#(token)"}"#
        let consent = try await fixture.consent(.apple, exchange: .init(answer: answer))
        let created = try await fixture.create(try await fixture.ticket(consent))
        #expect(created.identity?.authorization == (length > 4096 ? Identity.Authorization.none : .active))
        #expect(try await fixture.refreshTokens() == (length > 4096 ? [] : [token]))
    }

    @Test(.appAndWeb)
    func `each client of a team has its own grant, and the account's deletion ends them all`() async throws {
        _ = try await fixture.account(.apple)
        let web = try await fixture.consent(.apple, appleClient: LifeCycleFixture.webClient)
        let session = try await fixture.session(web)
        #expect(try await fixture.count("provider_grants WHERE identity_id IS NOT NULL") == 2)
        try await fixture.deleteAccount(session)
        try await fixture.revokeDue()
        #expect(try await fixture.revocationRows().map(\.status) == ["done"])
        for client in LifeCycleFixture.appAndWeb {
            let grants = try await fixture.grants(.apple, clientID: client)
            #expect(grants.map(\.endedBy) == [.revoke])
            #expect(grants.map(\.revocations) == [1])
        }
    }

    // MARK: At rest

    @Test(arguments: Provider.allCases)
    func `the refresh token and the code stand nowhere in the database`(provider: Provider) async throws {
        let consent = try await fixture.consent(provider)
        func expectNothing(_ token: String) async throws {
            // Nor the part of it by which events may name it.
            for secret in [token, String(token.prefix(16)), consent.code, consent.token] {
                #expect(try await fixture.tables(holding: secret) == [])
            }
        }
        let ticket = try await fixture.ticket(consent)
        let token = try await fixture.refreshTokens()[0]
        #expect(Sandbox.fingerprint(token) == (try await fixture.grants(provider).first?.refreshToken))
        try await expectNothing(token)
        // The search finds what is there, in a text and in a bytea.
        let subject = try #require(try await fixture.texts("SELECT subject FROM provider_grants").first ?? nil)
        #expect(try await fixture.tables(holding: subject) == ["link_tickets", "provider_grants"])
        #expect(try await fixture.tables(holding: "k1").contains("provider_grants"))

        let created = try await fixture.create(ticket)
        try await expectNothing(token)
        try await fixture.deleteAccount(created)
        #expect(try await fixture.refreshTokens(of: "provider_grants WHERE revocation_id IS NOT NULL") == [token])
        try await expectNothing(token)
    }

    @Test func `a grant opens after the key ring has got a new first key`() async throws {
        let account = try await fixture.account(.apple)
        let token = try await fixture.refreshTokens()
        let old = try SignInFixture.makeKeyRing()
        let new = try SignInFixture.makeKeyRing(id: "k2", octet: 8)
        let both = try KeyRing(parsing: Self.line("k2", 8) + Self.line("k1", 7))
        #expect(try await fixture.refreshTokens(by: both) == token)
        await #expect(throws: SealError.keyMissing) { try await fixture.refreshTokens(by: new) }

        // What is written from now on is under the new key.
        let storage = ServiceDatabase(fixture.database, keyRing: both)
        let key = try #require(account.identity?.key)
        let grant = NewGrant(
            clientID: ProviderClientID(LifeCycleFixture.webClient), refreshToken: "r2",
            exchangedAt: fixture.clock.now(), checkAt: nil)
        #expect(try await storage.grants.keep(grant, for: key, by: .at(fixture.clock.now())))
        let later: SQL = "provider_grants WHERE client_id = \(LifeCycleFixture.webClient)"
        #expect(try await fixture.refreshTokens(of: later, by: new) == ["r2"])
        await #expect(throws: SealError.keyMissing) { try await fixture.refreshTokens(of: later, by: old) }
        _ = try await fixture.database.execute("DELETE FROM \(later)")

        // The old key is still needed: without it nothing can be revoked, with it everything can.
        try await fixture.deleteAccount(account)
        for (keyRing, status) in [(new, "pending"), (both, "done")] {
            let revocations = RevocationWorker(
                store: ServiceDatabase(fixture.database, keyRing: keyRing).revocations,
                endpoints: fixture.endpoints, clock: fixture.clock, logger: .silent)
            #expect(try await revocations.attemptDue(at: .apple) == 1)
            let row = try await fixture.revocationRows()[0]
            #expect(row.status == status)
            #expect(row.lastError == (status == "done" ? nil : "key_missing"))
            try await fixture.advance(by: 2)
        }
        #expect(try await fixture.grants(.apple).map(\.endedBy) == [.revoke])
    }

    @Test func `a sealed grant that was moved to another row opens no more`() async throws {
        _ = try await fixture.account(.apple)
        _ = try await fixture.account(.apple, "ada")
        _ = try await fixture.database.execute(
            """
            UPDATE provider_grants g
            SET sealed_refresh_token = other.sealed_refresh_token
            FROM provider_grants other
            WHERE other.grant_id <> g.grant_id
            """)
        await #expect(throws: SealError.notAuthentic) { try await fixture.refreshTokens() }
        // Apple is not asked about the other one's token, and nothing is ended by it.
        try await fixture.advance(by: 2 * GrantCheckWorker.interval)
        #expect(try await fixture.checks.checkDue() == 2)
        for person in ["kim", "ada"] { #expect(try await fixture.grants(.apple, person).map(\.checks) == [0]) }
        #expect(try await fixture.count("identities WHERE authorization_status = 'active'") == 2)
    }

    @Test func `a grant is found by keyed digests of what a security event names it by`() async throws {
        let account = try await fixture.account(.google)
        let token = "1//0gMadeUpRefreshTokenForTests_0001"
        let grant = NewGrant(
            clientID: "another", refreshToken: ProviderRefreshToken(token), exchangedAt: fixture.clock.now(),
            checkAt: nil)
        #expect(
            try await fixture.storage.grants.keep(
                grant, for: try #require(account.identity?.key), by: .at(fixture.clock.now())))
        let rows = try await fixture.database.query(
            "SELECT prefix_fingerprint, digest_fingerprint FROM provider_grants WHERE client_id = 'another'",
            as: [UInt8].self, [UInt8].self)

        // Base64 of SHA-512 of SHA-512, made with other software.
        let digest = try #require(
            Data(
                base64Encoded:
                    "8JFQ49gOVwvoytv4De3ThlgYjRHqU5JaF3MDfK+ri4y11QYlUnLJyp9kWvcliKHEiwxUEzxvFSHyGwHnoPtq9g=="))
        #expect(rows.map(\.0) == [try Self.keyed(Array("1//0gMadeUpRefre".utf8), "fingerprint prefix")])
        #expect(rows.map(\.1) == [try Self.keyed(Array(digest), "fingerprint digest")])
    }

    private static func keyed(_ value: [UInt8], _ label: String) throws -> [UInt8] {
        let key = try SignInFixture.makeKeyRing().current(for: .grants).bytes
        let subkey = try HKDFSHA256.derive(from: key, label: label, count: 32)
        return try HMACSHA256.authenticationCode(for: value, key: subkey).bytes
    }

    private static func line(_ id: String, _ octet: UInt8) -> String {
        "\(id) \(Data(repeating: octet, count: 32).base64EncodedString())\n"
    }
}
