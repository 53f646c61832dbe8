import Accounts
import Foundation
import HTTPAPI
import Metrics
import Postgres
import Providers
import SignIn

/// Figures of what is, not of what happens: read when the page is asked for, all of them from memory.
struct StandingFigures: Sendable {
    private let readings: [@Sendable () -> Void]

    func read() {
        for reading in readings { reading() }
    }

    init(
        database: Database, keySets: [KeySetCache], useCases: Reloadable<UseCases>, passwordHasher: PasswordHasher,
        clock: any WallClock
    ) {
        readings =
            [Self.connections(of: database), Self.hashes(of: passwordHasher)]
            + keySets.map { Self.keySet($0, clock: clock) } + [{ Self.readSigning(of: useCases.value, clock: clock) }]
    }

    private static func connections(of database: Database) -> @Sendable () -> Void {
        let isUp = Gauge(label: "countersign_postgres_up")
        let idle = Gauge(label: "countersign_postgres_connections", dimensions: [("state", "idle")])
        let busy = Gauge(label: "countersign_postgres_connections", dimensions: [("state", "busy")])
        let size = Gauge(label: "countersign_postgres_pool_size")
        let waiting = Gauge(label: "countersign_postgres_waiting")
        return {
            let statistics = database.statistics
            isUp.record(statistics.isDown ? 0 : 1)
            idle.record(statistics.idle)
            busy.record(statistics.busy)
            size.record(database.configuration.poolSize)
            waiting.record(statistics.waiting)
        }
    }

    private static func hashes(of hasher: PasswordHasher) -> @Sendable () -> Void {
        let running = Gauge(label: "countersign_password_hashes", dimensions: [("state", "running")])
        let waiting = Gauge(label: "countersign_password_hashes", dimensions: [("state", "waiting")])
        return {
            let occupancy = hasher.occupancy
            running.record(occupancy.running)
            waiting.record(occupancy.waiting)
        }
    }

    /// Before the first good fetch the age is that of the process: either way, for how long no fetch was good.
    private static func keySet(_ cache: KeySetCache, clock: any WallClock) -> @Sendable () -> Void {
        let dimensions = [("provider", cache.provider.rawValue)]
        let keys = Gauge(label: "countersign_key_set_keys", dimensions: dimensions)
        let age = Gauge(label: "countersign_key_set_age_seconds", dimensions: dimensions)
        let start = clock.now().seconds
        return {
            let status = cache.status
            keys.record(status.keyCount)
            age.record(status.age ?? max(0, clock.now().seconds - start))
        }
    }

    /// What speaks for the teams at Apple. A reload may bring teams and keys.
    private static func readSigning(of useCases: UseCases, clock: any WallClock) {
        let now = clock.now()
        for team in useCases.appleEndpoint?.clientSecretAges(at: now) ?? [] {
            let dimensions = [("team", team.realm.text)]
            Gauge(label: "countersign_apple_client_secret_age_seconds", dimensions: dimensions).record(team.age ?? 0)
        }
        for team in useCases.appleConfiguration?.teams ?? [] {
            guard let writtenAt = team.signing?.keyWrittenAt else { continue }
            let age = Double(now.seconds) - writtenAt.timeIntervalSince1970.rounded(.down)
            Gauge(label: "countersign_apple_key_file_age_seconds", dimensions: [("team", team.name)])
                .record(max(0, age))
        }
    }
}
