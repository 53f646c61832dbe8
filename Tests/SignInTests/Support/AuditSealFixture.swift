import Accounts
import Foundation
import KeyRing
import Postgres
import Storage
import TestSupport

/// An audit trail in a database of its own.
struct AuditSealFixture: TestFixture {
    let database: Database
    let keyRing: KeyRing
    let clock = ManualClock(at: SignInFixture.start)

    var trail: AuditTrail { AuditTrail(database: database) }
    var seals: AuditSeals { AuditSeals(database: database, keyRing: keyRing) }

    static func run(_ body: (AuditSealFixture) async throws -> Void) async throws {
        try await ScratchDatabase.withMigratedPool { database in
            try await body(AuditSealFixture(database: database, keyRing: try SignInFixture.makeKeyRing()))
        }
    }

    /// The same trail with another key ring.
    func with(_ keyRing: KeyRing) -> AuditSealFixture { AuditSealFixture(database: database, keyRing: keyRing) }

    /// Records sign-ins, each in a transaction of its own, a second apart.
    func record(_ count: Int) async throws {
        for number in 0..<count {
            let event = AuditEvent(
                .signedIn, by: .person, accountID: AccountID(now: clock.now()), provider: .apple, reason: "apple",
                requestID: "r\(number)")
            try await trail.record(event, by: .at(clock.now()))
            clock.advance(by: 1)
        }
    }

    /// Seals everything. Transactions of other tests, which share the cluster, may delay it.
    func seal() async throws {
        while try await seals.oldestUnsealed() != nil {
            if case .halted(let halt) = try await seals.seal(by: .at(clock.now())) { throw halt }
            try await pollingPause()
        }
    }

    /// Records `rows` rows and seals them, `seals` times.
    func grow(seals: Int, of rows: Int = 2) async throws {
        for _ in 0..<seals {
            try await record(rows)
            // What was recorded last may be final before the rest of the cluster is.
            try await whenFinal()
            try await seal()
        }
    }

    /// Waits until no transaction is open that is older than what is recorded.
    func whenFinal() async throws {
        var isFinal = false
        while !isFinal {
            try await pollingPause()
            isFinal = try await database.query(
                """
                SELECT max(transaction_id) < pg_snapshot_xmin(pg_current_snapshot())::text::bigint
                FROM audit_events
                WHERE transaction_id < 1000000000000
                """, as: Bool.self)[0]
        }
    }

    func verify(since: Timestamp? = nil, noted: (number: Int64, code: [UInt8])? = nil) async throws -> AuditReport {
        try await AuditVerification(database: database, keyRing: keyRing).run(since: since, noted: noted)
    }

    /// The findings of a verification, by seal.
    func faults() async throws -> [Found] { try await verify().findings.map { Found($0.sealNumber, $0.fault) } }

    struct Found: Equatable {
        let seal: Int64?
        let fault: AuditFinding.Fault

        init(_ seal: Int64?, _ fault: AuditFinding.Fault) {
            self.seal = seal
            self.fault = fault
        }
    }

    /// Adds a row as who may only add some can: of any time, and of any transaction.
    func insert(_ type: String = "signed_in", at time: SQL, transaction: SQL = "DEFAULT") async throws {
        try await tamper(
            """
            INSERT INTO audit_events (event_id, type, actor, actor_name, transaction_id, created_at)
            VALUES (gen_random_uuid(), \(type), 'administrator', 'alice', \(transaction), \(time))
            """)
    }

    /// Runs the statements of an intruder with the owner's rights.
    func tamper(_ statements: SQL...) async throws {
        for statement in statements { _ = try await database.execute(statement) }
    }
}
