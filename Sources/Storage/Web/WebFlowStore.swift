package import Accounts
import KeyRing
package import Postgres

/// A web flow about to be opened.
package struct NewWebFlow: Sendable {
    package let id: WebFlowID
    package let kind: WebFlowKind
    /// SHA-256 of the cookie of the browser that alone may continue it.
    package let browserHash: SecretHash
    /// The app's request, for a flow that ends at an app.
    package let app: AppAuthorization?
    /// The request at `/oauth/authorize`, for one that ends at its consent.
    package let oauthRequest: String?
    /// What the person is about to do, for one that ends at the page of the account.
    package let errand: AccountErrand?
    package let languages: [String]
    package let loginHint: String?
    package let network: Network?
    package let expiresAt: Timestamp

    package init(
        id: WebFlowID, kind: WebFlowKind, browserHash: SecretHash, app: AppAuthorization? = nil,
        oauthRequest: String? = nil, errand: AccountErrand? = nil, languages: [String], loginHint: String? = nil,
        network: Network?, expiresAt: Timestamp
    ) {
        self.id = id
        self.kind = kind
        self.browserHash = browserHash
        self.app = app
        self.oauthRequest = oauthRequest
        self.errand = errand
        self.languages = languages
        self.loginHint = loginHint
        self.network = network
        self.expiresAt = expiresAt
    }
}

/// A web flow as it stands.
package struct StoredWebFlow: Sendable {
    package let id: WebFlowID
    package let kind: WebFlowKind
    package let status: WebFlowStatus
    package let appID: String?
    package let redirectURI: String?
    package let appState: String?
    package let oauthRequest: String?
    /// The only provider that the app wants.
    package let onlyProvider: Provider?
    package let languages: [String]
    package let loginHint: String?
    /// The link ticket of a flow whose person has to choose.
    package fileprivate(set) var linkTicket: String?
    package fileprivate(set) var errand: AccountErrand?
}

/// A flow as it was left, without what is sealed, for a browser that asks for it.
package struct LeftWebFlow: Sendable {
    package let flow: StoredWebFlow
    /// Whether the browser is the one that opened it.
    package let isOfBrowser: Bool
    package let hasExpired: Bool
}

/// Where the browser of a flow is sent, and what it has to come back with.
package struct WebProviderRequest: Sendable {
    package let provider: Provider
    package let realm: Realm
    package let clientID: ProviderClientID
    package let redirectURI: String
    package let stateHash: SecretHash
    package let secrets: WebFlowSecrets

    package init(
        provider: Provider, realm: Realm, clientID: ProviderClientID, redirectURI: String, stateHash: SecretHash,
        secrets: WebFlowSecrets
    ) {
        self.provider = provider
        self.realm = realm
        self.clientID = clientID
        self.redirectURI = redirectURI
        self.stateHash = stateHash
        self.secrets = secrets
    }
}

/// The code that an app gets, as far as it is kept.
package struct NewWebCode: Sendable {
    let hash: SecretHash
    let expiresAt: Timestamp

    package init(hash: SecretHash, expiresAt: Timestamp) {
        self.hash = hash
        self.expiresAt = expiresAt
    }
}

