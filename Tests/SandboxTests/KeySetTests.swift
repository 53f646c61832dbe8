import Curl
import JOSE
import JSON
import TestSupport
import Testing

@Suite(.fixture(Sandbox.self)) struct KeySetTests {
    private var sandbox: Sandbox { .current }

    @Test func `Apple publishes three keys whose order changes and Google publishes two`() async throws {
        let first = try await sandbox.keySet(.apple)
        let second = try await sandbox.keySet(.apple)
        #expect(first.count == 3)
        #expect(first.rejected.isEmpty)
        #expect(first.keyIDs != second.keyIDs)
        #expect(Set(first.keyIDs) == Set(second.keyIDs))
        #expect(first.keyIDs.allSatisfy { $0.utf8.count == 10 })
        let google = try await sandbox.keySet(.google)
        #expect(google.count == 2)
        #expect(google.rejected.isEmpty)
        #expect(google.keyIDs.allSatisfy { $0.utf8.count == 40 })
    }

    @Test func `key sets say how long they may be kept and both ways to change that work`() async throws {
        let apple = try await sandbox.get("/apple/auth/keys")
        #expect(apple.headers.first("Content-Type") == "application/json;charset=UTF-8")
        #expect(apple.headers.first("Cache-Control") == "public, max-age=3600")
        let google = try await sandbox.get("/google/oauth2/v3/certs")
        #expect(google.headers.first("Cache-Control") == "public, max-age=21600, must-revalidate, no-transform")
        try await sandbox.setCacheControl(.google, "public, max-age=5")
        #expect(try await sandbox.get("/google/oauth2/v3/certs").headers.first("Cache-Control") == "public, max-age=5")
        try await sandbox.setCacheControl(.google, nil)
        #expect(try await sandbox.get("/google/oauth2/v3/certs").headers.first("Cache-Control") == nil)
    }

    @Test func `a rotation signs with a new key, shows three at Google and drops the oldest at the next`() async throws
    {
        try await sandbox.addGooglePerson("kim")
        let before = try await sandbox.keySet(.google)
        let new = try await sandbox.rotateKeys(.google)
        let during = try await sandbox.keySet(.google)
        #expect(during.keyIDs == before.keyIDs + [new])
        let token = try await sandbox.authorizeGoogle("kim", clientID: "web").idToken
        #expect(try TokenParts(token).header["kid"]?.string == new)
        #expect(rejection(of: token, by: before) == .keyUnknown)
        #expect(rejection(of: token, by: during) == nil)
        let newer = try await sandbox.rotateKeys(.google)
        #expect(try await sandbox.keySet(.google).keyIDs == Array(during.keyIDs.dropFirst()) + [newer])
    }

    @Test func `a revoked key leaves the set, another one signs, and old tokens can still be minted`() async throws {
        try await sandbox.addApplePerson("kim")
        let revoked = try await sandbox.signingKeyID(.apple)
        try await sandbox.revokeKey(.apple, id: revoked)
        let keys = try await sandbox.keySet(.apple)
        #expect(keys.count == 2)
        #expect(!keys.keyIDs.contains(revoked))
        let sound = try await sandbox.authorizeApple("kim", clientID: "app").identityToken
        #expect(rejection(of: sound, by: keys) == nil)
        let stale = try await sandbox.authorizeApple("kim", clientID: "app", token: .init(keyID: revoked))
        #expect(rejection(of: stale.identityToken, by: keys) == .keyUnknown)
    }

    @Test func `a key can be added under a chosen id, published or held back`() async throws {
        try await sandbox.addApplePerson("kim")
        try await sandbox.addKey(.apple, id: "shown")
        try await sandbox.addKey(.apple, id: "hidden", published: false)
        let keys = try await sandbox.keySet(.apple)
        #expect(keys.keyIDs.contains("shown"))
        #expect(!keys.keyIDs.contains("hidden"))
        let shown = try await sandbox.authorizeApple("kim", clientID: "app", token: .init(keyID: "shown"))
        #expect(rejection(of: shown.identityToken, by: keys) == nil)
        let hidden = try await sandbox.authorizeApple("kim", clientID: "app", token: .init(keyID: "hidden"))
        #expect(rejection(of: hidden.identityToken, by: keys) == .keyUnknown)
        #expect(try await sandbox.refusal("apple/keys", #"{"keyId":"shown"}"#).status == 409)
    }

    @Test func `the last published key cannot be revoked, nor one that is not published`() async throws {
        let ids = try await sandbox.keySet(.google).keyIDs
        try await sandbox.revokeKey(.google, id: ids[0])
        #expect(try await sandbox.refusal("google/keys/revoke", #"{"keyId":"\#(ids[1])"}"#).status == 409)
        #expect(try await sandbox.refusal("google/keys/revoke", #"{"keyId":"\#(ids[0])"}"#).status == 404)
        #expect(try await sandbox.keySet(.google).keyIDs == [ids[1]])
    }

    @Test(.fixture { try await Sandbox.run(arguments: ["--apple-issuer", "https://issuer.example"], $0) })
    func `discovery names the configured issuer and the sandbox's own key addresses`() async throws {
        for (path, issuer, keysURL) in [
            ("/apple/.well-known/openid-configuration", "https://issuer.example", sandbox.appleKeysURL),
            ("/google/.well-known/openid-configuration", "https://accounts.google.com", sandbox.googleKeysURL),
            ("/google/.well-known/risc-configuration", "https://accounts.google.com/", sandbox.googleKeysURL),
        ] {
            let document = try JSONValue(parsing: try await sandbox.get(path).body)
            #expect(document["issuer"]?.string == issuer)
            #expect(document["jwks_uri"]?.string == keysURL)
        }
        try await sandbox.addApplePerson("kim")
        let token = try await sandbox.authorizeApple("kim", clientID: "app").identityToken
        #expect(try TokenParts(token).claims["iss"]?.string == "https://issuer.example")
    }
}
