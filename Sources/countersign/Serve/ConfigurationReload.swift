import Accounts
import HTTPServer
import Logging
import Metrics
import ServiceLifecycle
import SignIn
import UnixSignals

/// The service that reloads the configuration on every SIGHUP. A faulty one changes nothing.
struct ConfigurationReload: Service, CustomStringConvertible {
    private enum Outcome: String, CaseIterable {
        case adopted
        case refused
    }

    /// Trapped since before the configuration was first read, so that no signal is lost.
    let hangups: UnixSignalsSequence
    /// Reads file and environment.
    let read: @Sendable () throws -> ConfigurationSources
    let start: ConfigurationReading<ServiceConfiguration>
    let logger: Logger
    let logLevel: Reloadable<Logger.Level>
    /// Applies another configuration to the running service.
    var adopt: @Sendable (ReloadableConfiguration) -> Void = { _ in }
    /// The names of the staff that admin keys have.
    var takenNames: @Sendable (ConsoleStaff) async throws -> [String] = { _ in [] }
    /// The teams at Apple that have people, but for those of these names.
    var unnamedTeams: @Sendable ([String]) async -> [String] = { _ in [] }

    /// Its name in the log. The default description would show what it holds.
    var description: String { "configuration reload" }

    func run() async throws {
        let outcomes = CaseCounters<Outcome>(label: "countersign_configuration_reloads_total", by: "outcome")
        let lastSuccess = Gauge(label: "countersign_configuration_last_reload_successful")
        lastSuccess.record(1)
        var running = start.map(\.reloadable)
        for await _ in hangups.cancelOnGracefulShutdown() {
            let outcome = await reload(&running)
            outcomes.count(outcome)
            lastSuccess.record(outcome == .adopted ? 1 : 0)
        }
    }

    private func reload(_ running: inout ConfigurationReading<ReloadableConfiguration>) async -> Outcome {
        do {
            let reloaded = try ReloadedConfiguration(try read(), running: running)
            let taken = await newTakenNames(in: reloaded.running.section.console, since: running.section.console)
            guard taken.isEmpty else {
                logger.error(
                    "configuration not reloaded",
                    metadata: [
                        "key": "\(Settings.Console.staff.name)",
                        "fault": "has names that admin keys have: \(taken.joined(separator: ", "))",
                    ])
                return .refused
            }
            let left = await teamsLeft(by: reloaded.running.section.apple, since: running.section.apple)
            let warnedOf = start.section.with(running.section).warnings
            running = reloaded.running
            adopt(running.section)
            // Logged at the more verbose one of the old and the new level.
            let level = running.section.logLevel
            logLevel.value = min(logLevel.value, level)
            for warning in start.section.with(running.section).warnings where !warnedOf.contains(warning) {
                warning.log(to: logger)
            }
            logger.warn(ofUnnamed: left)
            logChanges(of: reloaded)
            logLevel.value = level
            return .adopted
        } catch let error as ConfigurationFaults {
            for fault in error.faults {
                logger.error(
                    "configuration not reloaded",
                    metadata: ["key": "\(fault.key)", "origin": "\(fault.origin)", "fault": "\(fault.sentence)"])
            }
        } catch {
            logger.error("configuration not reloaded", metadata: ["fault": "\(error)"])
        }
        return .refused
    }

    /// Of the names that are new on the list. None while the database is unavailable: it must be possible to shorten
    /// the list at any time, and each sign-in looks at the keys again.
    private func newTakenNames(in newer: ConsoleConfiguration, since older: ConsoleConfiguration) async -> [String] {
        let people = newer.google?.staff.people ?? []
        let added = people.filter { older.google?.staff.person(named: $0.name) == nil }
        guard !added.isEmpty else { return [] }
        return (try? await takenNames(ConsoleStaff(added))) ?? []
    }

    /// The teams that have people, and a name no more.
    private func teamsLeft(by newer: AppleConfiguration?, since older: AppleConfiguration?) async -> [String] {
        let names = newer?.teams.map(\.name) ?? []
        let removed = (older?.teams ?? []).map(\.name).filter { !names.contains($0) }
        guard !removed.isEmpty else { return [] }
        return await unnamedTeams(names).filter { removed.contains($0) }
    }

    private func logChanges(of reloaded: ReloadedConfiguration) {
        for key in reloaded.pending {
            logger.warning("changed key takes effect at next start", metadata: ["key": "\(key)"])
        }
        logger.notice("configuration reloaded", metadata: ["changed": "\(reloaded.changed.joined(separator: ", "))"])
    }
}
