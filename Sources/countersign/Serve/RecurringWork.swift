import Accounts
import HTTPAPI
import HTTPServer
import Logging
import ServiceLifecycle
import SignIn
import Storage

/// Something that every process does again and again beside answering requests.
struct RecurringWork: Service, CustomStringConvertible {
    let name: String
    /// From the end of a round that found nothing to do.
    let pause: Duration
    let logger: Logger
    /// How many rounds go on at a time.
    var lanes = 1
    /// One round. Returns whether there may be more to do at once.
    let round: @Sendable () async throws -> Bool
    /// What is left to do when nothing is answered any more.
    var ending: @Sendable () async throws -> Void = {}

    /// What the log calls it.
    var description: String { "recurring work: \(name)" }

    /// Rounds until the service shuts down. One that has begun ends; what fails is tried again after a pause.
    func run() async throws {
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<lanes { group.addTask { await rounds() } }
        }
    }

    private func rounds() async {
        while !Task.isShuttingDownGracefully, !Task.isCancelled {
            if await attempt(round) == true { continue }
            try? await cancelWhenGracefulShutdown { try await Task.sleep(for: pause) }
        }
        await attempt(ending)
    }

    @discardableResult
    private func attempt<Value>(_ work: () async throws -> Value) async -> Value? {
        do {
            return try await work()
        } catch {
            logger.warning(
                "recurring work failed", metadata: ["work": "\(name)", "error": "\(String(reflecting: error))"])
            return nil
        }
    }
}

extension RecurringWork {
    /// What falls to any process: it is claimed in the database, so that several share it, and what one leaves undone
    /// comes to another. A round lasts seconds: the longest waits for a mail server, `SMTPTransport.Configuration.timeout`.
    static func shared(
        _ useCases: Reloadable<UseCases>, stores: Stores, refreshLifetime: Int64, mailing: MailWorker?,
        clock: any WallClock, logger: Logger
    ) -> [RecurringWork] {
        let sealing = AuditSealer(seals: stores.seals, clock: clock, logger: logger)
        let sweeping = RetentionSweeper(stores: stores, refreshLifetime: refreshLifetime, clock: clock, logger: logger)
        // A revocation is first tried within a second of the commit that promised it.
        let revoking = Provider.allCases.map { provider in
            RecurringWork(name: "\(provider.rawValue) revocations", pause: .milliseconds(500), logger: logger) {
                try await useCases.value.revocations.attemptDue(at: provider) > 0
            }
        }
        // Each lane sends one mail at a time, so that a mail server which takes its time with one holds up its lane alone.
        let sending = mailing.map { mailing in
            RecurringWork(name: "mail", pause: .milliseconds(500), logger: logger, lanes: MailWorker.concurrency) {
                try await mailing.sendNext()
            }
        }
        return revoking + [sending].compactMap(\.self) + [
            // What a provider tells has its effect within a second.
            RecurringWork(name: "provider events", pause: .milliseconds(500), logger: logger) {
                try await useCases.value.events.processPending() > 0
            },
            // Never at once: a pile of checks is asked about in rounds, a second apart.
            RecurringWork(name: "grant checks", pause: .seconds(1), logger: logger) {
                _ = try await useCases.value.grantChecks.checkDue()
                return false
            },
            // Whoever changes the trail after that is noticed.
            RecurringWork(name: "audit seals", pause: .milliseconds(500), logger: logger) {
                try await sealing.round()
            },
            RecurringWork(name: "sweeping", pause: .seconds(10), logger: logger) {
                try await useCases.value.revocations.report()
                try await mailing?.report()
                return try await sweeping.round()
            },
        ]
    }

    /// What nobody else can do for this process, as long as it answers: a leaked signing key is refused during a drain too.
    static func upkeep(
        _ stores: Stores, accessTokens: AccessTokens, journal: RefusalAggregator, clock: any WallClock, logger: Logger
    ) -> [RecurringWork] {
        [
            RecurringWork(name: "signing keys", pause: .seconds(1), logger: logger) {
                try await accessTokens.rereadKeys()
                return false
            },
            RecurringWork(name: "key ring line", pause: .seconds(30), logger: logger) {
                try await stores.keyRingLines.noteWriting(at: clock.now())
                return false
            },
            RecurringWork(
                name: "refusal journal", pause: .seconds(1), logger: logger,
                round: {
                    try await journal.flush()
                    return false
                },
                ending: { try await journal.flush() }),
        ]
    }
}
