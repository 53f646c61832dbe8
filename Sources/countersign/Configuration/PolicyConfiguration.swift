import Accounts

extension ProviderEventPolicy {
    init(from reader: inout ConfigurationReader) {
        self.init(
            consentRevoked: reader.value(Settings.Events.consentRevoked),
            accountDeleted: reader.value(Settings.Events.accountDeleted))
    }
}

/// The rate limits of guessing, registering and mailing, and the number of sessions.
struct LimitsConfiguration: Sendable {
    let byKind: [LimitKind: RateLimit]
    /// 0 is no limit.
    let sessionsPerAccount: Int

    init(from reader: inout ConfigurationReader) {
        var byKind: [LimitKind: RateLimit] = [:]
        for kind in LimitKind.allCases {
            byKind[kind] = reader.value(Settings.Limits.uses(kind))
        }
        self.byKind = byKind
        sessionsPerAccount = reader.value(Settings.Limits.sessionsPerAccount)
    }
}

/// The issuer, audience and lifetimes of our own tokens.
struct TokensConfiguration: Sendable {
    let issuer: String
    let audience: String
    /// Seconds.
    let accessLifetime: Int
    /// Seconds.
    let refreshLifetime: Int
    /// Seconds; `nil` when sessions have no absolute end.
    let sessionLifetime: Int?

    init(from reader: inout ConfigurationReader, server: ServerConfiguration) {
        issuer = reader.optional(Settings.Tokens.issuer) ?? server.publicURL
        audience = reader.optional(Settings.Tokens.audience) ?? server.publicURL
        accessLifetime = reader.value(Settings.Tokens.accessLifetime)
        refreshLifetime = reader.value(Settings.Tokens.refreshLifetime)
        sessionLifetime = reader.optional(Settings.Tokens.sessionLifetime)
    }
}

/// `log.format`.
enum LogFormat: String, CaseIterable, Sendable {
    case json
    case text
}

/// The part of `log.*` that needs a restart.
struct LogConfiguration: Sendable {
    let format: LogFormat
    /// Whether emails and full addresses may be logged.
    let personalData: Bool

    init(from reader: inout ConfigurationReader) {
        format = reader.value(Settings.Log.format)
        personalData = reader.value(Settings.Log.personalData)
    }
}
