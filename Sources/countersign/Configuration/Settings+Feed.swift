import Accounts
import Webhooks

/// The keys of the feed, and of what is pushed from it.
extension Settings {
    enum Feed {
        static let keepDays = Setting(
            "feed.keepDays", .integer(1...3650, unit: "days"), default: "30", reloads: true,
            "How long events stay in the [feed](feed.md)")

        static let rows: [any SettingRow] = [keepDays]
    }

    enum Webhooks {
        static let endpoints = Setting(
            "webhooks.endpoints", .list(of: "names in lower case", where: \.isKeyPart), default: "",
            reloads: true,
            "Where events are [pushed](webhooks.md); each name has keys `webhooks.endpoint.NAME`")
        static let allowedNetworks = Setting(
            "webhooks.allowedNetworks",
            .list(of: "IP addresses or networks such as 10.0.0.0/8", where: { WebhookTargets(allowing: [$0]) != nil }),
            default: "",
            """
            Networks that webhooks may go to although they are not on the internet, and by `http:` too. The addresses \
            where clouds hand out credentials are refused in any case
            """)
        static let retrySeconds = Setting(
            "webhooks.retrySeconds",
            .list(
                of: "seconds from 1 to 604800", mayRepeat: true, where: { Int64($0).map { 1...604_800 ~= $0 } ?? false }
            ),
            fallbackDescription: "5, 300, 1800, 7200, 18000, 36000, 50400, 72000, 86400", reloads: true,
            "After which times a failed event is tried again; behind the last one it is given up")

        /// The keys of one endpoint.
        struct Endpoint {
            let url: Setting<String>
            let secretPath: Setting<String>
            let types: Setting<[String]>

            init(_ name: String) {
                url = Setting(
                    "webhooks.endpoint.\(name).url", .webhookURL, fallbackDescription: "required", secret: true,
                    reloads: true, "Where its events are posted to; `http:` within `webhooks.allowedNetworks` alone")
                secretPath = Setting(
                    "webhooks.endpoint.\(name).secretPath", .secretPath, fallbackDescription: "required", reloads: true,
                    """
                    A file with its secrets, mode 0600: `whsec_…` or `whsk_…`, one a line, as `countersign webhooks \
                    secret` prints them. Each signs, so that one can take the place of another
                    """)
                types = Setting(
                    "webhooks.endpoint.\(name).types",
                    .list(of: "types of events", where: { AccountEvent.Kind(rawValue: $0) != nil }), default: "",
                    reloads: true, "Which events it gets; all if empty")
            }

            var rows: [any SettingRow] { [url, secretPath, types] }
        }

        static func rows(endpoints names: [String]) -> [any SettingRow] {
            [endpoints, allowedNetworks, retrySeconds]
                + names.filter(\.isKeyPart).flatMap { Endpoint($0).rows }
        }
    }
}

extension ValueForm<String> {
    /// A query may be a secret.
    fileprivate static var webhookURL: ValueForm {
        var form = url(schemes: ["https", "http"])
        form.holdsSecret = { $0.text?.contains("?") ?? true }
        return form
    }
}
