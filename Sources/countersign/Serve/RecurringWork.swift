import Accounts
import HTTPServer
import Logging
import Postgres
import Primitives
import ServiceLifecycle
import SignIn
import Storage
import Webhooks

/// A background task that every process repeats while it answers requests.
struct RecurringWork: Service, CustomStringConvertible {
    let name: String
    /// The time between the end of a round that found nothing to do and the next one.
    let pause: Duration
    let logger: Logger
    /// The number of rounds that run at a time.
    var concurrency = 1
    /// One round. Returns whether there may be more to do at once, without a pause.
    var round: @Sendable () async throws -> Bool
    /// Whether it rests, since no write would succeed.
    var isResting: @Sendable () -> Bool = { false }
    /// The last step, after the shutdown has ended the rounds.
    var ending: @Sendable () async throws -> Void = {}

    /// Its name in the log.
    var description: String { "recurring work: \(name)" }

    /// Repeats rounds until the service shuts down. A round that has begun is finished; a failed one is repeated after
    /// a pause.
    func run() async throws {
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<concurrency { group.addTask { await rounds() } }
        }
    }

    private func rounds() async {
        var reports = FailureReports()
        while !Task.isShuttingDownGracefully, !Task.isCancelled {
            do {
                let hasMore = isResting() ? false : try await Database.inBackground { try await round() }
                reports.succeeded()
                if hasMore { continue }
            } catch {
                if reports.failed() { report(error) }
            }
            try? await cancelWhenGracefulShutdown { try await Task.sleep(for: pause) }
        }
        do { try await ending() } catch { report(error) }
    }

    private func report(_ error: any Error) {
        logger.warning("recurring work failed", metadata: ["work": "\(name)", "error": "\(String(reflecting: error))"])
    }
}

extension RecurringWork {
    /// The work that any process can do: it is claimed in the database, so that processes share it and take over what
    /// one of them left undone. A round lasts seconds, but for one that waits for a mail server's answer to a mail,
    /// `SMTPTransport.Configuration.answerTimeout`.
    static func shared(
        _ useCases: Reloadable<UseCases>, _ resources: ServiceResources, mailWorker: MailWorker?
    ) -> [RecurringWork] {
        let (database, clock, logger) = (resources.database, resources.clock, resources.logger)
        let lifetimes = SessionLifetimes(resources.configuration.tokens)
        let sealer = AuditSealer(seals: database.seals, clock: clock, logger: logger)
        let partitioner = AuditPartitioner(partitions: database.auditPartitions, clock: clock, logger: logger)
        let guesses = GuessGauges(store: database.emailCodes, clock: clock)
        let limiter = SessionLimiter(store: database.sessions, clock: clock)
        let sweeper = RetentionSweeper(database: database, lifetimes: lifetimes, clock: clock, logger: logger)
        // A revocation is first tried within a second of the commit that put it into the outbox.
        let revoking = Provider.allCases.map { provider in
            RecurringWork(name: "\(provider.rawValue) revocations", pause: .milliseconds(500), logger: logger) {
                try await useCases.value.revocations.attemptDue(at: provider) > 0
            }
        }
        // A round sends one mail, so that a slow answer of the mail server delays one of the concurrent rounds only.
        let sending = mailWorker.map { mailWorker in
            RecurringWork(
                name: "mail", pause: .milliseconds(500), logger: logger, concurrency: MailWorker.concurrency
            ) {
                try await mailWorker.sendNext()
            }
        }
        let feed = FeedKeeper(database: database, logger: logger)
        let claiming =
            revoking + [sending].compactMap(\.self) + [
                // A provider's event takes effect within a second.
                RecurringWork(name: "provider events", pause: .milliseconds(500), logger: logger) {
                    try await useCases.value.events.processPending() > 0
                },
                // A backlog of checks goes to the provider in rounds, a second apart.
                pausing(name: "grant checks", pause: .seconds(1), logger: logger) {
                    _ = try await useCases.value.grantChecks.checkDue()
                },
                // An account has as many sessions as it may have within a minute.
                RecurringWork(name: "session limit", pause: .seconds(SessionLimiter.pauseSeconds), logger: logger) {
                    try await limiter.round(limit: useCases.value.configuration.limits.sessionsPerAccount)
                },
                RecurringWork(name: "retention", pause: .seconds(10), logger: logger) { try await sweeper.round() },
            ]
        // Queues grow just when writes are held.
        let reporting = pausing(name: "gauges", pause: .seconds(10), logger: logger) {
            try await useCases.value.revocations.report()
            try await mailWorker?.report()
            try await useCases.value.events.report()
            try await guesses.report()
        }
        let sealing = [
            // A later change to the trail is detected.
            RecurringWork(name: "audit seals", pause: .milliseconds(500), logger: logger) {
                try await sealer.round()
            },
            // There are days of time.
            pausing(name: "feed days", pause: .seconds(600), logger: logger) {
                try await feed.round(keeping: useCases.value.configuration.feedDays)
            },
            // There are months of time; what fails is tried again within the hour.
            pausing(name: "audit partitions", pause: .seconds(3600), logger: logger) {
                try await partitioner.round()
            },
        ]
        return (claiming.map(\.planningEachTime) + sealing).map { $0.resting(with: database.pool) }
            + [reporting.planningEachTime]
    }

