package import Accounts
import KeyRing
package import Postgres

/// `web_registrations`: what people who register have typed, for as long as the code is good that they were mailed.
package struct WebRegistrationStore: Sendable {
    let database: Database
    let keyRing: KeyRing
    private var seal: WebFlowSeal { WebFlowSeal(keyRing: keyRing) }

    private struct Form: Codable {
        let passwordHash: String
        let displayName: String?
    }

    /// Keeps it in the place of an earlier one of the flow, which lives as long.
    ///
    /// - Returns: whether the flow is open.
    package func keep(
        _ registration: WebRegistration, in flow: WebFlowID, of browser: SecretHash, until expiresAt: Timestamp,
        by call: Call
    ) async throws -> Bool {
        let form = Form(passwordHash: registration.passwordHash.text, displayName: registration.displayName?.text)
        let sealed = try seal.seal(form, .registration, of: flow)
        return try await database.execute(
            """
            WITH open AS (
                UPDATE web_flows f
                SET expires_at = \(WebFlowStore.prolonged(until: "\(expiresAt)"))
                WHERE f.flow_id = \(flow) AND f.browser_hash = \(browser) AND \(WebFlowStore.isOpen)
                    AND f.expires_at > \(call.now)
                RETURNING f.flow_id
            )
            INSERT INTO web_registrations (flow_id, email, sealed_registration, created_at, expires_at)
            SELECT flow_id, \(registration.email.text), \(sealed), \(call.now), \(expiresAt)
            FROM open
            ON CONFLICT (flow_id) DO UPDATE
            SET email = EXCLUDED.email, sealed_registration = EXCLUDED.sealed_registration,
                created_at = EXCLUDED.created_at, expires_at = EXCLUDED.expires_at
            """) == 1
    }

    /// Keeps it, and its flow, for as long as the code is good that was mailed for it last.
    ///
    /// - Parameter hash: by which its codes differ from others for the same address.
    package func prolong(
        _ registration: WebRegistration, in flow: WebFlowID, of browser: SecretHash, codesOf hash: SecretHash,
        by call: Call
    ) async throws(PostgresError) {
        let codes = EmailCodeSlot(email: registration.email, purpose: .register, ticketHash: hash)
        _ = try await database.execute(
            """
            WITH open AS (
                UPDATE web_flows f
                SET expires_at = \(WebFlowStore.prolonged(until: "c.expires_at"))
                FROM mailed_codes c
                WHERE f.flow_id = \(flow) AND f.browser_hash = \(browser) AND \(WebFlowStore.isOpen)
                    AND f.expires_at > \(call.now) AND \(codes.condition)
                RETURNING f.flow_id, c.expires_at AS code_expires_at
            )
            UPDATE web_registrations r
            SET expires_at = GREATEST(r.expires_at, o.code_expires_at)
            FROM open o
            WHERE r.flow_id = o.flow_id
            """)
    }

    package func registration(in flow: WebFlowID, by call: Call) async throws -> WebRegistration? {
        let rows = try await database.query(
            """
            SELECT email, sealed_registration
            FROM web_registrations
            WHERE flow_id = \(flow) AND expires_at > \(call.now)
            """, as: EmailAddress.self, [UInt8].self)
        return try rows.first.map { email, sealed in
            let form: Form = try seal.open(sealed, .registration, of: flow)
            return WebRegistration(
                email: email, passwordHash: PasswordHash(form.passwordHash),
                displayName: form.displayName.flatMap(DisplayName.init))
        }
    }

    /// Deletes those whose code is over.
    package func deleteExpired(before time: Timestamp, limit: Int) async throws(PostgresError) -> Int {
        try await database.delete(from: "web_registrations", where: "expires_at <= \(time)", limit: limit)
    }
}