/// `web_flows`. Each step is one statement that moves a flow from one status to the next, so that of several that try the
/// same step one succeeds.
package struct WebFlowStore: Sendable {
    /// The flows of one network that are under way: with one more, the oldest is deleted.
    package static let openPerNetwork = 1_000

    let database: Database
    let keyRing: KeyRing
    var seal: WebFlowSeal { WebFlowSeal(keyRing: keyRing) }

    package func open(_ flow: NewWebFlow, by call: Call) async throws -> StoredWebFlow {
        let errand = try flow.errand.map { try seal.seal($0, .errand, of: flow.id) }
        let rows = try await database.query(
            """
            WITH exceeding AS (
                DELETE FROM web_flows
                WHERE flow_id = ANY (ARRAY(
                    SELECT f.flow_id
                    FROM web_flows f
                    WHERE f.network = \(flow.network) AND \(WebFlowStore.isUnderWay)
                    ORDER BY f.flow_id DESC
                    OFFSET \(Self.openPerNetwork - 1)
                    FOR UPDATE SKIP LOCKED))
            )
            INSERT INTO web_flows AS f (flow_id, kind, status, browser_hash, app_id, app_redirect_uri, app_state, app_challenge,
                oauth_request, only_provider, languages, login_hint, sealed_errand, network, created_at, expires_at)
            VALUES (\(flow.id), \(flow.kind.rawValue), 'new', \(flow.browserHash), \(flow.app?.app.id),
                \(flow.app?.redirectURI), \(flow.app?.state), \(flow.app?.challenge), \(flow.oauthRequest),
                \(flow.app?.provider?.rawValue), \(flow.languages), \(flow.loginHint), \(errand), \(flow.network),
                \(call.now), \(flow.expiresAt))
            RETURNING \(WebFlowStore.columns)
            """, as: WebFlowRow.init)
        return try rows[0].flow(seal)
    }

    /// A flow in which its browser can still do something.
    package func read(_ id: WebFlowID, of browser: SecretHash, by call: Call) async throws -> StoredWebFlow? {
        try await flow(
            "SELECT \(WebFlowStore.columns) FROM web_flows f WHERE \(WebFlowStore.underWay(id, browser, call))")
    }

    /// A flow as it was left, whether something can still be done in it or not.
    package func left(
        _ id: WebFlowID, for browser: SecretHash?, by call: Call
    ) async throws(PostgresError) -> LeftWebFlow? {
        try await left(where: "f.flow_id = \(id)", for: browser, by: call)
    }

    func left(
        where condition: SQL, for browser: SecretHash?, by call: Call
    ) async throws(PostgresError) -> LeftWebFlow? {
        try await database.query(
            """
            SELECT \(WebFlowStore.columns), COALESCE(f.browser_hash = \(browser), false), f.expires_at <= \(call.now)
            FROM web_flows f
            WHERE \(condition)
            """
        ) { row throws(PostgresError) in
            LeftWebFlow(
                flow: try WebFlowRow(row).plain, isOfBrowser: try Bool(from: row[WebFlowStore.columnCount]),
                hasExpired: try Bool(from: row[WebFlowStore.columnCount + 1]))
        }.first
    }

    /// The errand of a flow that has signed its person in.
    package func errand(of id: WebFlowID, of browser: SecretHash, by call: Call) async throws -> AccountErrand? {
        let rows = try await database.query(
            """
            SELECT f.sealed_errand
            FROM web_flows f
            WHERE f.flow_id = \(id) AND f.browser_hash = \(browser) AND f.status = 'spent' AND f.expires_at > \(call.now)
            """, as: [UInt8]?.self)
        return try (rows.first ?? nil).map { try seal.open($0, .errand, of: id) }
    }

    /// Sends the browser to a provider. What it was sent with before counts no more; a ticket stays.
    package func send(
        _ id: WebFlowID, of browser: SecretHash, to request: WebProviderRequest, by call: Call
    ) async throws -> Bool {
        let secrets = try seal.seal(request.secrets, .secrets, of: id)
        return try await database.execute(
            """
            UPDATE web_flows f
            SET status = 'sent', provider = \(request.provider.rawValue), realm = \(request.realm.text),
                client_id = \(request.clientID), provider_redirect_uri = \(request.redirectURI),
                state_hash = \(request.stateHash), sealed_secrets = \(secrets), handle_hash = NULL, sealed_answer = NULL,
                answer_expires_at = NULL
            WHERE \(WebFlowStore.underWay(id, browser, call))
            """) == 1
    }

    /// Goes on with the choice of a person who was sent to a provider with a ticket.
    package func resumeLinking(_ id: WebFlowID) async throws(PostgresError) -> Bool {
        try await database.execute(
            """
            UPDATE web_flows f
            SET status = 'linking', \(WebFlowStore.erasingProviderStep)
            WHERE f.flow_id = \(id) AND f.status IN ('sent', 'returned', 'verifying') AND f.sealed_ticket IS NOT NULL
            """) == 1
    }

    /// Keeps the person who was proven, for the exchange of the code.
    package func keep(
        _ person: ProvenPerson, of id: WebFlowID, for code: NewWebCode, by call: Call
    ) async throws -> Bool {
        try await keep(person, of: id, for: code, by: call, in: database)
    }

    func keep(
        _ person: ProvenPerson, of id: WebFlowID, for code: NewWebCode, by call: Call, in session: some PostgresSession
    ) async throws -> Bool {
        let sealed = try seal.seal(person, .person, of: id)
        return try await session.execute(
            """
            UPDATE web_flows f
            SET status = 'coded', sealed_person = \(sealed), code_hash = \(code.hash), code_expires_at = \(code.expiresAt),
                expires_at = GREATEST(f.expires_at, \(code.expiresAt)), login_hint = NULL
            WHERE f.flow_id = \(id) AND f.status = 'verifying' AND f.expires_at > \(call.now)
            """) == 1
    }

    /// Keeps the ticket of a person who has to choose on our own page.
    package func keep(linkTicket: String, of id: WebFlowID, until expiresAt: Timestamp) async throws -> Bool {
        let sealed = try seal.seal(linkTicket, .ticket, of: id)
        return try await database.execute(
            """
            UPDATE web_flows f
            SET status = 'linking', sealed_ticket = \(sealed), expires_at = \(expiresAt)
            WHERE f.flow_id = \(id) AND f.status IN ('verifying', 'linking')
            """) == 1
    }

    /// Lets the person of a flow that ends here choose once more how to sign in.
    package func reopen(_ id: WebFlowID, of browser: SecretHash, by call: Call) async throws -> StoredWebFlow? {
        try await flow(
            """
            UPDATE web_flows f
            SET status = 'new', \(WebFlowStore.erasingProviderStep), sealed_ticket = NULL
            WHERE f.flow_id = \(id) AND f.browser_hash = \(browser) AND f.status IN ('verifying', 'linking')
                AND f.expires_at > \(call.now)
            RETURNING \(WebFlowStore.columns)
            """)
    }

    /// Lets the person of a flow that goes on here after the sign-in choose once more how to sign in.
    ///
    /// - Parameter session: the browser's, if the flow has opened it.
    package func reopen(_ id: WebFlowID, in session: SessionID? = nil, by call: Call) async throws(PostgresError) {
        _ = try await database.execute(
            """
            UPDATE web_flows f
            SET status = 'new', \(WebFlowStore.erasingProviderStep), sealed_ticket = NULL, made_session_id = \(session),
                expires_at = GREATEST(f.expires_at, \(call.now.advanced(bySeconds: Lifetimes.webFlowSeconds)))
            WHERE f.flow_id = \(id) AND f.status IN ('verifying', 'linking')
            """)
    }

    /// Keeps an open flow for as long as a code is good that is mailed by now.
    package func prolong(_ id: WebFlowID, of browser: SecretHash, by call: Call) async throws(PostgresError) {
        let end: SQL = "\(call.now.advanced(bySeconds: Lifetimes.emailCodeSeconds))"
        _ = try await database.execute(
            """
            UPDATE web_flows f
            SET expires_at = \(WebFlowStore.prolonged(until: end))
            WHERE f.flow_id = \(id) AND f.browser_hash = \(browser) AND \(WebFlowStore.isOpen)
                AND f.expires_at > \(call.now)
            """)
    }

    /// Ends a flow whose person allows what its client asks for, and issues the code, as ``OAuthGrantStore/issue(_:in:by:)``
    /// does. Of several decisions one counts, and the others wait for it and find the code.
    ///
    /// - Returns: whether the flow was under way; if not, nothing was issued.
    package func allow(
        _ code: NewOAuthCode, in session: Session, ending id: WebFlowID, of browser: SecretHash, by call: Call
    ) async throws -> Bool {
        try await database.change(by: call) { change in
            let ended = try await change.execute(
                """
                UPDATE web_flows f
                SET status = 'spent', \(WebFlowStore.erasingAll)
                WHERE \(WebFlowStore.underWay(id, browser, call)) AND f.kind = 'oauth'
                """)
            guard ended == 1 else { return false }
            try await change.oauthGrants.issue(code, in: session)
            return true
        }
    }

    /// Ends a flow that its person gives up.
    ///
    /// - Returns: whether it was under way.
    package func cancel(_ id: WebFlowID, of browser: SecretHash, by call: Call) async throws(PostgresError) -> Bool {
        try await database.execute(
            """
            UPDATE web_flows f
            SET status = 'failed', \(WebFlowStore.erasingAll)
            WHERE \(WebFlowStore.underWay(id, browser, call))
            """) == 1
    }

    /// Ends a flow that needs no code: it is over here, or has failed.
    ///
    /// - Parameter session: the browser's, if the flow has opened it.
    package func end(
        _ id: WebFlowID, as status: WebFlowStatus, in session: SessionID? = nil
    ) async throws(PostgresError) {
        _ = try await database.execute(
            """
            UPDATE web_flows f
            SET status = \(status.rawValue), \(WebFlowStore.erasingAll), made_session_id = \(session)
            WHERE f.flow_id = \(id) AND f.status IN ('verifying', 'linking')
            """)
    }

    private func flow(_ statement: SQL) async throws -> StoredWebFlow? { try await flow(statement, in: database) }

    func flow(_ statement: SQL, in session: some PostgresSession) async throws -> StoredWebFlow? {
        try await session.query(statement, as: WebFlowRow.init).first?.flow(seal)
    }

    static let isOpen: SQL = "f.status IN ('new', 'sent', 'returned')"
    private static let isUnderWay: SQL = "f.status IN ('new', 'sent', 'returned', 'linking')"

    /// The `WHERE` condition for a flow in which its browser can still do something.
    private static func underWay(_ id: WebFlowID, _ browser: SecretHash, _ call: Call) -> SQL {
        "f.flow_id = \(id) AND f.browser_hash = \(browser) AND f.expires_at > \(call.now) AND \(isUnderWay)"
    }

    /// The end of a flow in which a code is mailed.
    ///
    /// - Parameter end: of the code. Codes could be asked for without end, so there is a last moment.
    static func prolonged(until end: SQL) -> SQL {
        "GREATEST(f.expires_at, LEAST(\(end), f.created_at + \(Lifetimes.longestWebFlowSeconds) * interval '1 second'))"
    }

    /// What a flow keeps for the browser's return, but for the state's hash: it lets in no answer unless the flow is `sent`,
    /// and leads one that comes later to what has become of the flow.
    static let erasingProviderStep: SQL =
        "handle_hash = NULL, sealed_secrets = NULL, sealed_answer = NULL, answer_expires_at = NULL"

    static let erasingAll: SQL = "\(erasingProviderStep), sealed_ticket = NULL, login_hint = NULL"

    static let columns: SQL = """
        f.flow_id, f.kind, f.status, f.app_id, f.app_redirect_uri, f.app_state, f.oauth_request, f.only_provider,
        f.languages, f.login_hint, f.sealed_ticket, f.sealed_errand
        """
    /// Their number.
    static let columnCount = 12
}

