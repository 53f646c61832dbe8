import Accounts
import Foundation
import HTTPAPI
import HTTPServer
import Metrics
import Postgres
import Providers
import SignIn
import Synchronization

/// The gauges of the current state. They are sampled for each answer of `GET /metrics`, all of them from memory.
struct GaugeSampler: Sendable {
    private let samplers: [@Sendable () -> Void]

    func sample() {
        for sampler in samplers { sampler() }
    }

    init(
        database: Database, foreignKeys: Set<Provider>, keySets: [KeySetCache], useCases: Reloadable<UseCases>,
        accessTokens: AccessTokens,
        passwordHasher: PasswordHasher, clock: any WallClock
    ) {
        samplers =
            [Self.connections(of: database), Self.hashes(of: passwordHasher)]
            + keySets.map { Self.origin(of: $0.provider, isForeign: foreignKeys.contains($0.provider)) }
            + keySets.map { Self.keySet($0, clock: clock) }
            + [Self.signingKey(of: accessTokens, clock: clock), Self.signing(of: useCases, clock: clock)]
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

    /// 1 where a provider's keys come from another address than its own, in a service that the public reaches.
    private static func origin(of provider: Provider, isForeign: Bool) -> @Sendable () -> Void {
        let gauge = Gauge(label: "countersign_key_set_foreign", dimensions: [("provider", provider.rawValue)])
        return { gauge.record(isForeign ? 1 : 0) }
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

    /// The age is the time since the last successful fetch; before the first one, the time since the start.
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

    private static func signingKey(of accessTokens: AccessTokens, clock: any WallClock) -> @Sendable () -> Void {
        let age = Gauge(label: "countersign_signing_key_age_seconds")
        return { age.record(accessTokens.signingKeyAge(at: clock.now()) ?? 0) }
    }

    /// The ages of each Apple team's client secret and of its key file.
    private static func signing(of useCases: Reloadable<UseCases>, clock: any WallClock) -> @Sendable () -> Void {
        let secrets = TeamGauges(label: "countersign_apple_client_secret_age_seconds")
        let files = TeamGauges(label: "countersign_apple_key_file_age_seconds")
        return {
            let now = clock.now()
            let current = useCases.value
            secrets.record(
                current.appleEndpoint?.clientSecretAges(at: now).map { ($0.realm.text, Double($0.age ?? 0)) } ?? [])
            files.record(
                current.appleConfiguration?.teams.compactMap { team in
                    guard let writtenAt = team.signing?.keyWrittenAt else { return nil }
                    let age = Double(now.seconds) - writtenAt.timeIntervalSince1970.rounded(.down)
                    return (team.name, max(0, age))
                } ?? [])
        }
    }
}

/// A gauge for each Apple team. A reload can add and remove teams, and their gauges with them.
private final class TeamGauges: Sendable {
    private let label: String
    private let gauges = Mutex<[String: Gauge]>([:])

    init(label: String) {
        self.label = label
    }

    /// - Parameter ages: those of all current teams. The gauges of other teams are destroyed.
    func record(_ ages: [(team: String, seconds: Double)]) {
        gauges.withLock { gauges in
            var removed = gauges
            for (team, seconds) in ages {
                let gauge = removed.removeValue(forKey: team) ?? Gauge(label: label, dimensions: [("team", team)])
                gauge.record(seconds)
                gauges[team] = gauge
            }
            for (team, gauge) in removed {
                gauge.destroy()
                gauges[team] = nil
            }
        }
    }
}
