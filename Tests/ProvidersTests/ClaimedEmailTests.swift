import Accounts
import JOSE
import Providers
import TestSupport
import Testing

@Suite struct ClaimedEmailTests {
    /// Values of `email_verified`, and whether each counts.
    static let verifiedClaims: [(TokenMint.Literal?, Bool)] = [
        (true, true), ("true", true), (false, false), ("false", false), (nil, false), (1, false), (.null, false),
        ("TRUE", false), ("1", false), ([true], false),
    ]

    @Test(arguments: verifiedClaims)
    func `an email is verified by true or its text alone`(claim: TokenMint.Literal?, isVerified: Bool) async throws {
        let apple = try await AppleFixture.provider().judge(
            AppleFixture.claims.with("email_verified", claim), nonce: AppleFixture.rawNonce)
        #expect(apple.email?.isVerified == isVerified)
        let google = try await GoogleFixture.provider().judge(GoogleFixture.claims.with("email_verified", claim))
        #expect(google.email?.isVerified == isVerified)
        #expect(google.email?.isAuthoritative == isVerified)
        #expect((google.email?.candidate != nil) == isVerified)
    }

    @Test(
        arguments: [
            (true, true, true), ("true", true, true), (false, false, true), ("false", false, true), (nil, false, true),
            (1, false, false), (.null, false, false), ("yes", false, false),
        ] as [(TokenMint.Literal?, Bool, Bool)])
    func `an address is a relay by true or its text, and unverified when that can't be read`(
        claim: TokenMint.Literal?, isRelay: Bool, isVerified: Bool
    ) async throws {
        let identity = try await AppleFixture.provider().judge(
            AppleFixture.claims.with("is_private_email", claim), nonce: AppleFixture.rawNonce)
        #expect(identity.email?.isPrivateRelay == isRelay)
        #expect(identity.email?.isVerified == isVerified)
    }

    @Test(
        arguments: [
            ("kim@icloud.com", false, true), ("kim@me.com", "false", true), ("kim@mac.com", false, true),
            ("kim@ICLOUD.com", false, true), ("kim@icloud.com", nil, false), ("kim@icloud.com", true, false),
            ("kim@icloud.com", 0, false), ("kim@example.com", false, false), ("kim@icloud.com.example", false, false),
            ("kim@notme.com", false, false),
        ] as [(String, TokenMint.Literal?, Bool)])
    func `Apple vouches for its own domains when it says that the address is no relay`(
        address: String, isPrivate: TokenMint.Literal?, isAuthoritative: Bool
    ) async throws {
        let identity = try await AppleFixture.provider().judge(
            AppleFixture.claims.with("email", .string(address)).with("is_private_email", isPrivate),
            nonce: AppleFixture.rawNonce)
        #expect(identity.email?.isAuthoritative == isAuthoritative)
        let unverified = try await AppleFixture.provider().judge(
            AppleFixture.claims.with("email", .string(address)).with("is_private_email", isPrivate)
                .with("email_verified", false), nonce: AppleFixture.rawNonce)
        #expect(unverified.email?.isAuthoritative == false)
    }

    @Test(
        arguments: [
            ("kim@gmail.com", nil, true), ("kim@GMAIL.com", nil, true), ("kim@example.com", "example.com", true),
            ("kim@example.com", nil, false), ("kim@example.com", "", false), ("kim@example.com", 1, false),
            ("kim@gmail.com.example", nil, false), ("kim@googlemail.com", nil, false),
        ] as [(String, TokenMint.Literal?, Bool)])
    func `Google vouches for gmail and for hosted domains`(
        address: String, domain: TokenMint.Literal?, isAuthoritative: Bool
    ) async throws {
        let identity = try await GoogleFixture.provider().judge(
            GoogleFixture.claims.with("email", .string(address)).with("hd", domain))
        #expect(identity.email?.isAuthoritative == isAuthoritative)
    }

    @Test(
        arguments: [
            nil, "", "kim", "@example.com", "kim@", .string("\(String(repeating: "a", count: 250))@example.com"),
            .string("\(String(repeating: "a", count: 8_600))@example.com"), .raw(#""kim\u0000@example.com""#),
            .raw(#""kim@example.com\r\nBcc: x@example.com""#), 1, .null, ["kim@example.com"],
            "kim\u{FE0F}@example.com",
        ] as [TokenMint.Literal?])
    func `an address that can't be used is dropped and refuses nobody`(address: TokenMint.Literal?) async throws {
        let apple = try await AppleFixture.provider().judge(
            AppleFixture.claims.with("email", address), nonce: AppleFixture.rawNonce)
        #expect(apple.email == nil)
        let google = try await GoogleFixture.provider().judge(GoogleFixture.claims.with("email", address))
        #expect(google.email == nil)
    }
}