extension WebFlowKind: PostgresDecodable {}
extension WebFlowStatus: PostgresDecodable {}

/// The columns of a flow, still sealed.
struct WebFlowRow: Sendable {
    /// Without what is sealed.
    let plain: StoredWebFlow
    private let sealedTicket: [UInt8]?
    private let sealedErrand: [UInt8]?

    var id: WebFlowID { plain.id }

    /// Reads ``WebFlowStore/columns``, which begin the row.
    init(_ row: PostgresRow) throws(PostgresError) {
        plain = StoredWebFlow(
            id: try WebFlowID(from: row[0]), kind: try WebFlowKind(from: row[1]),
            status: try WebFlowStatus(from: row[2]), appID: try String?(from: row[3]),
            redirectURI: try String?(from: row[4]), appState: try String?(from: row[5]),
            oauthRequest: try String?(from: row[6]), onlyProvider: try Provider?(from: row[7]),
            languages: try [String](from: row[8]), loginHint: try String?(from: row[9]))
        sealedTicket = try [UInt8]?(from: row[10])
        sealedErrand = try [UInt8]?(from: row[11])
    }

    func flow(_ seal: WebFlowSeal) throws -> StoredWebFlow {
        var flow = plain
        flow.linkTicket = try sealedTicket.map { try seal.open($0, .ticket, of: id) }
        flow.errand = try sealedErrand.map { try seal.open($0, .errand, of: id) }
        return flow
    }
}
