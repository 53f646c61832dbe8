package import Accounts
package import Postgres

/// What a browser has come back from a provider with, before anything of it is verified.
package struct WebAnswer: Sendable {
    /// By now being verified; or failed, if another browser came.
    package let flow: StoredWebFlow
    /// Whether the browser is the one that opened the flow. If not, nothing else is here.
    package let isOfBrowser: Bool
    package let clientID: ProviderClientID
    package let redirectURI: String
    package let secrets: WebFlowSecrets?
    /// Apple's, that was held.
    package let held: HeldAnswer?
}

/// The browser's return from a provider.
extension WebFlowStore {
    /// What a browser presents.
    package enum Claim: Sendable {
        /// The SHA-256 of the handle of an answer that is held.
        case handle(SecretHash)
        /// The SHA-256 of the state.
        case state(SecretHash)

        /// Of the flow that waits for it.
        fileprivate var condition: SQL {
            switch self {
            case .handle(let hash): "f.handle_hash = \(hash) AND f.status = 'returned'"
            case .state(let hash): "f.state_hash = \(hash) AND f.status = 'sent'"
            }
        }

        fileprivate var hash: SecretHash {
            switch self {
            case .handle(let hash), .state(let hash): hash
            }
        }
    }

    /// Holds Apple's answer, which came without the browser's cookie, until the browser comes for it.
    ///
    /// - Returns: `false` when no flow that was sent to Apple has this state, or its answer has come before.
    package func hold(
        _ answer: HeldAnswer, ofState stateHash: SecretHash, handleHash: SecretHash, by call: Call
    ) async throws -> Bool {
        let waiting: SQL = """
            f.state_hash = \(stateHash) AND f.status = 'sent' AND f.provider = \(Provider.apple.rawValue)
                AND f.expires_at > \(call.now)
            """
        let ids = try await database.query("SELECT f.flow_id FROM web_flows f WHERE \(waiting)", as: WebFlowID.self)
        guard let id = ids.first else { return false }
        let sealed = try seal.seal(answer, .answer, of: id)
        return try await database.execute(
            """
            UPDATE web_flows f
            SET status = 'returned', state_hash = NULL, handle_hash = \(handleHash), sealed_answer = \(sealed),
                answer_expires_at = \(call.now.advanced(bySeconds: Lifetimes.webAnswerSeconds))
            WHERE f.flow_id = \(id) AND \(waiting)
            """) == 1
    }

    /// The flow that waits for this answer, or did when it expired; to its own browser also the one that waits no more: the
    /// answer was taken or, where it comes by a state, the person went on by another way.
    package func left(
        by claim: Claim, from provider: Provider, for browser: SecretHash?, by call: Call
    ) async throws(PostgresError) -> LeftWebFlow? {
        let before: SQL = "f.state_hash = \(claim.hash) AND f.status <> 'sent' AND f.browser_hash = \(browser)"
        return try await left(
            where: "(\(claim.condition) OR \(before)) AND f.provider = \(provider.rawValue)", for: browser, by: call)
    }

    /// Takes a flow to which a browser has come back. One that another browser comes for fails, with all that it kept. That of
    /// its own keeps the hash of the state or handle, as its state's: an answer that comes once more is known by that.
    ///
    /// - Parameter browser: the SHA-256 of the browser's cookie; `nil` if it has none.
    /// - Returns: `nil` when there is none at this provider that waits for it.
    package func take(
        _ claim: Claim, from provider: Provider, by browser: SecretHash?, by call: Call
    ) async throws -> WebAnswer? {
        let rows = try await database.query(
            """
            WITH waiting AS (
                SELECT f.flow_id, f.sealed_secrets, f.sealed_answer, COALESCE(f.browser_hash = \(browser), false) AS is_own
                FROM web_flows f
                WHERE \(claim.condition) AND f.provider = \(provider.rawValue) AND f.expires_at > \(call.now)
                    AND (f.answer_expires_at IS NULL OR f.answer_expires_at > \(call.now))
                FOR UPDATE
            )
            UPDATE web_flows f
            SET status = CASE WHEN w.is_own THEN 'verifying' ELSE 'failed' END,
                state_hash = CASE WHEN w.is_own THEN COALESCE(f.state_hash, f.handle_hash) END,
                \(WebFlowStore.erasingProviderStep)
            FROM waiting w
            WHERE f.flow_id = w.flow_id
            RETURNING \(WebFlowStore.columns), w.is_own, f.client_id, f.provider_redirect_uri, w.sealed_secrets,
                w.sealed_answer
            """
        ) { row throws(PostgresError) in
            let first = WebFlowStore.columnCount
            return (
                try WebFlowRow(row), try Bool(from: row[first]), try ProviderClientID(from: row[first + 1]),
                try String(from: row[first + 2]), try [UInt8]?(from: row[first + 3]), try [UInt8]?(from: row[first + 4])
            )
        }
        guard let (row, isOwn, clientID, redirectURI, secrets, held) = rows.first else { return nil }
        return WebAnswer(
            flow: try row.flow(seal), isOfBrowser: isOwn, clientID: clientID, redirectURI: redirectURI,
            secrets: isOwn ? try secrets.map { try seal.open($0, .secrets, of: row.id) } : nil,
            held: isOwn ? try held.map { try seal.open($0, .answer, of: row.id) } : nil)
    }
}
