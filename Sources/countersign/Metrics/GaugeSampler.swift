import Accounts
import Foundation
import HTTPServer
import Metrics
import Postgres
import Providers
import SignIn
import Synchronization
import Webhooks

/// The gauges of the current state. They are sampled for each answer of `GET /metrics`, all of them from memory.
struct GaugeSampler: Sendable {
    private let samplers: [@Sendable () -> Void]

    func sample() { for sampler in samplers { sampler() } }

    init(
        database: Database, useCases: Reloadable<UseCases>, accessTokens: AccessTokens,
        passwordHasher: PasswordHasher, webhooks: Webhooks, clock: any WallClock
    ) {
        samplers =
            [
                Self.connections(of: database), Self.hashes(of: passwordHasher),
                Self.keySets(of: useCases, clock: clock),
                Self.signingKey(of: accessTokens, clock: clock), Self.signing(of: useCases, clock: clock),
                Self.endpoints(of: webhooks),
            ]
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

    /// The age is the time since the last successful fetch; before the first one, the time since the start. Foreign are keys
    /// that come from another address than the provider's own, in a service that the public reaches.
    private static func keySets(of useCases: Reloadable<UseCases>, clock: any WallClock) -> @Sendable () -> Void {
        let origins = GaugeFamily(label: "countersign_key_set_foreign", dimension: "provider")
        let keys = GaugeFamily(label: "countersign_key_set_keys", dimension: "provider")
        let ages = GaugeFamily(label: "countersign_key_set_age_seconds", dimension: "provider")
        let start = clock.now().seconds
        return {
            let current = useCases.value
            let sets = current.keySets.map { (provider: $0.provider, status: $0.status) }
            origins.record(sets.map { ($0.provider.rawValue, current.foreignKeys.contains($0.provider) ? 1 : 0) })
            keys.record(sets.map { ($0.provider.rawValue, Double($0.status.keyCount)) })
            let age = max(0, clock.now().seconds - start)
            ages.record(sets.map { ($0.provider.rawValue, Double($0.status.age ?? age)) })
        }
    }

    private static func signingKey(of accessTokens: AccessTokens, clock: any WallClock) -> @Sendable () -> Void {
        let age = Gauge(label: "countersign_signing_key_age_seconds")
        let isUsable = Gauge(label: "countersign_signing_key_usable")
        return {
            let now = clock.now()
            age.record(accessTokens.signingKeyAge(at: now) ?? 0)
            isUsable.record(accessTokens.canSign(at: now) ? 1 : 0)
        }
    }

    /// The ages of each Apple team's client secret and of its key file.
    private static func signing(of useCases: Reloadable<UseCases>, clock: any WallClock) -> @Sendable () -> Void {
        let secrets = GaugeFamily(label: "countersign_apple_client_secret_age_seconds", dimension: "team")
        let files = GaugeFamily(label: "countersign_apple_key_file_age_seconds", dimension: "team")
        return {
            let now = clock.now()
            let current = useCases.value
            secrets.record(
                current.appleEndpoint?.clientSecretAges(at: now).map { ($0.realm.text, Double($0.age ?? 0)) } ?? [])
            files.record(
                current.configuration.apple?.teams.compactMap { team in
                    guard let writtenAt = team.signing?.keyWrittenAt else { return nil }
                    let age = Double(now.seconds) - writtenAt.timeIntervalSince1970.rounded(.down)
                    return (team.name, max(0, age))
                } ?? [])
        }
    }

    private static func endpoints(of webhooks: Webhooks) -> @Sendable () -> Void {
        let behind = GaugeFamily(label: "countersign_webhook_behind_seconds", dimension: "endpoint")
        let parked = GaugeFamily(label: "countersign_webhook_parked_accounts", dimension: "endpoint")
        let active = GaugeFamily(label: "countersign_webhook_active", dimension: "endpoint")
        return {
            let standings = webhooks.standings
            behind.record(standings.map { ($0.name, Double($0.behindSeconds)) })
            parked.record(standings.map { ($0.name, Double($0.parkedAccounts)) })
            active.record(standings.map { ($0.name, $0.isActive ? 1 : 0) })
        }
    }
}

/// A gauge for each Apple team, provider or webhook. A reload can add and remove them, and their gauges with them.
private final class GaugeFamily: Sendable {
    private let label: String
    private let dimension: String
    private let gauges = Mutex<[String: Gauge]>([:])

    init(label: String, dimension: String) {
        self.label = label
        self.dimension = dimension
    }

    /// - Parameter values: those of all that there are now. The gauges of others are destroyed.
    func record(_ values: [(name: String, value: Double)]) {
        gauges.withLock { gauges in
            var removed = gauges
            for (name, value) in values {
                let gauge = removed.removeValue(forKey: name) ?? Gauge(label: label, dimensions: [(dimension, name)])
                gauge.record(value)
                gauges[name] = gauge
            }
            for (name, gauge) in removed {
                gauge.destroy()
                gauges[name] = nil
            }
        }
    }
}
