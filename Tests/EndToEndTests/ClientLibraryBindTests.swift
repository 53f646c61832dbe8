import CountersignClient
import Foundation
import TestSupport
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The library for apps against a service: each way to prove an account, in each degree of its address, as an app that
/// follows what the library says of a ticket walks it.
@Suite(.limitedConcurrency, .mailedWorld(["limits.mailPerAddress": "0"]), .timeLimit(.minutes(30)))
struct ClientLibraryBindTests: WorldSuite {
    enum Proof: String, CaseIterable, Sendable { case session, password, mailedCode, ticket }

    private func ticket(_ client: SignInClient, _ person: String) async throws -> LinkTicket {
        let outcome = try await client.signIn(google: GoogleCredential(idToken: try await world.googleToken(person)))
        guard case .linkRequired(let ticket) = outcome else { throw Unexpected(outcome: "\(outcome)") }
        return ticket
    }

    private struct Unexpected: Error { let outcome: String }

    /// Offers what the ticket asks for, until the account is bound to.
    ///
    /// - Returns: the account, and whether a holder was shown on the way.
    private func bind(
        _ ticket: LinkTicket, _ proof: BindProof, _ client: SignInClient, wasShown: Bool = false
    ) async throws -> (ClientAccount, wasShown: Bool) {
        switch try await client.bind(ticket, proof: ticket.provesHolder ? .ticket : proof) {
        case .signedIn(let account): return (account, wasShown)
        case .holder(let shown):
            #expect(shown.provesHolder && !wasShown)
            return try await bind(shown, proof, client, wasShown: true)
        case .conflict(let email): throw Unexpected(outcome: "conflict \(email ?? "")")
        }
    }

    @Test(arguments: DegreeHolder.Degree.allCases, Proof.allCases)
    func `an app binds by every proof that the address's degree allows`(
        _ degree: DegreeHolder.Degree, _ way: Proof
    ) async throws {
        let name = "\(way)-\(degree)".lowercased()
        let email = "\(name)@company.example"
        let holder = try await world.holder(degree, name, email: email)
        try await world.openGoogleAccount(name, email: email)
        let client = try world.app()
        let ticket: LinkTicket
        let proof: BindProof
        switch way {
        case .session:
            _ = try await client.signIn(email: email, password: World.password)
            ticket = try await self.ticket(client, name)
            proof = .session
        case .password:
            ticket = try await self.ticket(client, name)
            proof = .password(email: email, password: World.password)
        case .mailedCode:
            ticket = try await self.ticket(client, name)
            try await client.requestCode(to: email, for: ticket)
            let code = try await world.code(holder.mailedCodes + 1, mailedTo: email)
            proof = .emailCode(email: email, code: code)
        case .ticket:
            ticket = try await self.ticket(client, name)
            proof = .ticket
        }
        #expect(!ticket.provesHolder)
        guard way != .ticket else {
            await #expect(throws: SessionError.refused(code: "invalid_request", status: 400)) {
                try await client.bind(ticket, proof: proof)
            }
            return
        }
        let (account, wasShown) = try await bind(ticket, proof, client)
        #expect(account.id == holder.device.account.id)
        #expect(wasShown == (degree == .stated && way == .mailedCode))
        #expect(try await client.account() == account)

        // The person's list of devices has this one.
        let (data, _) = try await client.data(
            for: URLRequest(url: try #require(URL(string: service.url + "/v1/sessions"))))
        #expect(String(decoding: data, as: UTF8.self).contains(#""device":{"name":"Kim’s phone","platform":"iOS"}"#))
    }

    @Test func `an app binds by the ticket alone where the provider runs the mailbox`() async throws {
        let holder = try await world.holder(.stated, "alone", email: "alone@company.example")
        try await world.openGoogleAccount("alone", email: "alone@company.example", workspace: "company.example")
        let client = try world.app()
        let ticket = try await self.ticket(client, "alone")
        #expect(ticket.provesHolder)
        #expect(ticket.holder?.identities.map(\.maskedEmail) == ["a***@company.example"])
        let (account, wasShown) = try await bind(ticket, .session, client)
        #expect(account.id == holder.device.account.id && !wasShown)
    }

    @Test
    func `an app binds by the ticket alone to an account without identities, once a code was right`() async throws {
        let rows = ["bare", "bare-too"].map {
            #"{"externalId":"\#($0)","email":"\#($0)@company.example","emailVerified":true}"#
        }
        try await ImportedPersonTests.import("bare", rows, into: scratch).expecting(0)

        // By the code to sign in with.
        let client = try world.app()
        try await client.requestSignInCode(to: "bare@company.example")
        let code = try await world.code(1, mailedTo: "bare@company.example")
        let outcome = try await client.signIn(email: "bare@company.example", code: code)
        guard case .linkRequired(let ticket) = outcome else { throw Unexpected(outcome: "\(outcome)") }
        #expect(ticket.provider == .email && ticket.provesHolder)
        #expect(ticket.holder?.identities.isEmpty == true)
        let (account, _) = try await bind(ticket, .session, client)
        #expect(account.externalID == "bare" && account.emailProof == .proven)

        // By the code to bind with, for an identity of a provider that does not run the mailbox.
        try await world.openGoogleAccount("bare-too", email: "bare-too@company.example")
        let unproven = try await self.ticket(client, "bare-too")
        #expect(!unproven.provesHolder)
        try await client.requestCode(to: "bare-too@company.example", for: unproven)
        let proof = BindProof.emailCode(
            email: "bare-too@company.example", code: try await world.code(1, mailedTo: "bare-too@company.example"))
        let (other, wasShown) = try await bind(unproven, proof, client)
        #expect(wasShown)
        #expect(other.externalID == "bare-too" && other.identities.map(\.provider) == [.google])
    }
}
