import Accounts
import Administration
import Postgres
import Storage
import TestSupport

@testable import SignIn

/// An administrator of the accounts that another fixture has made.
struct AdministrationFixture: Sendable {
    static let keyName = "kim@support"
    static let client = Caller(requestID: "r9", address: "192.0.2.99", network: "192.0.2.0/24", device: nil)

    let storage: ServiceDatabase
    let clock: ManualClock
    let administration: Administration
    private let authenticated: Administrator

    /// Makes a call of its own each time.
    var administrator: Administrator {
        let (origin, caller) = (authenticated.call.origin, authenticated.call.caller)
        return Administrator(
            name: authenticated.name, scopes: authenticated.scopes,
            call: Call(now: clock.now(), origin: origin, caller: caller))
    }

    init(storage: ServiceDatabase, clock: ManualClock, mailLanguages: [String]) async throws {
        self.storage = storage
        self.clock = clock
        administration = Administration(database: storage.pool, clock: clock, mailLanguages: mailLanguages)
        let secret = try await Self.makeKey(Set(AdminKey.Scope.allCases), in: storage, at: clock.now()).secret
        authenticated = try await administration.administrator(
            presenting: Array(secret.text.utf8), for: .read, by: administration.calls.begin(by: Self.client))
    }

    static func makeKey(
        _ scopes: Set<AdminKey.Scope>, in storage: ServiceDatabase, at now: Timestamp
    ) async throws -> (key: AdminKey, secret: AdminSecret) {
        let secret = try AdminSecret()
        let key = AdminKey(id: AdminKeyID(now: now), name: keyName, scopes: scopes, createdAt: now)
        try await storage.adminKeys.insert(key, hash: secret.hash, by: .at(now))
        return (key, secret)
    }

    /// All live sessions of an account, listed in pages of `limit`.
    func sessions(of id: AccountID, by limit: Int) async throws -> [SessionID] {
        var sessions: [SessionID] = []
        var cursor: SessionID?
        repeat {
            let page = try await administration.sessions(of: id, before: cursor, limit: limit)
            sessions += page.items.map(\.id)
            cursor = page.next
        } while cursor != nil
        return sessions
    }

    func disable(_ id: AccountID, reason: String) async throws {
        try await administration.disable(id, reason: reason, by: administrator)
    }

    func enable(_ id: AccountID, email: String? = nil, reason: String) async throws {
        try await administration.enable(
            id, email: email.flatMap { EmailAddress($0) }, reason: reason, by: administrator)
    }

    func detach(_ id: IdentityID, reason: String? = nil) async throws {
        try await administration.detach(id, reason: reason, by: administrator)
    }

    func revoke(_ id: IdentityID, unlinking: Bool, reason: String) async throws -> Revocation {
        try await administration.revoke(id, unlinking: unlinking, reason: reason, by: administrator).revocation
    }

    func retry(_ id: RevocationID, reason: String? = nil) async throws -> Revocation {
        try await administration.retry(id, reason: reason, by: administrator)
    }

    /// The administrator's audit records, sorted: type, reason, and A, I, S and R for the account, the identity, the
    /// session and the revocation that it names. Each row has the key's name, the request and the network.
    func recorded() async throws -> [String] {
        var filter = AuditFilter()
        var records: [AuditRecord] = []
        filter.since = Timestamp(seconds: SignInFixture.start)
        var cursor: AuditCursor?
        repeat {
            let page = try await administration.auditEvents(filter, before: cursor, limit: 200)
            records += page.items
            cursor = page.next
        } while cursor != nil
        return records.filter { $0.actor == "administrator" }.map { record in
            let isWhole =
                record.actorName == Self.keyName && record.requestID == "r9" && record.network == "192.0.2.0/24"
            let parts: [String?] = [
                isWhole ? nil : "INCOMPLETE", record.type, record.reason ?? "-", record.accountID.map { _ in "A" },
                record.identityID.map { _ in "I" }, record.sessionID.map { _ in "S" },
                record.revocationID.map { _ in "R" },
            ]
            return parts.compactMap(\.self).joined(separator: " ")
        }.sorted()
    }
}

extension ServiceFixture {
    func administered() async throws -> AdministrationFixture {
        try await AdministrationFixture(
            storage: storage, clock: clock, mailLanguages: service.configuration.mailLanguages)
    }
}
