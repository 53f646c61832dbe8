import JSON
import TestSupport
import Testing

/// What a sound token says beside the person.
@Suite(.limitedConcurrency, .world, .timeLimit(.minutes(30))) struct CredentialTests: WorldSuite {
    /// The signature is Apple's; the address does not identify the person (the flaw of Sign in with Apple in 2020).
    @Test func `somebody else's address in a sound token signs nobody in`() async throws {
        // Google runs the victim's mailbox, so the address is proven.
        try await world.newPerson("victim", email: "victim@gmail.com")
        let victim = try await world.create(of: try await world.signIn("victim", with: .google))
        try await world.newPerson("mallory", email: "victim@gmail.com")
        for token in [
            try await world.appleToken("mallory"),
            try await world.appleToken("mallory", .init(claims: #"{"email_verified":"true"}"#)),
        ] {
            let answer = try await service.signInWithApple(token)
            #expect(try answer.text("status") == "linkRequired")
            #expect(answer.texts("choices") == ["bind"])
            #expect(!answer.text.contains(try victim.accountID()))
            #expect(try await service.create(try answer.linkTicket()).code == "email_taken")
        }
        // An unverified address, or one of a relay, does not even find the account.
        for claims in [#"{"email_verified":false}"#, #"{"email_verified":1}"#, #"{"is_private_email":true}"#] {
            let answer = try await service.signInWithApple(try await world.appleToken("mallory", .init(claims: claims)))
            #expect(answer.texts("choices") == ["bind", "create"], "\(claims)")
        }
    }
}
