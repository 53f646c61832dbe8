import JOSE
import JSON
import OpenSSL
import Primitives
import TestSupport
import Testing

@Suite(.fixture(Sandbox.self)) struct AppleTokenTests {
    private let noon: Int64 = 1_767_268_800  // 2026-01-01T12:00:00Z
    private let kim = #"{"email":"kim@example.com","givenName":"Kim","familyName":"Lee"}"#

    private var sandbox: Sandbox { .current }

    init() async throws {
        try await sandbox.setClock("2026-01-01T12:00:00Z")
        try await sandbox.addApplePerson("kim", kim)
    }

    @Test func `a first consent brings a token that verifies and everything the SDK shares once`() async throws {
        let credential = try await sandbox.authorizeApple("kim", clientID: "com.example.lamp", nonce: "n-1")
        let token = try UnverifiedToken(Array(credential.identityToken.utf8))
        let verified = try token.verified(by: try await sandbox.keySet(.apple))
        let rules = ClaimRules(issuers: ["https://appleid.apple.com"], audiences: ["com.example.lamp"])
        let checked = try rules.check(verified, at: noon)
        #expect(checked.subject == credential.user)
        #expect(checked.issuedAt == noon)
        #expect(checked.expiresAt == noon + 86_400)

        let parts = try TokenParts(credential.identityToken)
        #expect(parts.header.members?.map(\.name) == ["kid", "alg"])
        #expect(
            parts.claimNames == [
                "iss", "aud", "exp", "iat", "sub", "nonce", "c_hash", "email", "email_verified", "is_private_email",
                "auth_time", "nonce_supported", "real_user_status",
            ])
        #expect(parts.claims["nonce"]?.string == "n-1")
        #expect(parts.claims["nonce_supported"]?.bool == true)
        #expect(parts.claims["email"]?.string == "kim@example.com")
        #expect(parts.claims["email_verified"]?.bool == true)
        #expect(parts.claims["is_private_email"]?.bool == false)
        #expect(parts.claims["auth_time"]?.integer == noon)
        #expect(parts.claims["real_user_status"]?.integer == 2)
        let half = Array(SHA256.hash(Array(credential.authorizationCode.utf8)).prefix(16))
        #expect(parts.claims["c_hash"]?.string == Base64URL.encode(half))

        #expect(credential.email == "kim@example.com")
        #expect(credential.givenName == "Kim")
        #expect(credential.familyName == "Lee")
        #expect(credential.realUserStatus == 2)
    }

    @Test func `a later sign-in brings neither name nor address nor real user status`() async throws {
        let first = try await sandbox.authorizeApple("kim", clientID: "com.example.lamp")
        let later = try await sandbox.authorizeApple("kim", clientID: "com.example.lamp")
        #expect(later.user == first.user)
        #expect(later.authorizationCode != first.authorizationCode)
        #expect(later.email == nil)
        #expect(later.givenName == nil)
        #expect(later.familyName == nil)
        #expect(later.realUserStatus == nil)
        let names = try TokenParts(later.identityToken).claimNames
        #expect(names == ["iss", "aud", "exp", "iat", "sub", "c_hash", "auth_time", "nonce_supported"])
        let repeated = try await sandbox.authorizeApple("kim", clientID: "com.example.lamp", repeatEmail: true)
        #expect(repeated.email == nil)
        #expect(try TokenParts(repeated.identityToken).claims["email"]?.string == "kim@example.com")
    }

    @Test func `a withdrawn consent makes the next sign-in a first one with the same subject`() async throws {
        let first = try await sandbox.authorizeApple("kim", clientID: "com.example.lamp")
        try await sandbox.withdrawApple("kim", clientID: "com.example.lamp")
        let again = try await sandbox.authorizeApple("kim", clientID: "com.example.lamp")
        #expect(again.user == first.user)
        #expect(again.givenName == "Kim")
        try await sandbox.withdrawApple("kim", clientID: "com.example.lamp")
        let body = #"{"person":"kim","clientId":"com.example.lamp"}"#
        #expect(try await sandbox.refusal("apple/withdraw", body).status == 404)
    }

    @Test func `a hidden address is a relay of the team and so is the subject`() async throws {
        try await sandbox.addApplePerson("kim", #"{"hidesEmail":true}"#)
        try await sandbox.assignAppleClient("com.other.app", team: "OTHERTEAM1")
        let lamp = try await sandbox.authorizeApple("kim", clientID: "com.example.lamp")
        let desk = try await sandbox.authorizeApple("kim", clientID: "com.example.desk")
        let other = try await sandbox.authorizeApple("kim", clientID: "com.other.app")
        #expect(lamp.user == desk.user)
        #expect(lamp.email == desk.email)
        #expect(lamp.user != other.user)
        #expect(lamp.email != other.email)
        #expect(lamp.email?.hasSuffix("@privaterelay.appleid.com") == true)
        #expect(try TokenParts(lamp.identityToken).claims["is_private_email"]?.bool == true)
        #expect(lamp.user.wholeMatch(of: /\d{6}\.[0-9a-f]{32}\.\d{4}/) != nil)
    }

    @Test func `a subject can be chosen for a team`() async throws {
        let subject = try await sandbox.addApplePerson("kim", #"{"subjects":{"SANDBOX001":"000001.chosen.0001"}}"#)
        #expect(subject == "000001.chosen.0001")
        #expect(try await sandbox.authorizeApple("kim", clientID: "app").user == subject)
    }

    @Test func `a managed account carries its organisation and may have no address`() async throws {
        try await sandbox.addApplePerson("kim", #"{"managed":true,"email":null}"#)
        let names = try TokenParts(try await sandbox.authorizeApple("kim", clientID: "app").identityToken)
            .claimNames
        #expect(names.contains("org_id"))
        #expect(!names.contains("email"))
        try await sandbox.addApplePerson("lee", #"{"managed":true,"email":"lee@school.example","emailVerified":false}"#)
        let lee = try TokenParts(try await sandbox.authorizeApple("lee", clientID: "app").identityToken)
        #expect(lee.claims["email_verified"]?.bool == false)
    }

    @Test func `an app that asks for no scope learns neither name nor address`() async throws {
        let credential = try await sandbox.authorizeApple("kim", clientID: "app", scopes: [])
        #expect(credential.email == nil)
        #expect(credential.givenName == nil)
        #expect(!(try TokenParts(credential.identityToken).claimNames.contains("email")))
    }

    @Test func `booleans become strings on request, all three of them`() async throws {
        let credential = try await sandbox.authorizeApple("kim", clientID: "app", token: .init(booleansAsStrings: true))
        let claims = try TokenParts(credential.identityToken).claims
        #expect(claims["email_verified"]?.string == "true")
        #expect(claims["is_private_email"]?.string == "false")
        #expect(claims["nonce_supported"]?.string == "true")
        #expect(claims["real_user_status"]?.integer == 2)
    }
}
