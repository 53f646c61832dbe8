import Accounts
import OpenSSL
import Postgres
import Providers
import SignIn
import Storage
import TestSupport
import Testing

/// The transfer of an app to another developer team, in which its users have other subjects.
@Suite(.fixture(LifeCycleFixture.self)) struct AppleTransferTests {
    var fixture: LifeCycleFixture { .current }

    private static let recipient = "RECIPIENT1"
    private static let buyer = Realm("buyer")

    /// The sending and the receiving team's service, over one database.
    private typealias Teams = (sender: AppleTransfers, recipient: AppleTransfers, endpoint: AppleTokenEndpoint)

    private static func teams(in fixture: LifeCycleFixture) async throws -> Teams {
        let key = try P256PrivateKey()
        try await fixture.sandbox.registerAppleKey(team: recipient, keyID: "LAMPKEY002", key)
        let endpoint = LifeCycleFixture.appleEndpoint(
            fixture.apple, of: fixture.sandbox, team: recipient, keyID: "LAMPKEY002", key: key)
        func transfers(_ endpoint: AppleTokenEndpoint) -> AppleTransfers {
            AppleTransfers(store: fixture.storage.transfers, endpoint: endpoint, clock: fixture.clock)
        }
        return (transfers(try #require(fixture.endpoints.apple)), transfers(endpoint), endpoint)
    }

    /// People with accounts, whose app has just gone to the other team.
    private static func moved(_ persons: [String], in fixture: LifeCycleFixture) async throws -> [String: SignedIn] {
        var accounts: [String: SignedIn] = [:]
        for person in persons {
            try await fixture.sandbox.addApplePerson(person)
            accounts[person] = try await fixture.account(.apple, person)
        }
        try await fixture.sandbox.transferAppleApp(LifeCycleFixture.appleClient, to: recipient)
        return accounts
    }

    /// Kim, whose app has just gone to the other team, after the export.
    private func exported() async throws -> (teams: Teams, before: SignedIn) {
        let teams = try await Self.teams(in: fixture)
        let accounts = try await Self.moved(["kim"], in: fixture)
        try await Self.run(.export, teams)
        return (teams, try #require(accounts["kim"]))
    }

    /// The service whose configuration has the app in a team of its own, after the reload; another app stays in `main`.
    private func reloaded() throws -> SignInService {
        let rules = AppleProvider(
            configuration: .init(teams: [
                .init(clientIDs: [ProviderClientID("com.example.desk")]),
                .init(realm: Self.buyer, clientIDs: [ProviderClientID(LifeCycleFixture.appleClient)]),
            ]),
            keys: fixture.apple.keys)
        let endpoint = LifeCycleFixture.appleEndpoint(
            rules, of: fixture.sandbox, realm: Self.buyer, team: Self.recipient, keyID: "LAMPKEY002",
            key: try P256PrivateKey())
        return fixture.service(with: endpoint, rules: rules)
    }

    /// Signs in a person who has an account, by the token alone.
    private func session(_ consent: LifeCycleFixture.Consent, at service: SignInService) async throws -> SignedIn {
        let credential = ProviderCredential(token: consent.token)
        return try await service.providers.signIn(with: .apple, credential, by: fixture.call).session
    }

    /// Apple says of a subject that no identity has that its person has withdrawn.
    private func processWithdrawal(of subject: ProviderSubject) async throws {
        let (apple, now) = (try SignInFixture.providers().apple, fixture.clock.now().seconds)
        let events = ProviderEvents(
            apple: apple, google: nil, policy: .init(consentRevoked: .unlink, accountDeleted: .unlink),
            store: fixture.storage.providerEvents, clock: fixture.clock, logger: .silent)
        try await events.take(
            TokenMint.shared.token(
                .appleEvent(
                    "consent-revoked", to: SignInFixture.appleClient, of: subject.text, at: now, issuedAt: now,
                    id: "e1")),
            from: .apple)
        #expect(try await events.processPending() == 1)
        #expect(try await fixture.texts("SELECT status FROM provider_events") == ["unknown_subject"])
    }

    private enum Part: CaseIterable { case export, `import` }

    /// - Returns: the progress, and the errors that were reported.
    @discardableResult
    private static func run(
        _ part: Part, _ teams: Teams, realm: Realm = .main, dryRun: Bool = false
    ) async throws -> (progress: AppleTransfers.Progress, failures: [String]) {
        var failures: [String] = []
        let client = ProviderClientID(LifeCycleFixture.appleClient)
        func note(_ report: AppleTransfers.Report) { if case .failed(_, let error) = report { failures.append(error) } }
        let progress =
            switch part {
            case .export:
                try await teams.sender.export(
                    realm: .main, targetTeam: recipient, clientID: client, dryRun: dryRun, rate: 1000, report: note)
            case .import:
                try await teams.recipient.import(
                    realm: realm, targetTeam: recipient, clientID: client, dryRun: dryRun, rate: 1000, report: note)
            }
        return (progress, failures)
    }

    private static func migrations(in fixture: LifeCycleFixture) async throws -> [Sandbox.Request] {
        try await fixture.sandbox.history(path: "/apple/auth/usermigrationinfo")
    }

    // MARK: Export and import

    @Test func `everybody gets their new subject and keeps their account`() async throws {
        let teams = try await Self.teams(in: fixture)
        let accounts = try await Self.moved(["kim", "ada", "lin"], in: fixture)
        for part in Part.allCases {
            let (progress, failures) = try await Self.run(part, teams)
            #expect((progress.total, progress.done, progress.failed) == (3, 3, 0))
            #expect(failures.isEmpty)
        }
        #expect(try await Self.migrations(in: fixture).map(\.status) == [200, 200, 200, 200, 200, 200])
        #expect(try await fixture.audited(.identityTransferred) == ["operator -", "operator -", "operator -"])
        #expect(try await fixture.count("identity_transfers") == 0)
        for (person, before) in accounts {
            let after = try await fixture.session(try await fixture.consent(.apple, person), .token)
            #expect(after.account.id == before.account.id)
            #expect(after.identity?.id == before.identity?.id)
            #expect(after.identity?.key.subject != before.identity?.key.subject)
        }
        // By the import, not by these sign-ins.
        #expect(try await fixture.audited(.identityTransferred).count == 3)
    }

    @Test func `no event keeps the former subject of an identity that has moved`() async throws {
        let (teams, before) = try await exported()
        let event = ProviderEvent(
            provider: .apple, realm: .main, tokenID: "e1", position: 0, type: "email-disabled", kind: .emailDisabled,
            subject: .person(try #require(before.identity?.key.subject)), detail: nil, occurredAt: fixture.clock.now())
        let events = fixture.storage.providerEvents
        _ = try await events.insert([event], by: fixture.call)
        for id in try await events.pending(limit: 8) {
            let policy = ProviderEventPolicy(consentRevoked: .unlink, accountDeleted: .unlink)
            _ = try await events.process(id, policy: policy, by: fixture.call)
        }
        #expect(try await fixture.count("provider_events WHERE status = 'done' AND subject IS NOT NULL") == 1)
        try await Self.run(.import, teams)
        #expect(try await fixture.count("provider_events WHERE subject IS NOT NULL") == 0)
    }

    @Test func `a dry run counts, and asks and changes nothing`() async throws {
        let teams = try await Self.teams(in: fixture)
        _ = try await Self.moved(["kim", "ada"], in: fixture)
        let export = try await Self.run(.export, teams, dryRun: true).progress
        #expect((export.total, export.done, export.failed) == (2, 0, 0))
        #expect(try await Self.migrations(in: fixture).isEmpty)
        #expect(try await fixture.count("identity_transfers") == 0)

        try await Self.run(.export, teams)
        let exported = try await Self.run(.export, teams, dryRun: true).progress
        #expect((exported.total, exported.done) == (2, 2))
        let subjects = try await fixture.texts("SELECT subject FROM identities ORDER BY identity_id")
        let imports = try await Self.run(.import, teams, dryRun: true).progress
        #expect((imports.total, imports.done) == (2, 0))
        #expect(try await fixture.texts("SELECT subject FROM identities ORDER BY identity_id") == subjects)
        #expect(try await Self.migrations(in: fixture).count == 2)
    }

    @Test(arguments: [true, false])
    func `a run that was cut off goes on where it ended`(isExport: Bool) async throws {
        let part = isExport ? Part.export : .import
        let teams = try await Self.teams(in: fixture)
        _ = try await Self.moved((1...8).map { "person-\($0)" }, in: fixture)
        if !isExport { try await Self.run(.export, teams) }
        try await fixture.sandbox.clearHistory()

        // Three answers, and then Apple is unavailable.
        let path = "/apple/auth/usermigrationinfo"
        try await fixture.sandbox.fail(path, .delay(milliseconds: 0), times: 3)
        try await fixture.sandbox.fail(path, .status(503))
        let cut = await #expect(throws: AppleTransfers.Failure.self) { try await Self.run(part, teams) }
        #expect(cut?.description.contains("http_503") == true)
        #expect(try await Self.migrations(in: fixture).count == 8)
        #expect(try await fixture.count("identity_transfers") == (isExport ? 3 : 5))

        try await fixture.sandbox.clearFaults()
        let (progress, failures) = try await Self.run(part, teams)
        #expect(failures.isEmpty)
        let total = isExport ? 8 : 5
        #expect((progress.total, progress.done, progress.failed) == (total, total, 0))
        // No identity that had an answer was asked about again.
        #expect(try await Self.migrations(in: fixture).filter { $0.status == 200 }.count == 8)
    }

    @Test func `a person whom Apple does not know is reported, and stops no other`() async throws {
        let teams = try await Self.teams(in: fixture)
        _ = try await fixture.account(.apple, "ada")
        try await fixture.withdraw(.apple, "ada")
        _ = try await Self.moved(["kim", "lin"], in: fixture)
        let (progress, failures) = try await Self.run(.export, teams)
        #expect((progress.total, progress.done, progress.failed) == (3, 2, 1))
        #expect(failures == ["invalid_request"])
        #expect(try await Self.run(.import, teams).progress.done == 2)
    }

    @Test(arguments: [true, false])
    func `a key that Apple refuses ends the run at once, by its name`(isExport: Bool) async throws {
        let part = isExport ? Part.export : .import
        let teams = try await Self.teams(in: fixture)
        _ = try await Self.moved(["kim", "ada"], in: fixture)
        if !isExport { try await Self.run(.export, teams) }
        let (team, keyID) = isExport ? (LifeCycleFixture.team, LifeCycleFixture.keyID) : (Self.recipient, "LAMPKEY002")
        try await fixture.sandbox.revokeAppleKey(team: team, keyID: keyID)
        let failure = await #expect(throws: AppleTransfers.Failure.self) { try await Self.run(part, teams) }
        #expect(failure?.description.contains(keyID) == true)
        #expect(try await Self.migrations(in: fixture).count == (isExport ? 0 : 2))
    }

    @Test func `an account that signed up with the new subject keeps it, and the conflict is reported`() async throws {
        let teams = try await Self.teams(in: fixture)
        let old = try #require(try await Self.moved(["lin"], in: fixture)["lin"])
        let new = try await fixture.create(try await fixture.ticket(try await fixture.consent(.apple, "lin"), .token))
        #expect(new.account.id != old.account.id)
        try await fixture.sandbox.clearHistory()
        #expect(try await Self.run(.export, teams).failures == ["invalid_request"])
        let (progress, failures) = try await Self.run(.import, teams)
        #expect(failures == ["conflict"])
        #expect((progress.total, progress.done, progress.failed) == (1, 0, 1))
        for account in [old, new] {
            let subjects = try await fixture.texts(
                "SELECT subject FROM identities WHERE account_id = \(account.account.id)")
            #expect(subjects == [account.identity?.key.subject.text])
        }
    }

    @Test func `a grant goes with its identity, into another realm too`() async throws {
        let (teams, account) = try await exported()
        try await Self.run(.import, teams, realm: Realm("beta"))
        let pairs: SQL = "SELECT realm || ' ' || subject FROM"
        let identity = try await fixture.texts("\(pairs) identities")
        #expect(identity.first??.hasPrefix("beta ") == true)
        #expect(try await fixture.texts("\(pairs) provider_grants") == identity)
        try await fixture.deleteAccount(account)
        #expect(try await fixture.revocationRows().map(\.status) == ["pending"])
        #expect(try await fixture.count("provider_grants WHERE revocation_id IS NOT NULL") == 1)
    }

    /// A person with an account withdraws at the other team, to which their app has gone; the users are exported by then.
    ///
    /// - Returns: their account, a token from before, and their subject there.
    private func withdrawn(
        _ teams: Teams
    ) async throws -> (before: SignedIn, stolen: LifeCycleFixture.Consent, subject: ProviderSubject) {
        let before = try #require(try await Self.moved(["kim"], in: fixture)["kim"])
        let stolen = try await fixture.consent(.apple)
        let subject = try #require(try await fixture.ticket(stolen, .token).identity?.key.subject)
        try await Self.run(.export, teams)
        try await fixture.advance(by: 10)
        try await processWithdrawal(of: subject)
        return (before, stolen, subject)
    }

    @Test(arguments: [true, false])
    func `an event about the new subject counts for the identity that moves to it`(isBySignIn: Bool) async throws {
        let teams = try await Self.teams(in: fixture)
        let (before, stolen, subject) = try await withdrawn(teams)
        if !isBySignIn { #expect(try await Self.run(.import, teams).progress.done == 1) }
        let service = fixture.service(with: teams.endpoint)
        try await expectFailure("expired") { try await session(stolen, at: service) }
        #expect(try await fixture.texts("SELECT subject FROM identities") == [subject.text])
        try await fixture.advance(by: 10)
        let after = try await session(try await fixture.consent(.apple), at: service)
        #expect(after.account.id == before.account.id)
    }

    @Test(arguments: [true, false])
    func `an event about the new subject from before the reload counts before it and after`(
        isReloaded: Bool
    ) async throws {
        let teams = try await Self.teams(in: fixture)
        let (before, stolen, _) = try await withdrawn(teams)
        let service = try isReloaded ? reloaded() : fixture.service
        try await expectFailure("expired") { try await session(stolen, at: service) }
        try await fixture.advance(by: 10)
        let after = try await session(try await fixture.consent(.apple), at: service)
        #expect(after.account.id == before.account.id)
        #expect(after.identity?.key.realm == (isReloaded ? Self.buyer : Realm.main))
    }

    // MARK: By a sign-in

    @Test func `until the reload a transfer_sub signs in where the identity is, and after it in the other realm`()
        async throws
    {
        let before = try await exported().before
        for _ in 1...2 {
            let early = try await session(try await fixture.consent(.apple), at: fixture.service)
            #expect(early.account.id == before.account.id)
            #expect(early.identity?.key == before.identity?.key)
        }
        #expect(try await fixture.audited(.identityTransferred).isEmpty)
        #expect(try await fixture.count("identity_transfers") == 1)

        let after = try await session(try await fixture.consent(.apple), at: try reloaded())
        #expect(after.account.id == before.account.id)
        #expect(after.identity?.id == before.identity?.id)
        #expect(after.identity?.key.realm == Self.buyer)
        #expect(try await fixture.audited(.identityTransferred) == ["provider -"])
        #expect(try await fixture.count("identity_transfers") == 0)
    }

    @Test func `a token's transfer_sub leads to the account once, and that is recorded`() async throws {
        let (teams, before) = try await exported()
        let service = fixture.service(with: teams.endpoint)
        let consent = try await fixture.consent(.apple)
        let after = try await session(consent, at: service)
        #expect(after.account.id == before.account.id)
        #expect(after.identity?.id == before.identity?.id)
        #expect(after.identity?.key.subject != before.identity?.key.subject)
        #expect(try await fixture.audited(.identityTransferred) == ["provider -"])
        #expect(try await fixture.count("identity_transfers") == 0)
        let transferred = try await fixture.texts(
            "SELECT account_id::text FROM audit_events WHERE type = 'identity_transferred'")
        #expect(transferred == [before.account.id.description])

        for _ in 1...2 { _ = try await session(consent, at: service) }
        #expect(try await fixture.audited(.identityTransferred).count == 1)
        #expect(try await Self.run(.import, teams).progress.total == 0)
    }

    @Test func `a transfer_sub with a code brings the new team's grant`() async throws {
        let (teams, before) = try await exported()
        let consent = try await fixture.consent(.apple)
        let service = fixture.service(with: teams.endpoint)
        let credential = ProviderCredential(code: consent.code)
        let after = try await service.providers.signIn(with: .apple, credential, by: fixture.call).session
        #expect(after.account.id == before.account.id)
        #expect(after.identity?.authorization == .active)
        let issued = try await fixture.grants(.apple).map(\.refreshToken)
        #expect(issued.count == 2)
        #expect(try await fixture.refreshTokens().map(Sandbox.fingerprint) == [issued.last])
    }

    @Test func `of sign-ins at once one moves the identity, and all come to the account`() async throws {
        let (teams, before) = try await exported()
        let service = fixture.service(with: teams.endpoint)
        let consent = try await fixture.consent(.apple)
        let accounts = try await concurrently(1...10) { _ in try await session(consent, at: service).account.id }
        #expect(Set(accounts) == [before.account.id])
        #expect(try await fixture.audited(.identityTransferred).count == 1)
    }

    @Test(arguments: [true, false])
    func `who links the subject of a new team has linked the old one already`(isReloaded: Bool) async throws {
        let (teams, before) = try await exported()
        let service = isReloaded ? fixture.service(with: teams.endpoint) : fixture.service
        let consent = try await fixture.consent(.apple)
        let other = try await fixture.account(.google, "ada")
        try await expectFailure("identityAlreadyLinked") {
            try await service.linking.link(
                .apple, .init(token: consent.token), to: try await fixture.opened(other), by: fixture.call)
        }
        // One person, one identity, where it was.
        #expect(try await fixture.count("identities WHERE provider = 'apple'") == 1)
        let after = try await session(consent, at: service)
        #expect(after.account.id == before.account.id)
    }

    @Test func `a transfer_sub that leads nowhere is somebody unknown`() async throws {
        let kim = try #require(try await Self.moved(["kim"], in: fixture)["kim"])
        let consent = try await fixture.consent(.apple)
        #expect(try await fixture.ticket(consent, .token).identity?.transferSubject != nil)
        #expect(try await fixture.audited(.identityTransferred).isEmpty)
        #expect(try await fixture.texts("SELECT subject FROM identities") == [kim.identity?.key.subject.text])
    }
}
