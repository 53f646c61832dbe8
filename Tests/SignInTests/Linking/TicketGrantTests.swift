import Accounts
import Postgres
import Providers
import SignIn
import Storage
import TestSupport
import Testing

/// The grants of tickets. A provider's revocation ends all that a person has authorized, so the grant of an unspent
/// ticket is revoked only if no identity and no other ticket of the person is left.
@Suite(.fixture(LifeCycleFixture.self)) struct TicketGrantTests {
    var fixture: LifeCycleFixture { .current }

    @Test(arguments: Provider.allCases)
    func `a ticket carries its grant into the account that is made of it`(provider: Provider) async throws {
        let ticket = try await fixture.ticket(try await fixture.consent(provider))
        #expect(try await fixture.count("provider_grants WHERE ticket_hash IS NOT NULL") == 1)
        let token = try await fixture.refreshTokens()
        #expect(try await fixture.create(ticket).identity?.authorization == .active)
        #expect(try await fixture.refreshTokens(of: "provider_grants WHERE identity_id IS NOT NULL") == token)
        #expect(try await fixture.count("provider_grants WHERE ticket_hash IS NOT NULL") == 0)
    }

    @Test func `a ticket carries its grant to the account that it is bound to`() async throws {
        let account = try await fixture.account(.apple)
        let bound = try await fixture.bind(try await fixture.ticket(try await fixture.consent(.google)), to: account)
        #expect(bound.identity?.key.provider == .google)
        #expect(bound.account.identities.map(\.authorization) == [.active, .active])
        #expect(try await fixture.count("provider_grants WHERE identity_id IS NOT NULL") == 2)
    }

    @Test func `a refused create leaves the grant with the ticket`() async throws {
        // Google hosts the domain, so the address is this account's.
        let hosted = Sandbox.TokenChanges(claims: #"{"hd":"example.com"}"#)
        let owner = try await fixture.create(
            try await fixture.ticket(try await fixture.consent(.google, token: hosted), .token))
        #expect(owner.account.emailProof == .proven)
        let ticket = try await fixture.ticket(try await fixture.consent(.apple))
        try await expectFailure("emailTaken") { try await fixture.create(ticket) }
        #expect(try await fixture.count("provider_grants WHERE ticket_hash IS NOT NULL") == 1)
        #expect(try await fixture.count("outbox") == 0)
    }

    // MARK: Unspent tickets

    enum End: CaseIterable, Sendable { case cancelled, expired }

    /// Lets a ticket end unspent.
    private static func end(_ ticket: LinkRequired, _ end: End, in fixture: LifeCycleFixture) async throws {
        switch end {
        case .cancelled:
            try await fixture.cancel(ticket)
            // Whatever became of its grant.
            let hash = OpaqueSecret.hash(ofPresented: ticket.linkTicket)
            #expect(try await fixture.count("link_tickets WHERE ticket_hash = \(hash)") == 0)
        case .expired: try await fixture.advance(by: Lifetimes.linkTicketSeconds)
        }
        while try await fixture.sweeper.sweep() > 0 {}
    }

    @Test(arguments: Provider.allCases, End.allCases)
    func `the grant of a ticket that nobody spends is revoked`(provider: Provider, end: End) async throws {
        let ticket = try await fixture.ticket(try await fixture.consent(provider))
        #expect(try await fixture.sweeper.sweep() == 0)
        try await Self.end(ticket, end, in: fixture)
        #expect(try await fixture.count("provider_grants WHERE revocation_id IS NOT NULL") == 1)
        try await fixture.revokeDue()
        #expect(try await fixture.revocationRows().map(\.status) == ["done"])
        let grants = try await fixture.grants(provider)
        #expect(grants.map(\.endedBy) == [.revoke])
        #expect(grants.map(\.revocations) == [1])
        #expect(try await fixture.count("provider_grants") == 0)
    }

    @Test(arguments: Provider.allCases, End.allCases)
    func `it is erased when an identity of the person lives`(provider: Provider, end: End) async throws {
        let first = try await fixture.ticket(try await fixture.consent(provider))
        let second = try await fixture.ticket(try await fixture.consent(provider))
        _ = try await fixture.create(first)
        let kept = try await fixture.refreshTokens(of: "provider_grants WHERE identity_id IS NOT NULL")
        try await Self.end(second, end, in: fixture)
        #expect(try await fixture.refreshTokens() == kept)
        #expect(try await fixture.count("outbox") == 0)
        #expect(try await fixture.grants(provider).map(\.isLive) == [true, true])
    }

    @Test(arguments: Provider.allCases, End.allCases)
    func `it is erased when another ticket of the person lives`(provider: Provider, end: End) async throws {
        let first = try await fixture.ticket(try await fixture.consent(provider))
        try await fixture.advance(by: 60)
        let second = try await fixture.ticket(try await fixture.consent(provider))
        if end == .expired { try await fixture.advance(by: -60) }
        try await Self.end(first, end, in: fixture)
        #expect(try await fixture.count("provider_grants") == 1)
        #expect(try await fixture.count("outbox") == 0)
        #expect(try await fixture.create(second).identity?.authorization == .active)
        let issued = try await fixture.grants(provider)
        #expect(issued.map(\.isLive) == [true, true])
        #expect(try await fixture.refreshTokens().map(Sandbox.fingerprint) == [issued.last?.refreshToken])
    }

    @Test(arguments: Provider.allCases)
    func `an account is made with what another ticket of the person holds`(provider: Provider) async throws {
        let without = try await fixture.ticket(try await fixture.consent(provider), .token)
        _ = try await fixture.ticket(try await fixture.consent(provider))
        let token = try await fixture.refreshTokens()
        #expect(try await fixture.create(without).identity?.authorization == .active)
        #expect(try await fixture.refreshTokens(of: "provider_grants WHERE identity_id IS NOT NULL") == token)
    }

    @Test func `an identity of the person that has no grant gets it`() async throws {
        let known = try await fixture.ticket(try await fixture.consent(.apple), .token)
        let created = try await fixture.create(known)
        #expect(created.identity?.authorization == Identity.Authorization.none)
        // The ticket of a sign-in that looked for the person before there was an account.
        let now = fixture.clock.now()
        let late = LinkTicket(
            identity: try #require(known.identity), displayName: nil, createdAt: now,
            expiresAt: now.advanced(bySeconds: 600))
        let grant = NewGrant(
            clientID: ProviderClientID(LifeCycleFixture.appleClient), refreshToken: "r", exchangedAt: now, checkAt: nil)
        let hash = SecretHash([UInt8](repeating: 1, count: 32))
        try await fixture.storage.links.insert(late, hash: hash, grant: grant, by: .at(fixture.clock.now()))
        _ = try await fixture.storage.links.cancel(hash, by: .at(now), recording: nil)
        #expect(try await fixture.authorization(created.identity) == "active")
        #expect(try await fixture.refreshTokens(of: "provider_grants WHERE identity_id IS NOT NULL") == ["r"])
        #expect(try await fixture.count("outbox") == 0)
    }

    private static let clients = [LifeCycleFixture.appleClient, LifeCycleFixture.webClient]

    @Test(.fixture { try await LifeCycleFixture.run(appleClients: TicketGrantTests.clients, $0) })
    func `an identity gets the grants of clients that it has none of`() async throws {
        let app = try await fixture.ticket(try await fixture.consent(.apple))
        for client in Self.clients {
            _ = try await fixture.ticket(try await fixture.consent(.apple, appleClient: client))
        }
        let created = try await fixture.create(app)
        try await Self.end(app, .expired, in: fixture)
        let held: SQL = "SELECT client_id FROM provider_grants WHERE identity_id IS NOT NULL ORDER BY 1"
        #expect(try await fixture.texts(held) == Self.clients)
        #expect(try await fixture.count("provider_grants") == 2)
        #expect(try await fixture.authorization(created.identity) == "active")
    }

    @Test(arguments: End.allCases)
    func `another live ticket of the person that has no grant gets it`(end: End) async throws {
        let with = try await fixture.ticket(try await fixture.consent(.apple))
        let token = try await fixture.refreshTokens()
        try await fixture.advance(by: 60)
        let without = try await fixture.ticket(try await fixture.consent(.apple), .token)
        if end == .expired { try await fixture.advance(by: -60) }
        try await Self.end(with, end, in: fixture)
        #expect(try await fixture.count("outbox") == 0)
        #expect(try await fixture.create(without).identity?.authorization == .active)
        #expect(try await fixture.refreshTokens(of: "provider_grants WHERE identity_id IS NOT NULL") == token)
    }

    @Test func `of tickets that end together each grant is revoked once`() async throws {
        for _ in 1...3 { _ = try await fixture.ticket(try await fixture.consent(.apple)) }
        let ada = try await fixture.ticket(try await fixture.consent(.apple, "ada"))
        try await Self.end(ada, .expired, in: fixture)
        try await fixture.revokeDue()
        #expect(try await fixture.grants(.apple).map(\.revocations) == [1, 1, 1])
        #expect(try await fixture.grants(.apple, "ada").map(\.revocations) == [1])
        #expect(try await fixture.count("outbox WHERE status <> 'done'") == 0)
    }

    // MARK: Tickets that end for newer ones

    @Test func `the grant of a ticket that a sixth one ends is revoked when the last ticket of its person ends`()
        async throws
    {
        let first = try await fixture.ticket(try await fixture.consent(.apple))
        var last = first
        for _ in 1...LinkTicket.maximumHeld {
            try await fixture.advance(by: 1)
            last = try await fixture.ticket(try await fixture.consent(.apple), .token)
        }
        try await expectFailure("linkTicketExpired") { try await fixture.create(first) }
        while try await fixture.sweeper.sweep() > 0 {}
        // Another open ticket has it: a revocation would end what that one stands for.
        #expect(try await fixture.count("provider_grants WHERE ticket_hash IS NOT NULL") == 1)
        #expect(try await fixture.count("outbox") == 0)
        try await Self.end(last, .expired, in: fixture)
        try await fixture.revokeDue()
        #expect(try await fixture.grants(.apple).map(\.revocations) == [1])
        #expect(try await fixture.count("provider_grants") == 0)
    }

    @Test func `it is erased when the newer ones have their own`() async throws {
        var tickets: [LinkRequired] = []
        for _ in 0...LinkTicket.maximumHeld {
            try await fixture.advance(by: 1)
            tickets.append(try await fixture.ticket(try await fixture.consent(.apple)))
        }
        while try await fixture.sweeper.sweep() > 0 {}
        #expect(try await fixture.count("provider_grants") == Int64(LinkTicket.maximumHeld))
        #expect(try await fixture.count("outbox") == 0)
        #expect(try await fixture.create(tickets[1]).identity?.authorization == .active)
        #expect(try await fixture.grants(.apple).allSatisfy(\.isLive))
    }

    @Test func `a ticket without a grant queues nothing`() async throws {
        for end in End.allCases {
            let ticket = try await fixture.ticket(try await fixture.consent(.apple), .token)
            try await Self.end(ticket, end, in: fixture)
        }
        #expect(try await fixture.count("outbox") == 0)
    }

    @Test func `a ticket is deleted an hour after its end, and not what was made of it`() async throws {
        let spent = try await fixture.create(try await fixture.ticket(try await fixture.consent(.apple)))
        _ = try await fixture.ticket(try await fixture.consent(.google), .token)
        try await fixture.advance(by: Lifetimes.linkTicketSeconds + 3600)
        #expect(try await fixture.sweeper.sweep() == 0)
        #expect(try await fixture.count("link_tickets") == 2)
        try await fixture.advance(by: 1)
        #expect(try await fixture.sweeper.sweep() == 2)
        #expect(try await fixture.count("link_tickets") == 0)
        #expect(try await fixture.authorization(spent.identity) == "active")
        #expect(try await fixture.count("provider_grants WHERE identity_id IS NOT NULL") == 1)
    }

    // MARK: Of links in a session

    @Test(arguments: Provider.allCases)
    func `what the code brought is kept with the identity`(provider: Provider) async throws {
        let account = try await fixture.account(provider == .apple ? .google : .apple)
        let identity = try await fixture.link(try await fixture.consent(provider), to: account)
        #expect(identity.authorization == .active)
        #expect(try await fixture.count("provider_grants WHERE identity_id = \(identity.id)") == 1)
        #expect(try await fixture.grants(provider).map(\.isLive) == [true])
        #expect(try await fixture.count("outbox") == 0)
    }

    @Test func `what the code of a refused link brought is revoked at once when nothing else of the person is here`()
        async throws
    {
        let kim = try await fixture.account(.google)
        try await expectFailure("providerAlreadyLinked") {
            try await fixture.link(try await fixture.consent(.google, "ada"), to: kim)
        }
        // At once, not when a ticket would have expired.
        try await fixture.revokeDue()
        #expect(try await fixture.grants(.google, "ada").map(\.endedBy) == [.revoke])
        #expect(try await fixture.grants(.google).map(\.isLive) == [true])
        #expect(try await fixture.count("provider_grants") == 1)
    }

    @Test func `what the code of a refused link brought is erased when the person is somebody here`() async throws {
        let ada = try await fixture.account(.google, "ada")
        let kim = try await fixture.account(.apple)
        try await expectFailure("identityAlreadyLinked") {
            try await fixture.link(try await fixture.consent(.google, "ada"), to: kim)
        }
        try await fixture.revokeDue()
        // A revocation would have ended hers too.
        #expect(try await fixture.grants(.google, "ada").allSatisfy(\.isLive))
        #expect(try await fixture.authorization(ada.identity) == "active")
        #expect(try await fixture.count("provider_grants") == 2)
    }

    @Test func `what the code of a refused link brought goes to the identity of the person that has none`() async throws
    {
        let ada = try await fixture.create(try await fixture.ticket(try await fixture.consent(.google, "ada"), .token))
        let kim = try await fixture.account(.apple)
        try await expectFailure("identityAlreadyLinked") {
            try await fixture.link(try await fixture.consent(.google, "ada"), to: kim)
        }
        #expect(try await fixture.authorization(ada.identity) == "active")
        #expect(try await fixture.count("outbox") == 0)
    }
}
