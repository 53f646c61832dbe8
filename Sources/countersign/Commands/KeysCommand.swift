import Accounts
import ArgumentParser
import JSON
import KeyRing
import Postgres
import SignIn
import Storage

struct KeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys", abstract: "Looks after the keys that sign access tokens.",
        subcommands: [List.self, Rotate.self])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "Prints the keys, a JSON line each, the one that takes over last first.",
            discussion: """
                A key is "next" while it is only published, then "signing", then "verifying" until the last token that it \
                signed has expired.
                """)

        @OptionGroup var options: ConfigurationOptions

        func run() async throws {
            let keys = try await withDatabase(options) { try await SigningKeyStore(database: $0).keys() }
            for (key, state) in keys.states(at: SystemClock().now()) { printLine(KeysCommand.line(key, state)) }
        }
    }

    struct Rotate: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "rotate", abstract: "Makes the next key, and prints it as a JSON line.",
            discussion: """
                The running processes publish it within seconds, and all sign with it from the same moment on. The \
                previous key is removed when the last token that it signed has expired. While a next key is published \
                already, that one is printed and no other is made, unless the key ring doesn't open it: then the new one \
                takes its place, and no token is lost. A key ring that doesn't open the key that signs is refused.
                """)

        @OptionGroup var options: ConfigurationOptions
        @Option(
            help: "Seconds for which the key is published before it signs; verifiers may cache the key set for 300.")
        var lead = Int(SigningKeys.lead)
        @Option(help: "Do nothing while the present key is younger: 30d, 12h, 600s.", transform: CommandDuration.age)
        var ifOlderThan: Int64?
        @Flag(
            help: """
                For a key that may have leaked: the new one signs at once, and all others are removed at once, with \
                every token that they signed. Apps refresh theirs.
                """)
        var leaked = false

        func validate() throws {
            guard 0...86_400 ~= lead else { throw ValidationError("--lead is a number of seconds from 0 to 86400") }
            guard !leaked || ifOlderThan == nil else {
                throw ValidationError("--leaked and --if-older-than exclude each other")
            }
        }

        func run() async throws {
            let keyRing = try options.sources().load(KeyRing.init)
            let (key, state) = try await withDatabase(options) { database in
                let key = try await rotate(database, keyRing)
                let states = try await SigningKeyStore(database: database).keys().states(at: SystemClock().now())
                return (key, states.first { $0.key.keyID == key.keyID }?.state)
            }
            printLine(KeysCommand.line(key, state ?? .signing))
        }

        private func rotate(_ database: Database, _ keyRing: KeyRing) async throws -> StoredSigningKey {
            let keys = SigningKeys(
                store: SigningKeyStore(database: database), keyRing: keyRing, clock: SystemClock(),
                origin: .thisOperator)
            if leaked { return try await keys.replaceLeaked() }
            try await database.requireOurFirstLine(of: keyRing)
            switch try await keys.rotate(lead: Int64(lead), minimumAge: ifOlderThan ?? 0) {
            case .rotated(let key):
                return key
            case .replaced(let key, let unreadable, let fault):
                printNotice(
                    """
                    the next key was \(unreadable.keyID), which this key ring doesn't open: a new one has taken its \
                    place. \(fault)
                    """)
                return key
            case .unreadable(let key, let fault):
                throw CommandFailure(
                    """
                    The key ring doesn't open \(key.keyID), the key that signs, and no key was made. \(fault) If it \
                    is the ring of the service, `countersign keys rotate --leaked` replaces that key, and ends every \
                    access token.
                    """)
            case .underWay(let key):
                printNotice("a next key is published already")
                return key
            case .recent(let key):
                printNotice(
                    ifOlderThan == nil
                        ? "the present key is to sign from \(key.signsFrom.rfc3339) on, and no other is made before"
                        : "the present key is not that old")
                return key
            case .tooMany(let until):
                let next = until.map { "; the next one goes at \($0.rfc3339)" } ?? ""
                printNotice(
                    "there are \(SigningKeyStore.maximumKeys) keys already, whose tokens have not expired\(next)")
                throw ExitCode(1)
            }
        }
    }

    fileprivate static func line(_ key: StoredSigningKey, _ state: StoredSigningKey.State) -> String {
        JSONWriter.text { writer in
            writer.member("keyId", key.keyID)
            writer.member("state", state.rawValue)
            writer.member("createdAt", key.createdAt.rfc3339)
            writer.member("signsFrom", key.signsFrom.rfc3339)
            writer.member("signsUntil", key.signsUntil?.rfc3339)
            writer.member("keptUntil", key.keptUntil?.rfc3339)
        }
    }
}
