import Accounts
import Postgres
import TestSupport
import Testing

@testable import Storage

/// The store of mailed codes over a database of its own, and a clock that a test moves.
struct EmailCodeWorld: TestFixture {
    static let address = "kim@example.com"
    static let start = Timestamp(seconds: 1_767_225_600)

    let database: Database
    let store: EmailCodeStore

    static func run(_ body: (EmailCodeWorld) async throws -> Void) async throws {
        try await ScratchDatabase.withMigratedPool { database in
            try await body(EmailCodeWorld(database: database, store: EmailCodeStore(database: database)))
        }
    }

    static func time(_ seconds: Int64) -> Timestamp { start.advanced(bySeconds: seconds) }

    static func key(_ octet: UInt8) -> [UInt8] { [UInt8](repeating: octet, count: 32) }

    // MARK: Requests and tries

    func request(
        _ purpose: EmailCodePurpose = .signIn, ticket: UInt8? = nil, keys: [[UInt8]] = [key(1)],
        network: Network? = "192.0.2.0/24", isServiceGuessedAt: Bool = false, at seconds: Int64
    ) throws -> EmailCodeRequest {
        let now = Self.time(seconds)
        let code = EmailCode(
            id: EmailCodeID(now: now), keyID: "k1", email: try #require(EmailAddress(Self.address)), purpose: purpose,
            expiresAt: now.advanced(bySeconds: Lifetimes.emailCodeSeconds))
        var request = EmailCodeRequest(
            code: code, ticketHash: ticket.map { SecretHash(Self.key($0)) }, addressKeys: keys, network: network,
            language: "en")
        request.isServiceGuessedAt = isServiceGuessedAt
        return request
    }

    /// Has a code made, or mailed again.
    @discardableResult
    func ask(
        _ purpose: EmailCodePurpose = .signIn, ticket: UInt8? = nil, keys: [[UInt8]] = [key(1)],
        network: Network? = "192.0.2.0/24", allowance: EmailCodeAllowance? = .full, at seconds: Int64 = 0
    ) async throws -> EmailCodeRequestDecision {
        let request = try request(purpose, ticket: ticket, keys: keys, network: network, at: seconds)
        return try await store.request(request, allowance: allowance, by: .at(Self.time(seconds)))
    }

    /// - Returns: whether the code was right, and might be used.
    @discardableResult
    func attempt(
        _ purpose: EmailCodePurpose = .signIn, ticket: UInt8? = nil, network: Network? = "192.0.2.0/24",
        account: AccountID? = nil, isRight: Bool = false, at seconds: Int64 = 0
    ) async throws -> EmailCode? {
        let attempt = EmailCodeAttempt(
            email: try #require(EmailAddress(Self.address)), purpose: purpose,
            ticketHash: ticket.map { SecretHash(Self.key($0)) }, network: network, account: account)
        return try await store.attempt(attempt, by: .at(Self.time(seconds))) { _ in isRight }
    }

    /// Tries a code wrongly until no network that the account is not used from may try it.
    func useUp(_ purpose: EmailCodePurpose = .signIn) async throws {
        for number in 0..<20 { try await attempt(purpose, network: "10.0.\(number / 5).0/24") }
    }

    func consume(_ code: EmailCode, at seconds: Int64 = 0) async throws -> Bool {
        try await database.change(by: .at(Self.time(seconds))) { change in try await change.emailCodes.consume(code) }
    }

    // MARK: Rows

    /// How many mails are queued, and for how many of them a network has to be known.
    func mails() async throws -> [String?] {
        try await database.texts("SELECT count(*) || ' ' || count(known_network) FROM outbox WHERE kind = 'mail'")
    }

    // MARK: Accounts

    /// An account that has proven the address, and signed in from a network as many seconds ago.
    @discardableResult
    func addAccount(_ email: String = address, from network: Network? = nil, ago: Int64 = 0) async throws -> AccountID {
        let id = AccountID(now: Self.start)
        try await database.execute(
            """
            INSERT INTO accounts (account_id, email, email_verified, email_proof, created_at)
            VALUES (\(id), \(email), true, 'proven', \(Self.start))
            """)
        if let network { try await record("signed_in", of: id, from: network, ago: ago) }
        return id
    }

    func record(
        _ type: String, of id: AccountID, from network: Network?, reason: String? = nil, ago: Int64
    ) async throws {
        let time = Self.time(-ago)
        try await database.execute(
            """
            INSERT INTO audit_events (event_id, type, actor, account_id, network, reason, created_at)
            VALUES (\(AccountID(now: time)), \(type), 'person', \(id), \(network), \(reason), \(time))
            """)
    }
}
