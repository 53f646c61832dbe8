import Accounts
import Webhooks

/// Where events are pushed to.
struct WebhooksConfiguration: Sendable {
    let endpoints: [WebhookEndpoint]
    let targets: WebhookTargets
    let schedule: WebhookSchedule

    /// Of one process.
    var pushed: WebhookConfiguration { WebhookConfiguration(endpoints: endpoints, schedule: schedule) }

    init(from reader: inout ConfigurationReader) {
        let networks = reader.value(Settings.Webhooks.allowedNetworks)
        let targets = WebhookTargets(allowing: networks) ?? .internet
        let steps = reader.optional(Settings.Webhooks.retrySeconds)?.compactMap { Int64($0) } ?? []
        schedule = steps.isEmpty ? .standard : WebhookSchedule(steps: steps)
        endpoints = reader.value(Settings.Webhooks.endpoints).compactMap { name in
            WebhookEndpoint(name, from: &reader, targets: targets)
        }
        self.targets = targets
    }
}

extension WebhookEndpoint {
    /// Nil after a fault.
    fileprivate init?(_ name: String, from reader: inout ConfigurationReader, targets: WebhookTargets) {
        let settings = Settings.Webhooks.Endpoint(name)
        let url = reader.value(settings.url)
        let types = reader.value(settings.types).compactMap(AccountEvent.Kind.init)
        if let address = WebAddress(url, schemes: ["http"]), targets.refusesHTTP(to: address.host) {
            reader.refuse(
                settings.url.name, "is http: to an address outside of webhooks.allowedNetworks: use https:, or list it")
        }
        guard let secrets = Self.secrets(reader.value(settings.secretPath), settings.secretPath, &reader) else {
            return nil
        }
        self.init(
            name: name, url: url, types: types.isEmpty ? Set(AccountEvent.Kind.allCases) : Set(types), secrets: secrets)
    }

    private static func secrets(
        _ path: String, _ setting: Setting<String>, _ reader: inout ConfigurationReader
    ) -> [WebhookSecret]? {
        guard let bytes = reader.secretFile(setting, path) else { return nil }
        do throws(WebhookSecret.Fault) {
            let secrets = try WebhookSecret.all(in: String(decoding: bytes, as: UTF8.self))
            if secrets.isEmpty { reader.refuse(setting, path, "names an empty file") }
            return secrets
        } catch {
            switch error {
            case .malformed:
                reader.refuse(
                    setting, path,
                    "names a file with a line that is no whsec_… and no whsk_… (a whpk_… is for the receivers)")
            case .tooShort: reader.refuse(setting, path, "names a file with a secret of less than 24 bytes")
            }
            return nil
        }
    }
}
