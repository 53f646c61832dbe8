import Accounts
import Foundation
import Postgres
import Storage
import TestSupport
import Testing

/// `Scripts/soak accounts N`: how long each list takes among N accounts.
@Suite(.enabled(if: ProcessInfo.processInfo.environment["COUNTERSIGN_CROWD"] != nil), .timeLimit(.minutes(240)))
struct AccountCrowdSoak {
    @Test func `the lists of a crowd take so long`() async throws {
        let count = try #require(ProcessInfo.processInfo.environment["COUNTERSIGN_CROWD"].flatMap { Int($0) })
        try await ScratchDatabase.withMigratedPool {
            $0.statementTimeout = nil
        } _: { database in
            let start = ContinuousClock.now
            let crowd = try await AccountCrowd.create(count, in: database)
            print("\(count) accounts in \((ContinuousClock.now - start).formatted(.units(allowed: [.seconds])))")
            for query in crowd.queries {
                var times: [Duration] = []
                for _ in 0..<5 {
                    let start = ContinuousClock.now
                    _ = try await database.execute(query.statement)
                    times.append(ContinuousClock.now - start)
                }
                let plan = try await crowd.plan(of: query)
                #expect(AccountCrowd.scans(plan) == [], "\(query.name)\n\(plan)")
                times.sort()
                let milliseconds = times.map {
                    $0.formatted(.units(allowed: [.milliseconds], fractionalPart: .show(length: 1)))
                }
                print("\(query.name): median \(milliseconds[2]), at most \(milliseconds[4])")
            }
        }
    }
}
