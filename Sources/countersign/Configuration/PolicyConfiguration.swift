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
    let passwordPerAccount: RateLimit
    let guessPerNetwork: RateLimit
    let guessPerWideNetwork: RateLimit
    let guessPerService: RateLimit
    let junkCodesPerNetwork: RateLimit
    let refusedCodesPerIdentity: RateLimit
    let registrationPerNetwork: RateLimit
    let mailPerAddress: RateLimit
    let mailPerNetwork: RateLimit
    let exportPerAccount: RateLimit
    let renamePerAccount: RateLimit
    let webFlowsPerNetwork: RateLimit
    /// 0 is no limit.
    let sessionsPerAccount: Int

    init(from reader: inout ConfigurationReader) {
        passwordPerAccount = reader.value(Settings.Limits.passwordPerAccount)
        guessPerNetwork = reader.value(Settings.Limits.guessPerNetwork)
        guessPerWideNetwork = reader.value(Settings.Limits.guessPerWideNetwork)
        guessPerService = reader.value(Settings.Limits.guessPerService)
        junkCodesPerNetwork = reader.value(Settings.Limits.junkCodesPerNetwork)
        refusedCodesPerIdentity = reader.value(Settings.Limits.refusedCodesPerIdentity)
        registrationPerNetwork = reader.value(Settings.Limits.registrationPerNetwork)
        mailPerAddress = reader.value(Settings.Limits.mailPerAddress)
        mailPerNetwork = reader.value(Settings.Limits.mailPerNetwork)
        exportPerAccount = reader.value(Settings.Limits.exportPerAccount)
        renamePerAccount = reader.value(Settings.Limits.renamePerAccount)
        webFlowsPerNetwork = reader.value(Settings.Limits.webFlowsPerNetwork)
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
