import Accounts
import JOSE
import OpenSSL
import Providers
import TestSupport
import Testing

/// What both providers refuse alike, each by claims of its own.
@Suite struct BothProvidersTests {
    private static func judge(
        _ provider: Provider, _ claims: TokenMint.Members, hasClients: Bool = true
    ) async throws -> VerifiedIdentity {
        switch provider {
        case .apple:
            let apple = try hasClients ? AppleFixture.provider() : AppleFixture.provider(teams: [])
            return try await apple.judge(claims, nonce: AppleFixture.rawNonce)
        case .google:
            let google = try GoogleFixture.provider { if !hasClients { $0.clientIDs = [] } }
            return try await google.judge(claims)
        }
    }

    private static func read(_ provider: Provider, _ token: [UInt8]) async throws -> [ProviderEvent] {
        let now = Timestamp(seconds: referenceTime)
        switch provider {
        case .apple: return try await AppleFixture.provider().events(of: token, at: now)
        case .google: return try await GoogleFixture.provider().events(of: token, at: now)
        }
    }

    private static func claims(_ provider: Provider) -> (identity: TokenMint.Members, event: TokenMint.Members) {
        switch provider {
        case .apple: (AppleFixture.claims, AppleEventTests.claims)
        case .google: (GoogleFixture.claims, GoogleEventTests.claims)
        }
    }

    private static let identityChanges = Result { try changes("refused-identities.tsv") }
    private static let eventChanges = Result {
        let apple = AppleEventTests.changes.map { (Provider.apple, $0) }
        let google = GoogleEventTests.changes.map { (Provider.google, $0) }
        return try changes("refused-events.tsv") + apple + google
    }

    /// The rows of a table: whose token, a claim, its value as JSON, and the reason of the refusal.
    private static func changes(_ table: String) throws -> [(Provider, Change)] {
        // The times in the tables are of it.
        try #require(referenceTime == 1_767_225_600)
        return try DataFile("Fixtures/\(table)").rows.flatMap { row in
            let value = row[2] == "absent" ? nil : TokenMint.Literal.raw(row[2])
            let change = Change(row[1], value, try #require(TokenRejection(rawValue: row[3])))
            return Provider.allCases.filter { ["both", $0.rawValue].contains(row[0]) }.map { ($0, change) }
        }
    }

    @Test(arguments: try identityChanges.get())
    func `a token with one wrong claim is refused for it`(provider: Provider, change: Change) async throws {
        let claims = Self.claims(provider).identity.with(change.name, change.value)
        await #expect(throws: CredentialRefusal(change.reason)) { try await Self.judge(provider, claims) }
    }

    @Test(arguments: Provider.allCases)
    func `nobody's client IDs accept nothing`(provider: Provider) async throws {
        await #expect(throws: CredentialRefusal(.audienceRejected)) {
            try await Self.judge(provider, Self.claims(provider).identity, hasClients: false)
        }
    }

    // MARK: Events

    @Test(arguments: try eventChanges.get())
    func `an event with one wrong claim is refused for it`(provider: Provider, change: Change) async throws {
        let token = try TokenMint.shared.token(Self.claims(provider).event.with(change.name, change.value))
        await #expect(throws: CredentialRefusal(change.reason)) { try await Self.read(provider, token) }
    }

    @Test(arguments: Provider.allCases)
    func `an event of another's key, of the wrong algorithm or tampered with is refused`(
        provider: Provider
    ) async throws {
        let claims = Self.claims(provider).event
        func expect(_ reason: TokenRejection, of token: [UInt8]) async {
            await #expect(throws: CredentialRefusal(reason)) { try await Self.read(provider, token) }
        }
        await expect(.signatureMismatch, of: try TokenMint.otherSigner.token(claims))
        let header = try TokenMint.shared.header(.rs256)
        await expect(.keyUnknown, of: try TokenMint.shared.token(claims, header: header.with("kid", "theirs")))
        await expect(.algorithmRejected, of: try TokenMint.shared.token(claims, header: header.with("alg", "HS256")))
        // Google signs with RS256 alone.
        if provider == .google {
            await expect(.algorithmRejected, of: try TokenMint.shared.token(claims, by: .es256))
        }
        for text in ["", "{}"] { await expect(.malformed, of: Array(text.utf8)) }
        let token = try TokenMint.shared.token(claims)
        for change in try Tampering.all(of: token) { await expect(.signatureMismatch, of: change) }
    }

    @Test(arguments: Provider.allCases)
    func `an event is no identity token, even with all that one has`(provider: Provider) async throws {
        let (identity, event) = Self.claims(provider)
        for claims in [event, identity.with("events", event["events"])] {
            await #expect(throws: CredentialRefusal(.eventToken)) { try await Self.judge(provider, claims) }
        }
    }
}
