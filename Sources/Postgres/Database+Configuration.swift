import CPostgres
import Primitives

extension Database {
    /// The version of the libpq that is loaded, `15.18`.
    package static var libraryVersion: String {
        let number = PQlibVersion()
        return "\(number / 10_000).\(number % 10_000)"
    }

    package struct Configuration: Sendable {
        /// A libpq URI or connection string, several hosts included.
        package var url: String
        package var poolSize: Int
        /// How long a statement or a transaction may wait for a connection.
        package var acquireTimeout: Duration
        /// The limit of one attempt to connect, for all hosts of the URL together.
        package var connectTimeout: Duration
        /// Time limits that the server enforces; nil leaves them to the server's and the role's own settings. They
        /// travel in the start-up packet's `options`, which PgBouncer refuses unless it is configured to ignore them
        /// (`ignore_startup_parameters`). None of them is in force during a commit.
        package var statementTimeout: Duration?
        package var lockTimeout: Duration?
        package var idleInTransactionTimeout: Duration?
        /// How long a COMMIT is waited for: it may wait for a standby without end. The transaction that it belongs to
        /// then has an unknown outcome; the COMMIT itself goes on. A lone statement has its commit within its own limit,
        /// unless writes are held (``Database/holdsWrites``).
        package var commitTimeout: Duration
        /// How long a task waits for a statement; nil for as long as the server lets it run. A lone one is timed from
        /// asking for a connection to the answer; it goes on, and its outcome is unknown. One in a transaction is timed
        /// by itself, behind the wait for the transaction's connection and for the statements before it; the connection
        /// is closed, which rolls it back. No COMMIT is meant (``commitTimeout``), and nothing within
        /// ``Database/inBackground(_:)``.
        package var answerTimeout: Duration?
        /// Whether statements are prepared. False behind a pooler in transaction mode: the server then parses every
        /// statement again and keeps nothing of it.
        package var preparedStatements: Bool
        package var applicationName: String
        /// The number of statements that may be in flight on one connection. More wait in the queue, where any
        /// connection can take them.
        package var pipelineDepth: Int
        /// The number of requests that may wait; the next one is refused.
        package var maximumWaiting: Int

        package init(
            url: String, poolSize: Int = 8, acquireTimeout: Duration = .seconds(2),
            connectTimeout: Duration = .seconds(3), statementTimeout: Duration? = .seconds(10),
            lockTimeout: Duration? = .seconds(5), idleInTransactionTimeout: Duration? = .seconds(10),
            commitTimeout: Duration = .seconds(2), answerTimeout: Duration? = nil, preparedStatements: Bool = true,
            applicationName: String = "countersign", pipelineDepth: Int = 8, maximumWaiting: Int = 10_000
        ) {
            self.url = url
            self.poolSize = poolSize
            self.acquireTimeout = acquireTimeout
            self.connectTimeout = connectTimeout
            self.statementTimeout = statementTimeout
            self.lockTimeout = lockTimeout
            self.idleInTransactionTimeout = idleInTransactionTimeout
            self.commitTimeout = commitTimeout
            self.answerTimeout = answerTimeout
            self.preparedStatements = preparedStatements
            self.applicationName = applicationName
            self.pipelineDepth = pipelineDepth
            self.maximumWaiting = maximumWaiting
        }

        /// How long the server may owe an answer and send nothing: 2 s longer than it lets a statement run, by the
        /// URL's own options where they set that limit. nil when statements may run without limit. For a lone statement
        /// this includes its commit, since the server sends nothing between the two.
        var silenceLimit: Duration? {
            let options = ConnectionParameters.parse(url)?["options"].map(ServerOptions.init)
            let limit: Duration? =
                switch options?["statement_timeout"] {
                case nil: statementTimeout
                case let given?: ServerOptions.duration(given)
                }
            return limit.map { $0 + .seconds(2) }
        }

        /// The files that the connection string names, by parameter; not those that libpq looks for by itself.
        package static func files(of url: String) -> [(keyword: String, path: String)] {
            guard let given = ConnectionParameters.parse(url) else { return [] }
            return ConnectionParameters.fileKeywords.compactMap { keyword in
                guard let path = given[keyword], ConnectionParameters.isFile(path, of: keyword) else { return nil }
                return (keyword: keyword, path: path)
            }
        }

        /// The connection string with the files that it names relatively counted from a folder. libpq counts them from
        /// the working directory. A string that libpq can't read is left as it is.
        package static func locatingFiles(of url: String, in folder: String) -> String {
            files(of: url).filter { !$0.path.hasPrefix("/") }.reduce(url) { url, file in
                ConnectionParameters.appending(file.keyword, "\(folder)/\(file.path)", to: url)
            }
        }

        /// Whether libpq can read the URL, and knows the `sslmode` in it; says nothing about the server behind it.
        package static func isReadable(url: String) -> Bool { fault(of: url) == nil }

        /// What is wrong with a URL.
        package enum Fault: Equatable, Sendable {
            /// libpq knows no parameter of this name, which is not to be shown: it may be the rest of a password with a
            /// `?` in it that should have been encoded.
            case unknownParameter(String)
            case unknownMode
            /// A URI has a control character in it, as the line break at the end of a file. libpq takes it for a part of
            /// the host or the database.
            case controlCharacter
            /// libpq can't read it, or would take a part of the password for something else.
            case unreadable
        }

        package static let modes = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"]

        package static func fault(of url: String) -> Fault? {
            if ConnectionParameters.scheme(of: url) != nil, url.utf8.contains(where: \.isASCIIControl) {
                return .controlCharacter
            }
            guard let given = ConnectionParameters.parse(url) else {
                return ConnectionParameters.unknownKeyword(in: url).map(Fault.unknownParameter) ?? Fault.unreadable
            }
            guard !ConnectionParameters.misplacesPassword(in: url, read: given) else { return .unreadable }
            guard let mode = given["sslmode"] else { return nil }
            return modes.contains(mode) ? nil : .unknownMode
        }

        /// The names of the parameters that libpq knows.
        package static var parameters: Set<String> { ConnectionParameters.keywords }

        /// Whether the URL has a password in it. One that can't be read is taken for one that has.
        package static func hasPassword(url: String) -> Bool {
            guard let given = ConnectionParameters.parse(url) else { return true }
            return given["password"] != nil || ConnectionParameters.misplacesPassword(in: url, read: given)
        }
    }

    package struct Statistics: Sendable, Equatable {
        /// Connections with nothing to do.
        package let idle: Int
        /// Connections with statements in flight, or leased.
        package let busy: Int
        /// Requests that no connection has taken yet.
        package let waiting: Int
        /// Whether the last attempt to connect failed, and no connection is left that has served.
        package let isDown: Bool

        package init(idle: Int = 0, busy: Int = 0, waiting: Int = 0, isDown: Bool = false) {
            self.idle = idle
            self.busy = busy
            self.waiting = waiting
            self.isDown = isDown
        }
    }
}

package enum IsolationLevel: String, Sendable {
    case readCommitted = "READ COMMITTED"
    case repeatableRead = "REPEATABLE READ"
    case serializable = "SERIALIZABLE"

    var beginStatement: String { "BEGIN ISOLATION LEVEL \(rawValue)" }
}
