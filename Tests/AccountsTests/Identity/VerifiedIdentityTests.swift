import Accounts
import Testing

@Suite struct VerifiedIdentityTests {
    private static func identity(
        _ provider: Provider = .apple, realm: Realm = .main, subject: String = "a-1", email: String? = nil,
        client: String = "com.example.lamp", seconds: Int64 = 0
    ) throws -> VerifiedIdentity {
        VerifiedIdentity(
            key: IdentityKey(provider: provider, realm: realm, subject: try #require(ProviderSubject(subject))),
            email: try email.map {
                ProviderEmail(
                    address: try #require(EmailAddress($0)), isVerified: true, isPrivateRelay: false,
                    isAuthoritative: true)
            },
            clientID: ProviderClientID(client), authenticatedAt: Timestamp(seconds: seconds),
            issuedAt: Timestamp(seconds: seconds + 1), nonce: nil, transferSubject: nil)
    }

    @Test func `a token without an address is completed by another one of the same person`() throws {
        let posted = try Self.identity(client: "com.example.lamp", seconds: 1)
        let exchanged = try Self.identity(email: "kim@example.com", client: "com.example.lamp.web", seconds: 2)
        let completed = posted.completed(by: exchanged)
        #expect(completed.email == exchanged.email)
        #expect(completed.issuedAt == exchanged.issuedAt)
        // Nothing else is taken over.
        #expect(completed.key == posted.key)
        #expect(completed.clientID == posted.clientID)
        #expect(completed.authenticatedAt == posted.authenticatedAt)
    }

    @Test func `of two times of issue the later one counts`() throws {
        let older = try Self.identity(email: "kim@example.com", seconds: 1)
        let newer = try Self.identity(seconds: 2)
        #expect(older.completed(by: newer).issuedAt == newer.issuedAt)
        #expect(newer.completed(by: older).issuedAt == newer.issuedAt)
        #expect(older.completed(by: newer).authenticatedAt == older.authenticatedAt)
    }

    @Test func `an address that is there is kept`() throws {
        let posted = try Self.identity(email: "kim@example.com")
        #expect(posted.completed(by: try Self.identity(email: "kim@example.org")) == posted)
        #expect(posted.completed(by: try Self.identity()) == posted)
        let bare = try Self.identity()
        #expect(bare.completed(by: bare) == bare)
    }

    @Test func `nobody gets the address of somebody else`() throws {
        let posted = try Self.identity()
        let others = [
            try Self.identity(subject: "a-2", email: "ada@example.com"),
            try Self.identity(.google, email: "ada@example.com"),
            try Self.identity(realm: Realm("beta"), email: "ada@example.com"),
        ]
        for other in others { #expect(posted.completed(by: other) == posted) }
    }
}
