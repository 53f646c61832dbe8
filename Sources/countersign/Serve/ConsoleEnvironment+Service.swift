import Accounts
import HTTPServer
import Migrator
import Providers
import SignIn
import WebPages

extension ConsoleEnvironment {
    init(
        version: String, commit: String, startedAt: Timestamp, history: OutcomeHistory, health: Health,
        migrator: Migrator, keySets: @escaping @Sendable () -> [KeySetCache],
        canSign: @escaping @Sendable () -> Bool, shown: ConfigurationListing
    ) {
        self.init(
            version: version, commit: commit, startedAt: startedAt, history: history, isReady: { await health.isReady },
            schema: { await Schema(migrator) },
            keySets: {
                keySets().map { cache in
                    let status = cache.status
                    return KeySet(provider: cache.provider, keyCount: status.keyCount, age: status.age)
                }
            }, canSign: canSign, settings: shown.values)
    }
}

extension ConsoleEnvironment.Schema {
    fileprivate init(_ migrator: Migrator) async {
        do {
            let entries = try await migrator.status()
            let pending = entries.filter { $0.state == .pending }.map(\.label)
            let faults = try await migrator.servingFaults().map { "\($0)" }
            self.init(
                latest: entries.last { if case .applied = $0.state { true } else { false } }?.label,
                faults: faults + (pending.isEmpty ? [] : ["not applied yet: \(pending.joined(separator: ", "))"]))
        } catch {
            self.init(latest: nil, faults: ["the database does not answer"])
        }
    }
}
