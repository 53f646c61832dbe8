package import Accounts
package import Postgres
import Primitives
package import SignIn
import Storage
package import Webhooks

/// An authenticated administrator, and the call on behalf of them.
package struct Administrator: Sendable {
    /// As the trail has it: the name of the key, or of the member of the staff; what an operator at the machine states.
    package let name: String?
    package let scopes: Set<AdminKey.Scope>
    package let call: Call

    package init(name: String?, scopes: Set<AdminKey.Scope>, call: Call) {
        self.name = name
        self.scopes = scopes
        self.call = call
    }

    /// An operator at the machine, who may do everything.
    ///
    /// - Parameters:
    ///   - name: as they state it.
    ///   - mailLanguage: in which people are notified; `nil` for no notices.
    package static func `operator`(
        named name: String?, mailLanguage: String? = nil, clock: some WallClock
    ) -> Administrator {
        let origin = ChangeOrigin.commandLine(named: name, mailLanguage: mailLanguage)
        return Administrator(name: name, scopes: Set(AdminKey.Scope.allCases), call: clock.call(by: origin))
    }

    /// Whether people can be mailed at their request.
    package var sendsMail: Bool { call.origin.mailLanguage != nil }

    package func require(_ scope: AdminKey.Scope) throws(AdministrationFailure) {
        guard !scopes.isDisjoint(with: scope.openers) else { throw .forbidden }
    }
}

/// The use cases of administrators.
package struct Administration: Sendable {
    let database: Database
    let clock: any WallClock
    /// The exports that are written at once; apart from those to people, who may be slow to read.
    let exports = FairLimit<Party>(running: 4)
    /// Tables of the trail that are being written.
    let sheets = FairLimit<Never>(running: 2)
    /// The clients of the OAuth server; `nil` where that is off.
    package let oauth: OAuthAdministration?
    /// The feed; `nil` for a command that reads none.
    let feed: Feed?
    /// What is pushed, and by what a test is; nothing where the caller pushes nothing.
    let pushed: @Sendable () -> WebhookConfiguration
    let sender: WebhookSender?
    /// Those that can be mailed at an administrator's request; `nil` where nothing can.
    let codes: @Sendable () -> SupportCodes?
    private let refusals: RefusalAggregator
    private let refusedKeys = CaseCounters<RefusedKey>(label: "countersign_admin_key_refusals_total", by: "reason")
    private let mailLanguages: [String]

    /// - Parameters:
    ///   - refusals: those of the process; a new one if absent.
    ///   - mailLanguages: the languages in which mail can be written, the default one first; empty when no mail is sent.
    ///   - codes: those under the configuration of the moment.
    package init(
        database: Database, oauth: OAuthAdministration? = nil, feed: Feed? = nil,
        webhooks: @escaping @Sendable () -> WebhookConfiguration = { .none }, sender: WebhookSender? = nil,
        refusals: RefusalAggregator? = nil,
        clock: any WallClock,
        mailLanguages: [String] = [],
        codes: @escaping @Sendable () -> SupportCodes? = { nil }
    ) {
        self.database = database
        self.oauth = oauth
        self.feed = feed
        pushed = webhooks
        self.sender = sender
        self.codes = codes
        self.refusals = refusals ?? RefusalAggregator(trail: AuditTrail(database: database), clock: clock)
        self.clock = clock
        self.mailLanguages = mailLanguages
    }

    var accountStore: AccountStore { AccountStore(database: database) }
    var accountSearch: AccountSearch { AccountSearch(database: database) }
    var sessionStore: SessionStore { SessionStore(database: database) }
    var emailReplacements: EmailReplacementStore { EmailReplacementStore(database: database) }
    var revocationRecords: RevocationRecords { RevocationRecords(database: database) }
    var outboxSearch: OutboxSearch { OutboxSearch(database: database) }
    var eventRecords: ProviderEventRecords { ProviderEventRecords(database: database) }
    var trail: AuditTrail { AuditTrail(database: database) }
    var keyStore: AdminKeyStore { AdminKeyStore(database: database) }

    /// Makes the call of each request.
    package var calls: Calls { Calls(clock: clock, mailLanguages: mailLanguages) }

    /// - Parameter presented: the credentials of the `Bearer` scheme.
    package func administrator(
        presenting presented: [UInt8]?, for scope: AdminKey.Scope, by call: Call
    ) async throws(AdministrationFailure) -> Administrator {
        let administrator = administrator(with: try await key(presenting: presented, by: call), by: call)
        try administrator.require(scope)
        return administrator
    }

    /// The key, whatever it may do.
    func key(presenting presented: [UInt8]?, by call: Call) async throws(AdministrationFailure) -> AdminKey {
        guard let presented, !presented.isEmpty else { throw .unknownKey }
        guard let hash = AdminSecret.hash(ofPresented: presented) else { throw refusal(of: .unknown, by: call) }
        guard let key = try await stored({ try await keyStore.key(hash: hash, by: call) }) else {
            guard let name = try await stored({ try await keyStore.nameOfRevoked(hash: hash) }) else {
                throw refusal(of: .unknown, by: call)
            }
            throw refusal(of: .revoked, named: name, by: call)
        }
        return key
    }

    /// Why a presented key opens nothing. The raw value is a label of a metric and a reason of the audit trail.
    private enum RefusedKey: String, CaseIterable {
        /// Never made, or not of the form of a key.
        case unknown
        /// Still in use somewhere, or leaked.
        case revoked
    }

    /// The failure of a caller whose key is refused, which is counted and recorded; nothing of the key is.
    private func refusal(of key: RefusedKey, named name: String? = nil, by call: Call) -> AdministrationFailure {
        refusedKeys.count(key)
        var event = AuditEvent(.adminKeyRejected, by: .person, in: call, reason: key.rawValue)
        event.actorName = name
        refusals.note(event, at: call.now)
        return .unknownKey
    }

    /// Counts a sign-in that the console has refused; of the person only the network is recorded.
    func noteRefusedAtConsole(_ reason: String, by call: Call) {
        refusals.note(AuditEvent(.consoleRefused, by: .person, in: call, reason: reason), at: call.now)
    }

    func administrator(with key: AdminKey, by call: Call) -> Administrator {
        administrator(named: key.name, scopes: key.scopes, by: call)
    }

    /// - Parameter name: as the trail has it.
    func administrator(named name: String, scopes: Set<AdminKey.Scope>, by call: Call) -> Administrator {
        // In the default language: that of the account's owner is unknown, and an administrator's says nothing of it.
        let origin = ChangeOrigin(
            actor: .administrator, actorName: name, requestID: call.caller.requestID, network: call.caller.network,
            mailLanguage: mailLanguages.first)
        return Administrator(name: name, scopes: scopes, call: call.onBehalf(of: origin))
    }
}
