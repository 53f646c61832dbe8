import Accounts
import Foundation
import Postgres
import Synchronization
import TestSupport
import Testing

/// A service that trusts the keys of `TokenMint.shared` as Apple's and Google's, so that a test can sign any token and
/// any event.
struct EventWorld: TestFixture {
    static let risc = "https://schemas.openid.net/secevent/risc/event-type/"

    let service: Countersign
    let scratch: ScratchDatabase
    let settings: Countersign.Settings
    let keyServer: KeySetServer

    static func run(_ body: (EventWorld) async throws -> Void) async throws { try await run([:], body) }

    static func run(
        _ settings: Countersign.Settings = [:], keys: [UInt8]? = nil, withKeys hasKeys: Bool = true,
        _ body: (EventWorld) async throws -> Void
    ) async throws {
        let keyServer = try KeySetServer(keys ?? TokenMint.shared.keySetDocument, isUp: hasKeys)
        try await ScratchDatabase.withMigrated { scratch in
            let all = [
                "postgres.url": scratch.url, "postgres.poolSize": "4", "apple.keysUrl": keyServer.url + "/apple",
                "google.keysUrl": keyServer.url + "/google",
            ].merging(settings) { _, asked in asked }
            try await Countersign.serve(all) { service in
                try await body(EventWorld(service: service, scratch: scratch, settings: all, keyServer: keyServer))
            }
        }
    }

    /// The server of both providers' key sets.
    final class KeySetServer: Sendable {
        private let flag = Flag()
        private let server: LoopbackServer

        private final class Flag: Sendable { let isUp = Mutex(false) }

        init(_ document: [UInt8], isUp: Bool) throws {
            server = try LoopbackServer { [flag] _ in
                [flag.isUp.withLock(\.self) ? .respond(body: document) : .respond(500)]
            }
            if isUp { becomeAvailable() }
        }

        var url: String { server.url }

        func becomeAvailable() { flag.isUp.withLock { $0 = true } }
    }

    // MARK: Tokens

    static var now: Int64 { Int64(Date.now.timeIntervalSince1970) }

    /// The changes of a token by which the person signs in now.
    static var signedInNow: [(String, TokenMint.Literal?)] { [("iat", .integer(now)), ("auth_time", .integer(now))] }

    /// The claims of Apple's token for a person who signed in a minute ago.
    static func appleClaims(_ subject: String, _ changes: [(String, TokenMint.Literal?)] = []) -> TokenMint.Members {
        let time = now - 60
        return TokenMint.Members.identity(.apple, to: Countersign.appleClient, of: subject, at: time)
            .with("auth_time", .integer(time)).with(changes)
    }

    static func googleClaims(_ subject: String, _ changes: [(String, TokenMint.Literal?)] = []) -> TokenMint.Members {
        .identity(.google, to: Countersign.googleClient, of: subject, at: now - 60).with(changes)
    }

    /// An event of half a minute ago.
    static func appleEvent(
        _ type: String, of subject: String, id: String, _ changes: [(String, TokenMint.Literal?)] = []
    ) -> TokenMint.Members {
        let time = now
        return TokenMint.Members.appleEvent(
            type, to: Countersign.appleClient, of: subject, at: time - 30, issuedAt: time, id: id
        ).with("exp", .integer(time + 86_400)).with(changes)
    }

    static func googleEvent(
        _ type: String, of subject: String, id: String, _ changes: [(String, TokenMint.Literal?)] = [],
        members: [(String, String)] = []
    ) -> TokenMint.Members {
        TokenMint.Members.googleEvent(
            risc + type, to: Countersign.googleClient, about: .googlePerson(subject), at: now - 30, id: id,
            members: members
        ).with(changes)
    }

    static func signed(
        _ claims: TokenMint.Members, header: TokenMint.Members? = nil, by mint: TokenMint? = nil
    ) throws -> String { String(decoding: try (mint ?? TokenMint.shared).token(claims, header: header), as: UTF8.self) }

    // MARK: Calls

    /// Creates an account of this person, and returns the answer.
    func appleAccount(_ subject: String) async throws -> Answer {
        try await account(try await service.signInWithApple(Self.signed(Self.appleClaims(subject))))
    }

    func googleAccount(_ subject: String) async throws -> Answer {
        try await account(try await service.signInWithGoogle(Self.signed(Self.googleClaims(subject))))
    }

    private func account(_ signIn: Answer) async throws -> Answer {
        try await service.create(try signIn.linkTicket()).expecting(201)
    }

    func count(_ query: SQL) async throws -> Int64 { try await scratch.count(query) }

    /// Whether the event of this token has taken effect.
    func isDone(_ id: String) async throws -> Bool {
        try await count("SELECT count(*) FROM provider_events WHERE jti = \(id) AND status = 'done'") == 1
    }
}

extension Countersign {
    func deliverAppleEvent(_ payload: String, type: String = "application/json") async throws -> Answer {
        let body: TokenMint.Members = ["payload": .string(payload)]
        return try await post("/v1/events/apple", body: body.bytes, type: type)
    }

    func deliverGoogleEvent(_ token: String, type: String = "application/secevent+jwt") async throws -> Answer {
        try await post("/v1/events/google", body: Array(token.utf8), type: type)
    }

    /// Whether the session of this answer is live.
    func isOpen(_ signedIn: Answer) async throws -> Bool {
        let answer = try await get("/v1/account", bearer: try signedIn.bearer())
        #expect([200, 401].contains(answer.status))
        return answer.status == 200
    }
}
