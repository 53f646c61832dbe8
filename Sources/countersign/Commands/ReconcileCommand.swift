import Accounts
import ArgumentParser
import Foundation
import Postgres
import Storage
import Webhooks

struct ReconcileCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reconcile",
        abstract: "Ends again what had ended before the database was restored to an earlier time.",
        discussion: """
            Run it after a restore, before the service starts. --feed has what a follower of the feed has kept elsewhere, a \
            JSON line an event, as `countersign feed --follow` prints them. Without it all sessions and all links of \
            clients can be ended instead. It can be interrupted and repeated. docs/operations/restore.md describes it.
            """)

    @OptionGroup var options: ConfigurationOptions
    @Option(help: "What the database was restored to, as 2026-01-31T12:00:00Z.", transform: AuditCommand.timestamp)
    var since: Timestamp
    @Option(help: ArgumentHelp("The events, in any order; - reads standard input.", valueName: "file"))
    var feed: String?
    @Flag(help: "End all sessions, and unlink all clients of the OAuth server.") var endAllSessions = false

    func validate() throws {
        guard feed != nil || endAllSessions else {
            throw ValidationError("--feed says what had ended; without one, --end-all-sessions ends all that may have")
        }
        guard since <= SystemClock().now() else { throw ValidationError("--since is a time in the past") }
    }

    func run() async throws {
        let sendsMail = try options.sources().load(NoticeLanguage.init).tag != nil
        try await withDatabase(options, statementTimeout: .seconds(60)) { database in
            var reconciliation = Reconciliation(
                store: RestoreStore(database: database, sendsMail: sendsMail), since: since, origin: .thisOperator)
            // All of it is read before anything is done.
            if let feed { try await read(feed) { reconciliation.add($0) } }
            var sum = ReconciledParts()
            if feed != nil { sum += try await reconciliation.run(by: SystemClock()) }
            if endAllSessions { sum += try await reconciliation.endAllSessions(by: SystemClock()) }
            for line in sum.lines { printLine(line) }
            for line in unknowable(sum, reconciliation.last) { printLine(line) }
            for line in try await checks(database) { printLine(line) }
        }
    }

    private func read(_ path: String, _ take: (PastEvent) -> Void) async throws {
        var lines = LineSplitter(maximumBytes: PastEvent.longestLine)
        var number = 0
        func add(_ line: [UInt8]) throws {
            number += 1
            let line = number == 1 ? withoutMark(line) : line
            guard !line.allSatisfy({ $0 == 0x20 || $0 == 0x0D }) else { return }
            guard let event = PastEvent(line: line) else {
                throw UsageFault(sentence: "line \(number) of --feed is no event of the feed; nothing was ended")
            }
            take(event)
        }
        if path == "-" {
            while let chunk = try await StandardInput().nextChunk() {
                for line in lines.append(chunk) { try add(line) }
            }
        } else {
            let unreadable = UsageFault(sentence: "--feed can't be read: \(path)")
            guard let file = FileHandle(forReadingAtPath: path) else { throw unreadable }
            defer { try? file.close() }
            while true {
                // A directory opens, too.
                guard let chunk = try? file.read(upToCount: 1 << 18) ?? Data() else { throw unreadable }
                if chunk.isEmpty { break }
                for line in lines.append([UInt8](chunk)) { try add(line) }
            }
        }
        // A follower that was killed has left half a line.
        for line in lines.finish() {
            if let event = PastEvent(line: number == 0 ? withoutMark(line) : line) {
                take(event)
            } else {
                printNotice("the last line of --feed is unfinished, and left out")
            }
        }
    }

    /// Without the byte order mark that some editors write before UTF-8.
    private func withoutMark(_ line: [UInt8]) -> [UInt8] {
        Array(line.starts(with: [0xEF, 0xBB, 0xBF]) ? line.dropFirst(3) : line[...])
    }

    /// What the feed does not show.
    private func unknowable(_ sum: ReconciledParts, _ last: Timestamp?) -> [String] {
        var lines = ["unknown: what providers have reported since \(since.rfc3339): their events are not sent again"]
        if feed == nil {
            lines.append("unknown: accounts, identities and clients that had ended since \(since.rfc3339)")
        } else {
            lines.append("unknown: what happened after the last event, \((last ?? since).rfc3339)")
        }
        if sum.eventsMissing > 0 {
            lines.append("unknown: \(sum.eventsMissing) events whose numbers are missing in the feed")
        }
        if sum.eventsTooOld > 0 {
            let what = "events from before --since that the database lacks: give an earlier --since"
            lines.append("unknown: \(sum.eventsTooOld) \(what)")
        }
        if sum.accountsLost > 0 {
            lines.append("lost: \(sum.accountsLost) accounts that were made after \(since.rfc3339)")
        }
        let outdated = sum.accountsOutdated.map(\.description).sorted()
        if !outdated.isEmpty {
            lines.append("older: \(outdated.count) accounts have an address, password or link of before a change")
            lines += outdated.prefix(Self.namedAccounts).map { "older: \($0)" }
            let unnamed = outdated.count - Self.namedAccounts
            if unnamed > 0 { lines.append("older: and \(unnamed) more") }
        }
        return lines
    }

    /// What is good now of that which staff may have ended since: the feed is about accounts alone.
    private func checks(_ database: Database) async throws -> [String] {
        var lines = ["check: what staff had ended since \(since.rfc3339) is good again, if it is among these"]
        for key in try await AdminKeyStore(database: database).list() where key.revokedAt == nil {
            let scopes = key.scopes.map(\.rawValue).sorted().joined(separator: ",")
            lines.append("check: admin key \(key.id) \(key.name), \(scopes), made \(key.createdAt.rfc3339)")
        }
        let clients = OAuthClientStore(database: database)
        try await eachItem {
            try await clients.list(after: $0, limit: $1)
        } do: { client in
            guard client.status == .active else { return }
            lines.append("check: OAuth client \(client.id.text) \(client.name), made \(client.createdAt.rfc3339)")
        }
        let keys = try await SigningKeyStore(database: database).keys()
        for (key, state) in keys.states(at: SystemClock().now()) {
            lines.append("check: signing key \(key.keyID), \(state.rawValue), made \(key.createdAt.rfc3339)")
        }
        return lines
    }

    /// The accounts that are printed by their ids.
    private static let namedAccounts = 100
}

extension ReconciledParts {
    fileprivate var lines: [String] {
        let ended = [
            (accountsDeleted, "accounts deleted"), (accountsDisabled, "accounts disabled"),
            (identities, "identities unlinked"), (authorizations, "authorizations to be revoked"),
            (clients, "clients unlinked"), (sessions, "sessions"),
        ]
        let further = [
            (passwords, "passwords: their owners set another one"), (consoleSessions, "sessions of the console"),
            (emailReplacements, "replacements of an address: request them again"),
        ].filter { $0.0 > 0 }
        return (ended + further).map { "ended: \($0.0) \($0.1)" }
    }
}
