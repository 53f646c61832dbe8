import JOSE
import OpenSSL
import TestSupport
import Testing

/// What may come beside a token, and what it does.
@Suite(.inTurn, .sharedWorld, .timeLimit(.minutes(5))) struct CredentialTests {
    @Test func `a code that comes along is accepted, and the authorization stays none`() async throws {
        let world = try World.shared
        try await world.newPerson("code")
        let credential = try await world.sandbox.authorizeApple("code", clientID: Countersign.appleClient)
        let posted: TokenMint.Members = [
            "authorizationCode": .string(credential.authorizationCode), "clientId": .string(Countersign.appleClient),
        ]
        let stranger = try await world.service.signInWithApple(credential.identityToken, posted)
        #expect(stranger.status == 200)
        let created = try await world.service.post(
            "/v1/links/create", ["linkTicket": .string(try stranger.text("linkTicket"))])
        #expect(try created.text("identity.authorization") == "none")
        #expect(try created.text("identity.provider") == "apple")

        let google = try await world.sandbox.authorizeGoogle("code", clientID: Countersign.googleClient)
        let other = try await world.service.signInWithGoogle(
            google.idToken, ["serverAuthCode": .string(google.serverAuthCode)])
        #expect(other.status == 200)
    }

    @Test func `a code alone does not sign in yet, and nothing at all is told so`() async throws {
        let service = try World.shared.service
        for (path, code, token) in [
            ("apple", "authorizationCode", "identityToken"), ("google", "serverAuthCode", "idToken"),
        ] {
            for members in [TokenMint.Members(), TokenMint.Members().with(code, "c0de")] {
                let answer = try await service.post("/v1/sign-in/\(path)", members)
                #expect(answer.status == 400)
                #expect(answer.json?["errors"]?.elements?.first?["field"]?.string == token)
            }
        }
    }

    @Test func `the nonce that is posted raw must be the one that the token has hashed or raw`() async throws {
        let world = try World.shared
        try await world.newPerson("nonce")
        let raw = "k3Vq9Zt1-raw"
        let digest = SHA256.hash(Array(raw.utf8)).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
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
        let world = try World.shared
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

    /// The signature is Apple's; the address is not the person (the hole in Sign in with Apple of 2020).
    @Test func `somebody else's address in a sound token signs nobody in`() async throws {
        let world = try World.shared
        let victim = try await world.newAccount("victim")
        try await world.newPerson("mallory", email: "victim@example.com")
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
        // An address that nobody vouches for, or one of a relay, does not even do that.
        for claims in [#"{"email_verified":false}"#, #"{"email_verified":1}"#, #"{"is_private_email":true}"#] {
            let answer = try await world.service.signInWithApple(
                try await world.appleToken("mallory", .init(claims: claims)))
            #expect(answer.texts("choices") == ["bind", "create"], "\(claims)")
        }
    }
}
