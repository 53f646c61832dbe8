import Accounts
import ArgumentParser
import KeyRing
import Postgres
import Storage
import Synchronization

struct KeyRingCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keyring", abstract: "Looks after the key ring.", subcommands: [Rewrap.self])

    struct Rewrap: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "rewrap",
            abstract: "Reseals, under the first line of the key ring, what is sealed under another one.",
            discussion: """
                Every running process has to have the first line in its ring. It goes on beside them, and an interrupted \
                run is simply repeated. Progress goes to standard error; at the end it says what still needs the other \
                lines. Exit 0: the first line opens everything. A first line that opens nothing of what is sealed under \
                its id is refused, and nothing is resealed.
                """)

        @OptionGroup var options: ConfigurationOptions

        func run() async throws {
            let sources = try options.sources()
            let keyRing = try sources.load(KeyRing.init)
            let feedDays: Int = try sources.load { $0.value(Settings.Feed.keepDays) }
            // Counting looks at every row.
            let (results, uses) = try await withDatabase(options, statementTimeout: nil) { database in
                try await database.requireOurFirstLine(of: keyRing)
                let nextNotice = Mutex(ContinuousClock.now)
                let results = try await KeyRingRewrap(database: database, keyRing: keyRing).run { progress in
                    let isDue = nextNotice.withLock { nextNotice in
                        guard ContinuousClock.now >= nextNotice else { return false }
                        nextNotice = .now + .seconds(1)
                        return true
                    }
                    if isDue {
                        printNotice("\(progress.kind.rawValue): \(progress.done) of \(progress.total) resealed")
                    }
                }
                return (
                    results,
                    try await KeyRingLines(database: database, keyRing: keyRing).otherUses(
                        by: SystemClock().call(by: .commandLine))
                )
            }
            for result in results { printLine(result.line) }
            for use in uses { printLine(use.lines(keepingEvents: feedDays).joined(separator: "\n")) }
            if results.contains(where: { $0.left > 0 }) { throw ExitCode(1) }
        }
    }
}

extension Database {
    /// Throws when the first line of the ring is another one than that of its id which the processes have: they could
    /// open nothing that it seals.
    func requireOurFirstLine(of keyRing: KeyRing) async throws {
        guard try await DatabaseInspection(database: self).isFirstLineForeign(in: keyRing) else { return }
        throw CommandFailure(
            """
            The first line of the key ring, \(keyRing.current(for: .grants).keyID), opens nothing that is sealed under \
            that id, so it is not the line that the service has: nothing was changed. Put that one in its place.
            """)
    }
}

extension KeyRingRewrap.Progress {
    fileprivate var line: String {
        let line = "\(kind.rawValue): \(done) resealed, \(left) under other lines"
        guard let row, let reason else { return line }
        return "\(line); \(unreadable) can't be opened: \(reason) The first is \(row)."
    }
}

extension KeyRingLines.Use {
    /// - Parameter days: for how many the feed keeps them.
    fileprivate func lines(keepingEvents days: Int) -> [String] {
        var lines: [String] = []
        if let writtenAt, let codesUntil, let consoleSessionsUntil,
            let cursorsUntil = cursorsUntil(keepingDays: days)
        {
            lines.append("line \(keyID): was the first one until \(writtenAt.rfc3339), and is needed for")
            if let sessionsUntil {
                lines.append("  the refresh tokens of \(sessions) sessions, until \(sessionsUntil.rfc3339)")
            }
            lines.append("  nonces and mailed codes, until \(codesUntil.rfc3339)")
            lines.append("  sessions at the console, until \(consoleSessionsUntil.rfc3339)")
            lines.append("  cursors of the feed, until \(cursorsUntil.rfc3339)")
            if let guessesUntil {
                lines.append(
                    """
                      the wrong tries at mailed codes of \(guessedAddresses) addresses, until \(guessesUntil.rfc3339). Dropped \
                    sooner, the line gives each of them its allowance of wrong tries again
                    """)
            }
        } else if seals > 0 {
            lines.append(
                """
                line \(keyID): wrote until before this was noted: keep it for tokens.refreshLifetime, or feed.keepDays if that \
                is longer, and for
                """)
        } else {
            lines.append("line \(keyID): was never the first one")
        }
        if seals > 0 { lines.append("  \(seals) seals of the audit trail, for as long as they are to be verified") }
        return lines
    }
}
