import Accounts
import Logging

/// The part of the configuration that a running service reloads on SIGHUP: the keys whose `Setting` reloads. It also
/// has the providers' other keys, which keep their values from the start.
struct ReloadableConfiguration: Sendable {
    let apple: AppleConfiguration?
    let google: GoogleConfiguration?
    let console: ConsoleConfiguration
    let web: WebConfiguration?
    let oauth: OAuthConfiguration?
    let noncePolicy: NoncePolicy
    let verifiedEmail: VerifiedEmailPolicy
    let strayAccount: StrayAccountPolicy
    let events: ProviderEventPolicy
    let limits: LimitsConfiguration
    /// How long events stay in the feed.
    let feedDays: Int
    let webhooks: WebhooksConfiguration
    let logLevel: Logger.Level

    init(from reader: inout ConfigurationReader) {
        apple = AppleConfiguration(from: &reader)
        google = GoogleConfiguration(from: &reader)
        console = ConsoleConfiguration(from: &reader, beside: google)
        web = WebConfiguration(from: &reader)
        oauth = OAuthConfiguration(from: &reader)
        noncePolicy = reader.value(Settings.noncePolicy)
        verifiedEmail = reader.value(Settings.verifiedEmail)
        strayAccount = reader.value(Settings.strayAccount)
        events = ProviderEventPolicy(from: &reader)
        limits = LimitsConfiguration(from: &reader)
        webhooks = WebhooksConfiguration(from: &reader)
        feedDays = reader.value(Settings.Feed.keepDays)
        logLevel = reader.value(Settings.Log.level)
        if apple == nil, google == nil {
            reader.refuse(Settings.Apple.Team("main").clientIDs.name, "is required unless google.clientIds is set")
        }
    }

    /// Where a provider's keys are; nil where neither people nor the console's staff sign in with it.
    func keysURL(of provider: Provider) -> String? {
        switch provider {
        case .apple: apple?.keysURL
        case .google: google?.keysURL ?? console.google.map { _ in console.keysURL }
        }
    }
}
