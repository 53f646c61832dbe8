import Foundation
import JOSE
import JSON
import OpenSSL
import TestSupport
import Testing

/// An app that moves to another team, and its users with it.
@Suite(.fixture(Sandbox.self)) struct AppleTransferTests {
    /// One app before its transfer, and the team that it goes to, on a clock that stands still.
    private struct Move {
        let sender: AppleClient
        let recipientTeam = "RECIPIENT1"
        let recipientKey: P256PrivateKey

        var sandbox: Sandbox { sender.sandbox }

        /// The same app with the recipient's team and key.
        var recipient: AppleClient {
            AppleClient(sandbox: sandbox, key: recipientKey, keyID: "NEW", team: recipientTeam, id: sender.id)
        }

        func accept() async throws -> Sandbox.Transfer {
            try await sandbox.transferAppleApp(sender.id, from: sender.team, to: recipientTeam)
        }

        /// The answer that the sender gets for a subject.
        func export(_ subject: String, target: String? = nil, bearer: String? = nil) async throws -> EndpointAnswer {
            let token = if let bearer { bearer } else { try await sender.migrationToken() }
            return try await sender.migrate([("sub", subject), ("target", target ?? recipientTeam)], bearer: token)
        }

        func `import`(_ transferSubject: String) async throws -> EndpointAnswer {
            try await recipient.migrate([("transfer_sub", transferSubject)], bearer: recipient.migrationToken())
        }
    }

    private var sandbox: Sandbox { .current }
    private let move: Move

    init() async throws {
        let sandbox = Sandbox.current
        try await sandbox.setClock("2026-01-01T12:00:00Z")
        let key = try P256PrivateKey()
        try await sandbox.registerAppleKey(team: "RECIPIENT1", keyID: "NEW", key)
        try await sandbox.addApplePerson("kim", #"{"hidesEmail":true}"#)
        try await sandbox.addApplePerson("lee", #"{"email":"lee@example.com"}"#)
        move = Move(sender: try await AppleClient.register(in: sandbox), recipientKey: key)
    }

    private func signIn(_ person: String, _ client: AppleClient) async throws -> String {
        try await client.sandbox.authorizeApple(person, clientID: client.id).user
    }

    private func email(_ person: String) async throws -> String? {
        try await sandbox.control("apple/persons/\(person)")["teams"]?[move.recipientTeam]?["email"]?.string
    }

    @Test func `a user goes from subject to transfer_sub to the other team's subject`() async throws {
        let kim = try await signIn("kim", move.sender)
        let lee = try await signIn("lee", move.sender)
        let transferSubject = try await move.export(kim).text("transfer_sub")
        #expect(transferSubject.wholeMatch(of: /\d{6}\.[0-9a-f]{32}\.\d{4}/) != nil)
        #expect(try await move.export(kim).text("transfer_sub") == transferSubject)
        let transfer = try await move.accept()
        #expect(transfer.persons == ["kim", "lee"])
        #expect(transfer.acceptedAt == "2026-01-01T12:00:00Z")
        #expect(transfer.endsAt == "2026-03-02T12:00:00Z")

        let answer = try await move.import(transferSubject)
        #expect(answer.json?.members?.map(\.name) == ["sub", "email", "is_private_email"])
        let subject = try answer.text("sub")
        #expect(subject != kim)
        #expect(try answer.text("email") == (try await email("kim")))
        #expect(answer.json?["is_private_email"]?.bool == true)
        #expect(try await signIn("kim", move.recipient) == subject)
        // The sender may still ask after the transfer; an address that is no relay stays unsaid.
        let other = try await move.import(move.export(lee).text("transfer_sub"))
        #expect(other.json?.members?.map(\.name) == ["sub"])
    }

    @Test func `identity tokens carry transfer_sub for sixty days and for those who used the app before`() async throws
    {
        let kim = try await signIn("kim", move.sender)
        func claim(_ person: String) async throws -> String? {
            let credential = try await sandbox.authorizeApple(person, clientID: move.sender.id)
            return try TokenParts(credential.identityToken).claims["transfer_sub"]?.string
        }
        #expect(try await claim("kim") == nil)
        _ = try await move.accept()
        let transferSubject = try await move.export(kim).text("transfer_sub")
        #expect(try await claim("kim") == transferSubject)
        #expect(try await claim("lee") == nil)
        let token = try await move.recipient.exchange(move.recipient.code("kim")).text("id_token")
        #expect(try TokenParts(token).claims["transfer_sub"]?.string == transferSubject)
        try await sandbox.advanceClock(by: 60 * 86_400 - 1)
        #expect(try await claim("kim") == transferSubject)
        try await sandbox.advanceClock(by: 1)
        #expect(try await claim("kim") == nil)
    }

    @Test func `sixty days after the transfer neither team can migrate a user`() async throws {
        let transferSubject = try await move.export(signIn("kim", move.sender)).text("transfer_sub")
        _ = try await move.accept()
        try await sandbox.advanceClock(by: 60 * 86_400)
        #expect(
            try await move.import(transferSubject).refusal
                == "400 invalid_request the client has not come to this team within 60 days")
        let sender = try await move.sender.post(
            "/apple/auth/token", [("grant_type", "client_credentials"), ("scope", "user.migration")])
        #expect(sender.refusal == "400 invalid_client client_secret: kid is no live key of the client's team")
    }

    @Test func `after the transfer the client's codes and tokens want the recipient's key`() async throws {
        let token = try await move.sender.refreshToken("kim")
        _ = try await move.accept()
        let refusal = "400 invalid_client client_secret: kid is no live key of the client's team"
        #expect(try await move.sender.refresh(token).refusal == refusal)
        #expect(try await move.sender.revoke(token).refusal == refusal)
        #expect(try await move.recipient.refresh(token).status == 200)
    }

    @Test func `before the transfer the recipient has no say`() async throws {
        let answer = try await move.recipient.post(
            "/apple/auth/token", [("grant_type", "client_credentials"), ("scope", "user.migration")])
        #expect(answer.refusal == "400 invalid_client client_secret: kid is no live key of the client's team")
    }

    @Test func `a scope other than user migration is refused`() async throws {
        let answer = try await move.sender.post(
            "/apple/auth/token", [("grant_type", "client_credentials"), ("scope", "email")])
        #expect(answer.refusal == "400 invalid_scope scope is not user.migration")
    }

    @Test func `a bearer token must be a live migration token of this client`() async throws {
        let kim = try await signIn("kim", move.sender)
        let fields = [("sub", kim), ("target", move.recipientTeam)]
        let refusal = "400 invalid_client no live user.migration token of this client and team"
        let sibling = try await move.sender.sibling("com.example.sibling")
        let userToken = try await move.sender.exchange(move.sender.code("kim")).text("access_token")
        for bearer in [nil, "junk", userToken, try await sibling.migrationToken()] {
            #expect(try await move.sender.migrate(fields, bearer: bearer).refusal == refusal)
        }
        let good = try await move.sender.migrationToken()
        try await sandbox.advanceClock(by: 3599)
        #expect(try await move.sender.migrate(fields, bearer: good).status == 200)
        try await sandbox.advanceClock(by: 1)
        #expect(try await move.sender.migrate(fields, bearer: good).refusal == refusal)
    }

    @Test func `a sender names a user of the client and another team that exists`() async throws {
        let kim = try await signIn("kim", move.sender)
        let otherPerson = try await signIn("lee", move.sender.sibling("com.example.sibling"))
        func refusal(_ subject: String, _ target: String) async throws -> String {
            try await move.export(subject, target: target).refusal
        }
        let team = move.recipientTeam
        #expect(try await refusal(kim, "NOBODYS001") == "400 invalid_request target is no team")
        #expect(try await refusal(kim, move.sender.team) == "400 invalid_request target is the sender itself")
        #expect(try await refusal("001234.x.0001", team) == "400 invalid_request sub is no user of this client")
        #expect(try await refusal(otherPerson, team) == "400 invalid_request sub is no user of this client")
        _ = try await move.accept()
        #expect(
            try await refusal(kim, "SANDBOX001")
                == "400 invalid_request target is not the team that the app went to")
    }

    @Test func `a user who has withdrawn cannot be carried over`() async throws {
        let kim = try await signIn("kim", move.sender)
        try await sandbox.withdrawApple("kim", clientID: move.sender.id)
        #expect(try await move.export(kim).refusal == "400 invalid_request sub is no user of this client")
    }

    @Test func `a recipient's transfer_sub must be one that the app brought along`() async throws {
        let kim = try await signIn("kim", move.sender)
        _ = try await move.accept()
        #expect(try await move.import(kim).refusal == "400 invalid_request transfer_sub is nobody's")
        let both = try await move.recipient.migrate(
            [("transfer_sub", "x"), ("sub", kim)], bearer: move.recipient.migrationToken())
        #expect(both.refusal == "400 invalid_request transfer_sub is not supported")
    }

    @Test func `a transfer names the team that has the app, and another one`() async throws {
        let id = move.sender.id
        let wrong = try await sandbox.refusal("apple/transfers", #"{"clientId":"\#(id)","fromTeam":"X","toTeam":"Y"}"#)
        #expect(wrong.status == 409)
        let same = try await sandbox.refusal("apple/transfers", #"{"clientId":"\#(id)","fromTeam":"X","toTeam":"X"}"#)
        #expect(same.status == 400)
    }
}
