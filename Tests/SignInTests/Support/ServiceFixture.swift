import Accounts
import Postgres
import SignIn
import Storage
import TestSupport
import Testing

/// The use cases over a database of their own, and a client that calls them.
protocol ServiceFixture: TestFixture {
    var clock: ManualClock { get }
    var database: Database { get }
    var storage: ServiceDatabase { get }
    var service: SignInService { get }
    var client: Caller { get }
}

extension ServiceFixture {
    var call: Call { call(by: client) }

    func call(by caller: Caller) -> Call { service.calls.begin(by: caller) }

    /// A new account with a password, whose address is not proven.
    @discardableResult
    func register(
        _ email: String, password: String = SignInFixture.password, by caller: Caller? = nil
    ) async throws -> SignedIn {
        try await service.passwords.register(
            email: email, password: password, displayName: nil, by: call(by: caller ?? client))
    }

    func signIn(
        _ email: String, password: String = SignInFixture.password, by caller: Caller? = nil
    ) async throws -> SignedIn {
        try await service.passwords.signIn(email: email, password: password, by: call(by: caller ?? client))
    }

    func create(_ ticket: LinkRequired, displayName: DisplayName? = nil) async throws -> SignedIn {
        try await service.tickets.create(linkTicket: ticket.linkTicket, name: NewAccountName(displayName), by: call)
    }

    func opened(_ signedIn: SignedIn) async throws -> Session { try await opened(signedIn.session) }

    func opened(_ session: IssuedSession) async throws -> Session {
        try await service.sessions.session(of: session.bearer, by: call)
    }

    func refresh(_ token: String) async throws -> IssuedSession { try await service.sessions.refresh(token, by: call) }

    func deleteAccount(_ signedIn: SignedIn) async throws {
        try await service.accounts.delete(accountOf: try await opened(signedIn), by: call)
    }

    func disable(_ signedIn: SignedIn) async throws {
        try await database.execute("UPDATE accounts SET status = 'disabled' WHERE account_id = \(signedIn.account.id)")
    }

    func changePassword(
        of signedIn: SignedIn, from current: String? = SignInFixture.password, to new: String = "another long password"
    ) async throws {
        try await service.accounts.changePassword(of: try await opened(signedIn), current: current, to: new, by: call)
    }

    @discardableResult
    func link(_ provider: Provider, _ credential: ProviderCredential, to signedIn: SignedIn) async throws -> Identity {
        try await service.linking.link(provider, credential, to: try await opened(signedIn), by: call)
    }

    /// Asks for another address, whose mailbox is to be proven.
    func requestEmail(_ email: String, of signedIn: SignedIn) async throws {
        try await service.accounts.requestEmail(email, of: try await opened(signedIn), by: call)
    }

    func verifyEmail(_ code: String, of signedIn: SignedIn) async throws {
        try await service.emailCodes.verifyEmail(code: code, of: try await opened(signedIn), by: call)
    }

    func signOut(_ scope: RevocationScope, of signedIn: SignedIn) async throws {
        try await service.sessions.revoke(scope, of: try await opened(signedIn), by: call)
    }

    func unlink(_ identity: Identity?, of signedIn: SignedIn) async throws {
        try await service.accounts.unlink(try #require(identity).id, of: try await opened(signedIn), by: call)
    }

    func cancel(_ ticket: LinkRequired) async throws {
        try await service.tickets.cancel(linkTicket: ticket.linkTicket, by: call)
    }

    /// Expects neither token of the session to be good.
    func expectEnded(_ session: IssuedSession, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        try await expectFailure("invalidSession", sourceLocation: sourceLocation) { try await opened(session) }
        try await expectFailure("invalidRefreshToken", sourceLocation: sourceLocation) {
            try await refresh(session.refreshToken)
        }
    }

    // MARK: In the database

    /// Runs `call` while a transaction holds what `change` changes, and commits as soon as the call waits for it.
    ///
    /// - Parameter check: is run before the commit, while the call waits.
    func interleave<Value: Sendable>(
        _ change: @escaping @Sendable (Transaction) async throws -> Void,
        with call: @escaping @Sendable () async throws -> Value,
        then check: @escaping @Sendable (Transaction) async throws -> Void = { _ in }
    ) async throws -> Task<Value, any Error> {
        try await database.transaction { transaction in
            try await change(transaction)
            let task = Task { try await call() }
            try await transaction.awaitWaiters()
            try await check(transaction)
            return task
        }
    }

    /// The rows of a query of one text column.
    func texts(_ query: SQL) async throws -> [String?] { try await database.texts(query) }

    func count(_ table: SQL) async throws -> Int64 { try await database.count(table) }

    /// The events that an account has in the feed, or that all have, sorted: type, and the members that are no ids.
    func announced(of id: AccountID? = nil) async throws -> [String] {
        try await texts(
            """
            SELECT concat_ws(' ', type, members::jsonb ->> 'emailProof', members::jsonb ->> 'provider',
                members::jsonb ->> 'by', members::jsonb ->> 'reason')
            FROM unstamped_events
            WHERE \(id)::uuid IS NULL OR account_id = \(id)
            """
        ).compactMap(\.self).sorted()
    }

    func forgetEvents() async throws { try await database.execute("DELETE FROM unstamped_events") }
}

extension ProviderCredential {
    /// What an app posts that has one client.
    init(token: String? = nil, code: String? = nil, nonce: String? = nil, fullName: DisplayName? = nil) {
        self.init(token: token, code: code, nonce: nonce, clientID: nil, fullName: fullName)
    }
}
