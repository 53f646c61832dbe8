package import Accounts
package import SignIn

/// What the console shows of the process that it is in.
package struct ConsoleEnvironment: Sendable {
    /// A provider's key set in this process.
    package struct KeySet: Sendable {
        package let provider: Provider
        package let keyCount: Int
        /// Seconds since the last successful fetch; nil before the first.
        package let age: Int64?

        package init(provider: Provider, keyCount: Int, age: Int64?) {
            self.provider = provider
            self.keyCount = keyCount
            self.age = age
        }
    }

    /// The schema as the migrations of this program see it.
    package struct Schema: Sendable {
        /// The latest migration that is applied.
        package let latest: String?
        /// Why it can't be served, or isn't the one of this program; empty when it is current.
        package let faults: [String]

        package init(latest: String?, faults: [String]) {
            self.latest = latest
            self.faults = faults
        }
    }

    package let version: String
    /// 40 hexadecimal digits, or `unknown`.
    package let commit: String
    package let isReady: @Sendable () async -> Bool
    package let schema: @Sendable () async -> Schema
    package let keySets: @Sendable () -> [KeySet]
    /// Whether access tokens are signed.
    package let canSign: @Sendable () -> Bool
    package let history: OutcomeHistory
    package let startedAt: Timestamp
    /// The keys of the configuration, as they were read at the start. Secrets are redacted.
    package let settings: [(name: String, value: String)]

    package init(
        version: String, commit: String, startedAt: Timestamp, history: OutcomeHistory,
        isReady: @escaping @Sendable () async -> Bool,
        schema: @escaping @Sendable () async -> Schema, keySets: @escaping @Sendable () -> [KeySet],
        canSign: @escaping @Sendable () -> Bool, settings: [(name: String, value: String)]
    ) {
        self.startedAt = startedAt
        self.history = history
        self.version = version
        self.commit = commit
        self.isReady = isReady
        self.schema = schema
        self.keySets = keySets
        self.canSign = canSign
        self.settings = settings
    }
}
