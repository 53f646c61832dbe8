package import Accounts
import Postgres

/// A flow, and what a form of its browser has come to in it.
package struct AnsweredWebFlow: Sendable {
    package enum Answer: Sendable {
        /// The hash of the code that waits for the app.
        case code(SecretHash)
        /// A live session, and the hash of its cookie.
        case session(SessionID, cookie: SecretHash)
    }

    package let flow: StoredWebFlow
    /// `nil` for what is not there yet, or is over.
    package let answer: Answer?
}

/// What people prove on our own page. What it changes, the flow that it takes and the code for the app are one transaction:
/// where a part of it fails nothing was spent, and no other request finds the flow in between.
extension WebFlowStore {
    /// Takes an open flow for its person.
    ///
    /// - Parameter code: of a flow that ends at an app, which the person is kept for.
    /// - Returns: `nil` where the flow is open no more.
    package func take(
        _ id: WebFlowID, of browser: SecretHash, for person: ProvenPerson, code: NewWebCode?, by call: Call
    ) async throws -> StoredWebFlow? {
        try await database.change(by: call) { change in
            guard let flow = try await take(id, of: browser, in: change) else { return nil }
            if let code { _ = try await keep(person, of: id, for: code, by: call, in: change) }
            return flow
        }
    }

    /// Makes an account of a person whose address the mailed code proves, as ``Change/Accounts/register(_:_:proven:)`` does,
    /// and takes the flow for them. The registration is spent.
    ///
    /// - Parameter code: of a flow that ends at an app, which the person is kept for.
    /// - Returns: `nil` where the flow is open no more: nothing was made then.
    package func register(
        _ newID: AccountID, _ registration: WebRegistration, proven mailedCode: EmailCode, in id: WebFlowID,
        of browser: SecretHash, code: NewWebCode?, by call: Call
    ) async throws -> (flow: StoredWebFlow, person: ProvenPerson)? {
        try await database.change(by: call) { change in
            guard let flow = try await take(id, of: browser, in: change) else { return nil }
            let accountID = try await change.accounts.register(newID, registration, proven: mailedCode)
            _ = try await change.execute("DELETE FROM web_registrations WHERE flow_id = \(id)")
            let person = ProvenPerson.password(accountID, passwordHash: registration.passwordHash, at: call.now)
            if let code { _ = try await keep(person, of: id, for: code, by: call, in: change) }
            return (flow: flow, person: person)
        }
    }

    /// Sets a new password, as ``AccountStore/resetPassword(to:proven:by:)`` does, and takes the flow, which ends here, for
    /// its owner.
    ///
    /// - Returns: `nil` where the flow is open no more: the password is as it was then.
    package func resetPassword(
        to passwordHash: PasswordHash, proven mailedCode: EmailCode, in id: WebFlowID, of browser: SecretHash,
        by call: Call
    ) async throws -> (flow: StoredWebFlow, person: ProvenPerson)? {
        try await database.change(by: call) { change in
            guard let flow = try await take(id, of: browser, in: change) else { return nil }
            let accountID = try await change.accounts.resetPassword(to: passwordHash, proven: mailedCode)
            let person = ProvenPerson.password(accountID, passwordHash: passwordHash, at: call.now)
            return (flow: flow, person: person)
        }
    }

    /// A flow that has not expired, and what a form has come to in it. A client's flow that is over has come to the consent.
    ///
    /// - Parameter earliest: a session that was made by then is none; `nil` for all that are live.
    package func answered(
        _ id: WebFlowID, of browser: SecretHash, sessionsSince earliest: Timestamp? = nil, by call: Call
    ) async throws -> AnsweredWebFlow? {
        var isLive: SQL = "s.ended_at IS NULL AND s.expires_at > \(call.now)"
        if let earliest { isLive = "\(isLive) AND s.created_at > \(earliest)" }
        let rows = try await database.query(
            """
            SELECT \(WebFlowStore.columns),
                CASE WHEN f.status = 'coded' AND f.code_expires_at > \(call.now) THEN f.code_hash END,
                w.session_id, w.session_hash
            FROM web_flows f
            LEFT JOIN sessions s ON s.session_id = f.made_session_id AND \(isLive)
                AND f.status = CASE f.kind WHEN 'oauth' THEN 'new' ELSE 'spent' END
            LEFT JOIN web_sessions w ON w.session_id = s.session_id
            WHERE f.flow_id = \(id) AND f.browser_hash = \(browser) AND f.expires_at > \(call.now)
            """
        ) { row throws(PostgresError) in
            let first = WebFlowStore.columnCount
            return (
                try WebFlowRow(row), try SecretHash?(from: row[first]), try SessionID?(from: row[first + 1]),
                try SecretHash?(from: row[first + 2])
            )
        }
        guard let (row, code, session, cookie) = rows.first else { return nil }
        var answer: AnsweredWebFlow.Answer?
        if let code {
            answer = .code(code)
        } else if let session, let cookie {
            answer = .session(session, cookie: cookie)
        }
        return AnsweredWebFlow(flow: try row.flow(seal), answer: answer)
    }

    private func take(_ id: WebFlowID, of browser: SecretHash, in change: Change) async throws -> StoredWebFlow? {
        try await flow(
            """
            UPDATE web_flows f
            SET status = 'verifying', \(WebFlowStore.erasingProviderStep)
            WHERE f.flow_id = \(id) AND f.browser_hash = \(browser) AND \(WebFlowStore.isOpen)
                AND f.expires_at > \(change.call.now)
            RETURNING \(WebFlowStore.columns)
            """, in: change)
    }
}
