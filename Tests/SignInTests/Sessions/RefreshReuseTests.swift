import Accounts
import Administration
import Postgres
import SignIn
import Storage
import TestSupport
import Testing

/// Refresh tokens that two parties hold, through the database: what is noted of each refresh, and when the session ends.
/// `RefreshSharingTests` of `AccountsTests` has every interval.
@Suite(.fixture(SignInFixture.self)) struct RefreshReuseTests {
    var fixture: SignInFixture { .current }

    private static let home = client("192.0.2.7", "192.0.2.0/24")
    private static let away = client("2001:db8:1:2::9", "2001:db8:1:2::/64")

    private static func client(_ address: String, _ network: Network) -> Caller {
        Caller(requestID: address, address: address, network: network, device: nil)
    }

    private func refresh(_ token: String, from client: Caller) async throws -> String {
        try await fixture.service.sessions.refresh(token, by: fixture.call(by: client)).refreshToken
    }

    @Test func `ten replacements are given to the rotation's network and two to others, until the newest is used`()
        async throws
    {
        let token = try await fixture.signUp(.apple("a-1")).session.refreshToken
        _ = try await refresh(token, from: Self.home)
        var newest = token
        for client in Array(repeating: Self.home, count: 10) + [Self.away, Self.away] {
            fixture.clock.advance(by: 61)
            newest = try await refresh(token, from: client)
        }
        // The count is of one token: the use of the newest begins it again, from where that came.
        let next = try await refresh(newest, from: Self.away)
        for _ in 0..<10 {
            fixture.clock.advance(by: 61)
            _ = try await refresh(newest, from: Self.away)
        }
        fixture.clock.advance(by: 61)
        let used = newest
        try await expectFailure("refreshTokenReused") { try await refresh(used, from: Self.away) }
        try await expectFailure("invalidRefreshToken") { try await refresh(next, from: Self.away) }
        #expect(try await fixture.count("sessions WHERE end_reason = 'refresh_reused'") == 1)
    }

    @Test(arguments: [0, 61] as [Int64])
    func `twenty refreshes at once, from twenty networks, all get the same token`(age: Int64) async throws {
        let token = try await fixture.signUp(.apple("a-1")).session.refreshToken
        // The newest at first; then the one before it, whose successor was never used.
        if age > 0 {
            _ = try await refresh(token, from: Self.home)
            fixture.clock.advance(by: age)
        }
        let tokens = try await concurrently(1...20) { number in
            let client = Self.client("198.51.\(number).7", "198.51.\(number).0/24")
            return try await refresh(token, from: client)
        }
        #expect(tokens.count == 20)
        #expect(Set(tokens).count == 1)
        // They are one rotation, or one replacement.
        let counted: Int64 = age > 0 ? 1 : 0
        #expect(
            try await fixture.count(
                "sessions WHERE other_network_replacements = \(counted) AND same_network_replacements = 0") == 1)
        let next = try await fixture.refresh(try #require(tokens.first))
        #expect(try await fixture.opened(next).generation == (age > 0 ? 4 : 3))
    }

    // MARK: What is noted

    @Test func `the list shows from where and when a session was last used`() async throws {
        let signedIn = try await fixture.signUp(.apple("a-1"))
        func last() async throws -> [String?] {
            let list = try await fixture.service.sessions.list(of: signedIn.account.id, by: fixture.call)
            let session = try #require(list.first)
            #expect(session.address == fixture.client.address)
            return [session.lastUsedAddress, "\(session.lastUsedAt.seconds - SignInFixture.start)"]
        }
        // Not refreshed yet: where it was opened.
        #expect(try await last() == ["192.0.2.1", "0"])
        let token = signedIn.session.refreshToken
        fixture.clock.advance(by: 10)
        _ = try await refresh(token, from: Self.home)
        #expect(try await last() == ["192.0.2.7", "10"])
        // The same token again, from elsewhere within the minute: no rotation, and yet seen.
        fixture.clock.advance(by: 10)
        let newest = try await refresh(token, from: Self.away)
        #expect(try await last() == ["2001:db8:1:2::9", "20"])
        fixture.clock.advance(by: 61)
        _ = try await refresh(token, from: Self.home)
        #expect(try await last() == ["192.0.2.7", "81"])
        let administered = try await fixture.administered().administration.sessions(
            of: signedIn.account.id, before: nil, limit: 10)
        #expect(administered.items.map(\.lastUsedAddress) == ["192.0.2.7"])
        try await expectFailure("refreshTokenReused") { try await refresh(newest, from: Self.away) }
    }

    @Test func `a retry from the same place writes nothing`() async throws {
        let token = try await fixture.signUp(.apple("a-1")).session.refreshToken
        _ = try await refresh(token, from: Self.home)
        func version() async throws -> [String?] { try await fixture.texts("SELECT xmin::text FROM sessions") }
        let before = try await version()
        for _ in 0..<3 {
            fixture.clock.advance(by: 20)
            _ = try await refresh(token, from: Self.home)
        }
        #expect(try await version() == before)
        _ = try await refresh(token, from: Self.away)
        #expect(try await version() != before)
    }
}
