import JOSE
import JSON
import TestSupport
import Testing

/// The members that may accompany a token, and their effects.
@Suite(.limitedConcurrency, .world, .timeLimit(.minutes(30))) struct CredentialTests: WorldSuite {
    @Test func `a request with neither a token nor a code is refused`() async throws {
        let service = world.service
        for (provider, member) in [(Sandbox.Provider.apple, "identityToken"), (.google, "idToken")] {
            let answer = try await service.signIn(provider, [:])
            #expect(answer.status == 400)
            #expect(answer.json?["errors"]?.elements?.first?["field"]?.string == member)
        }
    }

    /// The signature is Apple's; the address does not identify the person (the flaw of Sign in with Apple in 2020).
    @Test func `somebody else's address in a sound token signs nobody in`() async throws {
        // Google runs the victim's mailbox, so the address is proven.
        try await world.newPerson("victim", email: "victim@gmail.com")
        let victim = try await world.create(
            of: try await world.service.signInWithGoogle(try await world.googleToken("victim")))
        try await world.newPerson("mallory", email: "victim@gmail.com")
        for token in [
            try await world.appleToken("mallory"),
            try await world.appleToken("mallory", .init(claims: #"{"email_verified":"true"}"#)),
        ] {
            let answer = try await world.service.signInWithApple(token)
            #expect(try answer.text("status") == "linkRequired")
            #expect(answer.texts("choices") == ["bind"])
            #expect(!answer.text.contains(try victim.text("account.accountId")))
            let created = try await world.service.post(
                "/v1/links/create", ["linkTicket": .string(try answer.text("linkTicket"))])
            #expect(created.code == "email_taken")
        }
        // An unverified address, or one of a relay, does not even find the account.
        for claims in [#"{"email_verified":false}"#, #"{"email_verified":1}"#, #"{"is_private_email":true}"#] {
            let answer = try await world.service.signInWithApple(
                try await world.appleToken("mallory", .init(claims: claims)))
            #expect(answer.texts("choices") == ["bind", "create"], "\(claims)")
        }
    }
}
