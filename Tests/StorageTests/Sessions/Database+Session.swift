import Accounts
import Postgres
import Storage

extension Database {
    /// An account, and a live session of it.
    func addSession(
        at now: Timestamp, lasting seconds: Int64 = 86_400
    ) async throws -> (account: AccountID, session: SessionID) {
        let (account, session) = (AccountID(now: now), SessionID(now: now))
        try await execute("INSERT INTO accounts (account_id, created_at) VALUES (\(account), \(now))")
        try await execute(
            """
            INSERT INTO sessions (session_id, account_id, rotated_at, auth_time, amr, created_at, last_used_at, expires_at)
            VALUES (\(session), \(account), \(now), \(now), '{pwd}', \(now), \(now), \(now.advanced(bySeconds: seconds)))
            """)
        return (account, session)
    }
}
