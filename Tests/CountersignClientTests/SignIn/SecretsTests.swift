import Foundation
import Testing

@testable import CountersignClient

/// No description, debug description, dump or mirror shows a secret.
@Suite struct SecretsTests {
    private static let secret = "s3cr3t-abcdefghijklmnopqrstuvwxyz-0123456789"

    private func texts(_ value: Any) -> [String] {
        var dumped = ""
        dump(value, to: &dumped)
        var mirrored = ""
        func walk(_ mirror: Mirror, _ depth: Int) {
            for child in mirror.children where depth < 6 {
                mirrored += "\(child.label ?? "") \(child.value)\n"
                walk(Mirror(reflecting: child.value), depth + 1)
            }
        }
        walk(Mirror(reflecting: value), 0)
        return ["\(value)", String(reflecting: value), String(describing: [value]), dumped, mirrored]
    }

    private func expectNoSecret(_ value: Any) {
        for text in texts(value) {
            for secret in [Self.secret, Fixture.access(1), Fixture.refresh(1), Fixture.ticket] {
                #expect(!text.contains(secret.prefix(7)), "\(type(of: value)): \(text)")
            }
        }
    }

    @Test func `values with secrets show none`() throws {
        let secret = Self.secret
        expectNoSecret(AppleCredential(identityToken: secret, authorizationCode: secret, nonce: secret))
        expectNoSecret(GoogleCredential(idToken: secret, serverAuthCode: secret, nonce: secret))
        expectNoSecret(SignInNonce(value: secret, expiresAt: Date()))
        expectNoSecret(BindProof.password(email: "a@x.example", password: secret))
        expectNoSecret(BindProof.emailCode(email: "a@x.example", code: secret))
        let ticket = try LinkTests.ticket(holder: LinkTests.holder)
        expectNoSecret(ticket)
        expectNoSecret(SignInOutcome.linkRequired(ticket))
        expectNoSecret(BindOutcome.holder(ticket))
        expectNoSecret(SignInFlow(ticket))
        let url = try #require(URL(string: "https://auth.example/web/authorize?state=\(secret)"))
        expectNoSecret(WebSignIn(url: url, redirectURI: url, state: secret, verifier: secret))
        expectNoSecret(InMemorySessionStore(Data(secret.utf8)))
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("session")
        expectNoSecret(try FileSessionStore(file: file, key: Data(secret.utf8.prefix(32))))
    }

    @Test func `a client with a session shows none of it`() async throws {
        let server = try ScriptedServer { _ in .drop }
        let client = server.client(InMemorySessionStore(Fixture.document()))
        #expect(await client.canAuthorize)
        expectNoSecret(client)
        expectNoSecret(["client": client])
    }

    @Test func `what shows a value would show a secret that is not hidden`() {
        struct Bare {
            let token: String
        }
        #expect(texts(Bare(token: Self.secret)).allSatisfy { $0.contains(Self.secret) })
    }
}
