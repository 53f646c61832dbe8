import Foundation
import Testing

@testable import CountersignClient

@Suite struct LinkTests {
    static let holder = """
        {"providers":["google","later"],"createdAt":"2026-01-02T03:04:05Z",
         "identities":[{"provider":"google","email":"k***@example.com","linkedAt":"2026-01-02T03:04:05Z"}]}
        """

    static func ticket(holder: String? = nil) throws -> LinkTicket {
        let wire = JSONText.decode(SignInWire.self, from: Data(Fixture.linkRequired(holder: holder).utf8))
        guard case .linkRequired(let ticket)? = wire else { throw SessionError.noSession }
        return ticket
    }

    @Test func `create opens a session`() async throws {
        let (server, store, client) = try ScriptedServer.serving { _ in .json(201, Fixture.signedIn()) }
        #expect(try await client.create(Self.ticket(), displayName: "Kim").id == Fixture.accountID)
        _ = try await client.create(Self.ticket())
        _ = try await client.create(Self.ticket(), password: "correct horse battery")
        #expect(server.requests.allSatisfy { $0.target == "/v1/links/create" && $0["authorization"].isEmpty })
        #expect(server.requests[0].json == ["linkTicket": .string(Fixture.ticket), "displayName": "Kim"])
        #expect(server.requests[1].json == ["linkTicket": .string(Fixture.ticket)])
        #expect(
            server.requests[2].json == ["linkTicket": .string(Fixture.ticket), "password": "correct horse battery"])
        #expect(try Fixture.stored(store.content).session?.accessToken == Fixture.access(1))
    }

    @Test(arguments: [(409, "email_taken"), (409, "identity_already_linked"), (410, "link_ticket_expired")])
    func `create that is refused says why`(_ status: Int, _ code: String) async throws {
        let server = try ScriptedServer { _ in .problem(status, code) }
        await #expect(throws: SessionError.refused(code: code, status: status)) {
            try await server.client().create(Self.ticket())
        }
    }

    @Test func `bind sends exactly one proof`() async throws {
        let server = try ScriptedServer { _ in .json(200, Fixture.signedIn(2)) }
        let proofs: [BindProof] = [
            .session, .password(email: "a@x.example", password: "p"), .emailCode(email: "a@x.example", code: "1"),
            .ticket,
        ]
        for proof in proofs {
            let client = server.client(FaultyStore(Fixture.document()))
            #expect(try await client.bind(Self.ticket(), proof: proof).account?.id == Fixture.accountID)
        }
        let ticket = JSONValue.string(Fixture.ticket)
        #expect(server.requests.map(\.bearer) == [Fixture.access(1), nil, nil, nil])
        #expect(
            server.requests.map(\.json) == [
                ["linkTicket": ticket], ["linkTicket": ticket, "email": "a@x.example", "password": "p"],
                ["linkTicket": ticket, "email": "a@x.example", "emailCode": "1"], ["linkTicket": ticket],
            ])
    }

    @Test func `bind by session needs one, and opens another`() async throws {
        let server = try ScriptedServer { _ in .json(200, Fixture.signedIn(2)) }
        await #expect(throws: SessionError.noSession) { try await server.client().bind(Self.ticket(), proof: .session) }
        #expect(server.requests.isEmpty)
        let store = FaultyStore(Fixture.document())
        _ = try await server.client(store).bind(Self.ticket(), proof: .session)
        #expect(try Fixture.stored(store.content).session?.accessToken == Fixture.access(2))
    }

    @Test func `a conflict is shown, and bind with replacing ends it`() async throws {
        let (server, store, client) = try ScriptedServer.serving { request in
            request.json?["onConflict"] == "replace"
                ? .json(200, Fixture.signedIn())
                : .json(
                    409,
                    """
                    {"type":"/problems/provider_already_linked","status":409,"code":"provider_already_linked",
                     "existing":{"email":"k***@example.com","linkedAt":"2026-01-02T03:04:05Z"},
                     "resolutions":["replace","keep"]}
                    """)
        }
        let proof = BindProof.password(email: "a@x.example", password: "p")
        #expect(try await client.bind(Self.ticket(), proof: proof) == .conflict(maskedEmail: "k***@example.com"))
        #expect(store.content == nil)
        #expect(try await client.bind(Self.ticket(), proof: proof, replacing: true).account != nil)
        #expect(server.requests.map { $0.json?["onConflict"] } == [nil, "replace"])
    }

    @Test func `a holder is shown first, and the same call again binds`() async throws {
        let count = Locked(0)
        let server = try ScriptedServer { _ in
            count.withLock { $0 += 1 }
            return count.withLock { $0 } == 1
                ? .json(200, Fixture.linkRequired(holder: Self.holder)) : .json(200, Fixture.signedIn())
        }
        let client = server.client()
        let proof = BindProof.emailCode(email: "a@x.example", code: "123456")
        let ticket = try #require(try await client.bind(Self.ticket(), proof: proof).holder)
        #expect(try !Self.ticket().provesHolder && ticket.provesHolder)
        let holder = try #require(ticket.holder)
        #expect(holder.providers == [.google, IdentityProvider(rawValue: "later")])
        #expect(holder.createdAt?.timeIntervalSince1970 == 1_767_323_045)
        #expect(holder.identities.map(\.maskedEmail) == ["k***@example.com"])
        #expect(try await client.bind(ticket, proof: proof).account != nil)
        #expect(server.requests[0].body == server.requests[1].body)
    }

    @Test func `a holder may be its providers alone`() async throws {
        let ticket = try Self.ticket(holder: #"{"providers":["apple"]}"#)
        let holder = try #require(ticket.holder)
        #expect(holder.providers == [.apple] && holder.identities.isEmpty && holder.createdAt == nil)
        #expect(!ticket.provesHolder)
    }

    @Test func `a holder without identities is proven by the ticket that shows its age`() throws {
        let shown = try Self.ticket(holder: #"{"providers":[],"createdAt":"2026-01-02T03:04:05Z","identities":[]}"#)
        let kept = try JSONDecoder().decode(LinkTicket.self, from: JSONEncoder().encode(shown))
        for ticket in [shown, kept] {
            #expect(ticket.provesHolder)
            #expect(ticket.holder?.identities.isEmpty == true && ticket.holder?.providers.isEmpty == true)
        }
        #expect(try !Self.ticket(holder: #"{"providers":[]}"#).provesHolder)
    }

    @Test(arguments: [
        (401, "invalid_credentials"), (403, "reauthentication_required"), (410, "link_ticket_expired"),
    ]) func `a refused bind leaves the session and ends nothing`(_ status: Int, _ code: String) async throws {
        let (server, store, client) = try ScriptedServer.serving(Fixture.document()) { _ in .problem(status, code) }
        for proof in [BindProof.session, .password(email: "a@x.example", password: "p")] {
            await #expect(throws: SessionError.refused(code: code, status: status)) {
                try await client.bind(Self.ticket(), proof: proof)
            }
        }
        #expect(server.requests.count == 2 && store.content == Fixture.document())
    }

    @Test func `a mailed code names the ticket, and cancel gives it back`() async throws {
        let server = try ScriptedServer { $0.path == "/v1/links/cancel" ? .noContent : .json(202, "{}") }
        let client = server.client()
        try await client.requestCode(to: "a@x.example", for: Self.ticket())
        await client.cancel(try Self.ticket())
        let ticket = JSONValue.string(Fixture.ticket)
        #expect(server.requests.map(\.target) == ["/v1/email-codes", "/v1/links/cancel"])
        #expect(server.requests[0].json == ["email": "a@x.example", "purpose": "bind", "linkTicket": ticket])
        #expect(server.requests[1].json == ["linkTicket": ticket])
    }

    @Test func `cancel that fails is silent`() async throws {
        let server = try ScriptedServer { _ in .problem(500, "internal_error") }
        await server.client().cancel(try Self.ticket())
        #expect(server.requests.count == 1)
    }

    @Test func `a ticket survives the app, with times as whole seconds`() throws {
        for ticket in [try Self.ticket(), try Self.ticket(holder: Self.holder)] {
            let data = try JSONEncoder().encode(ticket)
            #expect(try JSONDecoder().decode(LinkTicket.self, from: data) == ticket)
            #expect(JSONValue.object(in: data)?["expiresAt"]?.integer == 1_795_234_120)
        }
    }
}
