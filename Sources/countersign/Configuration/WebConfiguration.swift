import Accounts

/// The web sign-in: the apps that may begin one.
struct WebConfiguration: Sendable {
    let apps: [WebApp]
    /// The Android packages of the apps with a relay, by the names of the apps.
    let relayPackages: [String: String]

    /// Nil when no app is listed: people then sign in by the web for clients of the OAuth server alone, if at all.
    init?(from reader: inout ConfigurationReader) {
        let names = reader.value(Settings.Web.apps)
        var apps: [WebApp] = []
        var relayPackages: [String: String] = [:]
        for name in names {
            let settings = Settings.Web.App(name)
            relayPackages[name] = reader.optional(settings.appleRelayPackage)
            // An app with a relay alone begins no sign-in here.
            let uris =
                relayPackages[name] == nil
                ? reader.value(settings.redirectURIs) : reader.optional(settings.redirectURIs) ?? []
            apps.append(
                WebApp(
                    id: name, name: reader.optional(settings.name) ?? name,
                    redirectURIs: uris.compactMap(AppRedirectURI.init(registering:))))
        }
        guard !names.isEmpty else { return nil }
        self.apps = apps
        self.relayPackages = relayPackages
    }

    /// The addresses of the relays, which Apple has to know as Return URLs.
    func relayRedirectURIs(publicURL: String) -> [String] {
        apps.map(\.id).filter { relayPackages[$0] != nil }.map { publicURL + "/web/relay/apple/" + $0 }
    }
}
