import Accounts
import ArgumentParser
import KeyRing
import Postgres
import Storage
import Webhooks

struct FeedCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "feed",
        abstract: "Prints what happened to accounts, the oldest first, one JSON line an event.",
        discussion: """
            The last line of standard error is the cursor at which --after goes on. With --follow it waits for more until \
            SIGINT or SIGTERM ends it, which is exit code 0.
            """)

    @OptionGroup var options: ConfigurationOptions
    @Option(help: "Where to go on: a cursor, the id of an event, or `now`; the oldest event that is kept if absent.")
    var after: String?
    @Option(help: "Types of events, between commas, or given again; all if absent.") var types: [String] = []
    @Option(help: "How many, at most; all if absent.") var limit: Int?
    @Flag(help: "Wait for what comes.") var follow = false

    func validate() throws {
        guard kinds != nil else {
            throw ValidationError(
                "--types takes these: \(AccountEvent.Kind.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        guard (limit ?? 1) > 0 else { throw ValidationError("--limit is a number from 1") }
    }

    /// `nil` when one is none.
    private var kinds: Set<AccountEvent.Kind>? {
        types.isEmpty ? [] : AccountEvent.Kind.list(types.joined(separator: ","))
    }

    func run() async throws {
        let keyRing = try options.sources().load(KeyRing.init(from:))
        try await withDatabase(options) { database in
            let following = FeedFollowing(
                feed: Feed(store: FeedStore(database: database), keyRing: keyRing, news: FeedNews()),
                query: Feed.Query(from: Feed.Start(after), types: kinds ?? []),
                limit: limit ?? .max, waits: follow)
            guard follow else { return try await following.run() }
            try await StopSignal.cancelling { try await following.run() }
        }
    }
}

/// The printing of what follows in the feed.
private struct FeedFollowing: Sendable {
    private static let page = 1000

    let feed: Feed
    let query: Feed.Query
    let limit: Int
    /// Whether it goes on when nothing follows, until its task is cancelled.
    let waits: Bool

    func run() async throws {
        var query = query
        var left = limit
        var output = StandardOutput()
        while left > 0, !Task.isCancelled {
            query.limit = min(Self.page, left)
            let answer: Feed.Answer
            do {
                answer = try await feed.read(query)
            } catch _ where Task.isCancelled {
                break
            } catch Feed.Refusal.unknownStart {
                throw CommandFailure("--after is no cursor of this service and no event of its feed.")
            } catch let error as PostgresError where waits && error.isTemporary {
                // A failover: it goes on where it was.
                try? await Task.sleep(for: .seconds(1))
                continue
            } catch Feed.Refusal.expired {
                throw CommandFailure("What follows --after is not kept any more: read from the oldest, or export.")
            }
            for event in answer.events { try output.append(event.body + [UInt8(ascii: "\n")]) }
            try output.flush()
            left -= answer.events.count
            query.start = .cursor(answer.next)
            guard waits || answer.hasMore else { break }
            // Not at first: who is stopped meanwhile gets a cursor.
            query.wait = answer.hasMore ? .zero : .seconds(60)
        }
        // Alone on its line, and before the connections are closed, which takes its time where the database is away.
        if case .cursor(let next) = query.start { StandardError.write(next + "\n") }
    }
}
