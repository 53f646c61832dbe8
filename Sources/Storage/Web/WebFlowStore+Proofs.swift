package import Accounts
package import Postgres

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

    /// A flow whose person is kept for a code that waits for the app, and the code's hash.
    package func coded(
        _ id: WebFlowID, of browser: SecretHash, by call: Call
    ) async throws(PostgresError) -> (flow: StoredWebFlow, codeHash: SecretHash)? {
        try await database.query(
            """
            SELECT \(WebFlowStore.columns), f.code_hash
            FROM web_flows f
            WHERE f.flow_id = \(id) AND f.browser_hash = \(browser) AND f.status = 'coded'
                AND f.code_expires_at > \(call.now)
            """
        ) { row throws(PostgresError) in
            (flow: try WebFlowRow(row).plain, codeHash: try SecretHash(from: row[WebFlowStore.columnCount]))
        }.first
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
