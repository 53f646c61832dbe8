import Foundation
import JOSE
import JSON
import TestSupport
import Testing

/// What a request says of the host that it was sent to, by itself and as a trusted proxy would pass it on.
@Suite(
    .limitedConcurrency,
    .mailedWorld(["server.publicUrl": "https://auth.example.com", "server.trustedProxies": "127.0.0.1"]),
    .timeLimit(.minutes(30)))
struct HostNameTests: WorldSuite {
    private static let names = """
        X-Forwarded-Host: evil.example\r\nX-Forwarded-Proto: http\r\nX-Forwarded-Port: 81\r\n\
        X-Forwarded-Prefix: /evil.example\r\nX-Original-Host: evil.example\r\n\
        Forwarded: host=evil.example;proto=http\r\n
        """

    private func ask(_ method: String, _ path: String, _ members: TokenMint.Members? = nil) async throws -> RawAnswer {
        try await service.ask(method, path, host: "evil.example", body: members?.text, headers: Self.names)
    }

    @Test func `the documents for verifiers are the same whatever the Host`() async throws {
        for path in ["/.well-known/openid-configuration", "/.well-known/jwks.json"] {
            let published = try await service.get(path)
            let answer = try await ask("GET", path).expecting(200)
            #expect(answer.body == published.text, "\(path)")
        }
        let document = try await service.get("/.well-known/openid-configuration")
        #expect(try document.text("issuer") == "https://auth.example.com")
        #expect(try document.text("jwks_uri") == "https://auth.example.com/.well-known/jwks.json")
    }

    @Test func `no token, answer or mail has the Host of the request that asked for it`() async throws {
        try await world.newPerson("host", email: "host@example.com")
        let token = try await world.appleToken("host")
        let required = try await ask("POST", "/v1/sign-in/apple", ["identityToken": .string(token)])
        let ticket = try #require(required.json?["linkTicket"]?.string)
        let created = try await ask("POST", "/v1/links/create", ["linkTicket": .string(ticket)]).expecting(201)
        let code = try await ask("POST", "/v1/email-codes", ["email": "host@example.com", "purpose": "signIn"])
        #expect(code.status == 202)
        let refused = try await ask("GET", "/v1/account").expecting(401)
        let page = try await ask("GET", "/web/sign-in")
        for answer in [required, created, code, refused, page] {
            #expect(!answer.text.contains("evil.example"), "\(answer.text)")
        }
        let access = try #require(created.json?["session"]?["accessToken"]?.string)
        let keys = try KeySet(parsing: try await service.get("/.well-known/jwks.json").body)
        let accessToken = try UnverifiedToken(Array(access.utf8), allowedTypes: ["at+jwt"]).verified(by: keys)
        #expect(accessToken.claims["iss"]?.string == "https://auth.example.com")

        // The notice of the new account, and the code.
        for number in 1...2 {
            let mail = try await world.mail(number, to: "host@example.com")
            #expect(!String(decoding: mail.content, as: UTF8.self).contains("evil.example"))
            for text in [mail.text, mail.html] { #expect(text?.contains("evil.example") != true) }
            for header in mail.headers { #expect(!header.joined().contains("evil.example"), "\(header)") }
        }
    }
}
