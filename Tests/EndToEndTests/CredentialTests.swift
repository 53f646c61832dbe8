import JOSE
import JSON
import OpenSSL
import TestSupport
import Testing

/// The members that may accompany a token, and their effects.
@Suite(.limitedConcurrency, .world, .timeLimit(.minutes(5))) struct CredentialTests {
    var world: World { .current }

    @Test(arguments: Sandbox.Provider.allCases)
    func `a code brings an authorization, beside a token and alone`(provider: Sandbox.Provider) async throws {
        let person = "code-\(provider)"
        try await world.newPerson(person)
        let created = try await world.create(try await world.authorize(person, provider))
        // A busy machine may need more than the two seconds that a code has beside a token.
        try await eventually("an authorization beside a token") {
            let answer = try await world.service.signIn(provider, try await world.authorize(person, provider).both)
            return try answer.text("identity.authorization") == "active"
        }
        let before = try await world.grants(of: person, provider).count
        let alone = try await world.service.signIn(provider, try await world.authorize(person, provider).codeAlone)
        #expect(alone.status == 200)
        #expect(try alone.text("account.accountId") == (try created.text("account.accountId")))
        #expect(try alone.text("identity.authorization") == "active")
        #expect(try await world.grants(of: person, provider).count == before + 1)
    }

    @Test(arguments: Sandbox.Provider.allCases)
    func `a code is good once, and a spent one takes nothing from the token beside it`(
        provider: Sandbox.Provider
    ) async throws {
        try await world.newPerson("spent-\(provider)")
        let credential = try await world.authorize("spent-\(provider)", provider)
        #expect(try await world.service.signIn(provider, credential.codeAlone).status == 200)
        let again = try await world.service.signIn(provider, credential.codeAlone)
        #expect(again.status == 401)
        #expect(again.code == "invalid_token")
        #expect(try await world.service.signIn(provider, credential.both).status == 200)
    }

    @Test func `a request with neither a token nor a code is refused`() async throws {
        let service = world.service
        for (provider, member) in [(Sandbox.Provider.apple, "identityToken"), (.google, "idToken")] {
            let answer = try await service.signIn(provider, [:])
            #expect(answer.status == 400)
            #expect(answer.json?["errors"]?.elements?.first?["field"]?.string == member)
        }
    }

    @Test func `the nonce that is posted raw must be the one that the token has hashed or raw`() async throws {
        try await world.newPerson("nonce")
        let raw = "k3Vq9Zt1-raw"
        let digest = Canaries.digits(SHA256.hash(Array(raw.utf8)))
        let posted: TokenMint.Members = ["nonce": .string(raw)]
        let hashed = try await world.appleToken("nonce", nonce: digest)
        #expect(try await world.service.signInWithApple(hashed, posted).status == 200)
        #expect(try await world.service.signInWithApple(hashed).status == 401)
        for nonce in [digest.uppercased(), raw] {
            let token = try await world.appleToken("nonce", nonce: nonce)
            #expect(try await world.service.signInWithApple(token, posted).status == 401)
        }
        let google = try await world.googleToken("nonce", nonce: raw)
        #expect(try await world.service.signInWithGoogle(google, posted).status == 200)
        #expect(try await world.service.signInWithGoogle(google).status == 200)
        #expect(try await world.service.signInWithGoogle(google, ["nonce": "another"]).status == 401)
    }

    @Test func `the name that Apple gave the phone becomes the account's, the one in a create goes before it`()
        async throws
    {
        for (person, asked, expected) in [("kay", nil, "Kay Lee"), ("joe", "Josephine", "Josephine")] {
            try await world.newPerson(person)
            let name = TokenMint.Literal.raw(#"{"givenName":"Kay","familyName":"Lee"}"#)
            let ticket = try await world.service.signInWithApple(
                try await world.appleToken(person), ["fullName": name]
            ).text("linkTicket")
            let members = TokenMint.Members().with("linkTicket", .string(ticket))
            let created = try await world.service.post(
                "/v1/links/create", asked.map { members.with("displayName", .string($0)) } ?? members)
            #expect(try created.text("account.displayName") == expected)
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