    /// Work whose rounds are always apart, whatever is left to do.
    private static func pausing(
        name: String, pause: Duration, logger: Logger, _ round: @escaping @Sendable () async throws -> Void,
        ending: @escaping @Sendable () async throws -> Void = {}
    ) -> RecurringWork {
        RecurringWork(
            name: name, pause: pause, logger: logger,
            round: {
                try await round()
                return false
            }, ending: ending)
    }

    /// The same work, which rests while writes are held: it would fail as often as it is tried.
    private func resting(with database: Database) -> RecurringWork {
        var resting = self
        resting.isResting = { database.holdsWrites }
        return resting
    }

    /// The same work, with its statements planned for their values. They take batches of the rows that are due: without
    /// the limit's value the server expects a tenth of the table, and may read the whole of it.
    private var planningEachTime: RecurringWork {
        var planning = self
        planning.round = { try await Database.planningEachTime { try await round() } }
        return planning
    }

    /// The work that each process has to do for its own answers, as long as it answers: a leaked signing key is refused
    /// during a drain too.
    static func upkeep(
        _ resources: ServiceResources, feedNews: FeedNews, waitingCommits: WaitingCommits
    ) -> [RecurringWork] {
        let (database, clock, logger) = (resources.database, resources.clock, resources.logger)
        let stamper = FeedStamper(store: database.feed, written: database.pool.written, news: feedNews, clock: clock)
        return [
            // It waits by itself.
            RecurringWork(
                name: "feed", pause: FeedStamper.pause, logger: logger,
                round: {
                    try await stamper.round()
                    return true
                }
            ).resting(with: database.pool),
            pausing(name: "feed gauges", pause: .seconds(5), logger: logger) {
                try await stamper.report()
            },
            pausing(name: "signing keys", pause: .seconds(1), logger: logger) {
                try await resources.signIn.accessTokens.rereadKeys()
            },
            pausing(name: "key ring line", pause: .seconds(30), logger: logger) {
                try await database.keyRingLines.noteWriting(by: clock.call(by: .service))
            }.resting(with: database.pool),
            pausing(name: "refusals", pause: .seconds(1), logger: logger) {
                try await resources.signIn.refusals.flush()
            } ending: {
                try await resources.signIn.refusals.flush()
            }.resting(with: database.pool),
            pausing(name: "stray grants", pause: .seconds(1), logger: logger) {
                await resources.signIn.strayGrants.endDue()
            } ending: {
                await resources.signIn.strayGrants.endAll()
            }.resting(with: database.pool),
            // Whether the database answers is readiness' to say, and the pool's.
            pausing(name: "waiting commits", pause: WaitingCommits.pause, logger: logger) {
                await waitingCommits.look()
            },
        ]
    }
}
