import JSON
import TestSupport
import Testing

/// A world that sends its mail to a real server.
enum MailedWorld {
    @TaskLocal static var server: MailServer?

    static func run(_ settings: Countersign.Settings, _ body: (World) async throws -> Void) async throws {
        try await withServer { mail in
            try await World.run(mail.merging(settings) { _, own in own }) { try await body($0) }
        }
    }

    /// Runs the body with the settings by which a service sends its mail to a server.
    static func withServer(_ body: (Countersign.Settings) async throws -> Void) async throws {
        try await MailServer.run { server in
            try await Self.$server.withValue(server) { try await body(settings(port: server.port)) }
        }
    }

    static func settings(port: UInt16) -> Countersign.Settings {
        ["mail.smtpUrl": "smtp://127.0.0.1:\(port)", "mail.from": "lamp@example.com"]
    }
}

extension Trait where Self == FixtureTrait<World> {
    /// One world for all tests of a suite, with mail.
    static func mailedWorld(_ settings: Countersign.Settings = [:]) -> Self {
        sharedFixture { try await MailedWorld.run(settings, $0) }
    }
}

extension World {
    /// The messages that have arrived at an address.
    func mailbox(_ email: String) throws -> [MailServer.Message] {
        try #require(MailedWorld.server).messages.filter { $0.recipients == [email] }
    }

    /// Waits for the mail of this number, from 1, to an address.
    func mail(_ number: Int, to email: String) async throws -> MailServer.Message {
        try await eventually("mail \(number) to \(email)") { try mailbox(email).count >= number }
        return try mailbox(email)[number - 1]
    }

    /// Asks for a code, and reads it in the mail, which may come among notices.
    func mailedCode(_ purpose: String, to email: String, ticket: String? = nil) async throws -> String {
        let before = try codes(mailedTo: email).count
        #expect(try await askForCode(purpose, email, ticket: ticket).expecting(202).text == "{}")
        return try await code(before + 1, mailedTo: email)
    }

    /// Waits for the code of this number, from 1, to an address.
    func code(_ number: Int, mailedTo email: String) async throws -> String {
        try await eventually("code \(number) to \(email)") { try codes(mailedTo: email).count >= number }
        return try codes(mailedTo: email)[number - 1]
    }

    private func codes(mailedTo email: String) throws -> [String] { try mailbox(email).compactMap(Self.codeIfAny) }

    func askForCode(_ purpose: String, _ email: String, ticket: String? = nil) async throws -> Answer {
        let members: TokenMint.Members = ["email": .string(email), "purpose": .string(purpose)]
        return try await service.post("/v1/email-codes", members.with("linkTicket", ticket.map { .string($0) }))
    }

    /// Another code than this one.
    static func wrong(_ code: String) -> String { code == "000000" ? "000001" : "000000" }

    static func code(in message: MailServer.Message) throws -> String {
        try #require(codeIfAny(message), "\(message.text ?? "")")
    }

    private static func codeIfAny(_ message: MailServer.Message) -> String? {
        message.text?.firstMatch(of: /(?m)^    (\d{6})$/).map { String($0.1) }
    }

    /// The link ticket of a new person.
    func ticket(_ name: String, email: String? = nil) async throws -> String {
        try await newPerson(name, email: email)
        return try await service.signInWithGoogle(try await googleToken(name)).linkTicket()
    }
}

extension Countersign {
    /// A request with a body, by a method that the fetcher does not offer.
    func send(
        _ method: String, _ path: String, _ members: TokenMint.Members, bearer: String? = nil
    ) async throws -> RawAnswer { try await ask(method, path, bearer: bearer, body: members.text) }

    /// Gives the account of a session its first password.
    func setPassword(bearer: String, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let members: TokenMint.Members = ["newPassword": .string(World.password)]
        let set = try await send("PUT", "/v1/account/password", members, bearer: bearer)
        set.expecting(204, sourceLocation: sourceLocation)
    }
}

extension RawAnswer: ReadableAnswer { var json: JSONValue? { try? JSONValue(parsing: Array(body.utf8)) } }
