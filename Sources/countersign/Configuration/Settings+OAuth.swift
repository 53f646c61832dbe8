import Accounts

/// The keys of the OAuth server, and of App Flip.
extension Settings {
    enum OAuth {
        static let isEnabled = Setting(
            "oauth.enabled", .boolean, default: "false",
            "Whether clients such as Google can [link accounts](account-linking.md). Off, its paths are not there")
        static let scopes = Setting(
            "oauth.scopes", .list(of: "scopes", minimum: 1, where: { OAuthScope($0) != nil }), default: "profile,email",
            reloads: true, "What can be granted to clients")
        static let scopeTextsPath = Setting(
            "oauth.scopeTextsPath", .filePath, reloads: true,
            """
            A YAML file with the sentences of the consent: each scope's, by language, at least `en`. `profile` and `email` \
            have built-in ones
            """)
        static let accessLifetime = Setting(
            "oauth.accessLifetime", .integer(1...86_400, unit: "seconds"), default: "3600", reloads: true,
            "How long a client's access token lives")
        static let codeLifetime = Setting(
            "oauth.codeLifetime", .integer(1...600, unit: "seconds"), default: "600", reloads: true,
            "How long a client's code lives")
    }

    enum AppFlip {
        static let path = Setting(
            "appFlip.path", .path, default: "/app-flip",
            """
            The path of the links by which Google's app opens yours. A browser gets a plain page there, if \
            `appFlip.appleAppIds` or `appFlip.androidApps` lists an app; else the path is not there
            """)
        static let appleAppIDs = Setting(
            "appFlip.appleAppIds", .list(of: "TEAM.bundle ids", where: OAuthConfiguration.isAppleAppID), default: "",
            "The iOS apps of `apple-app-site-association`: the team ID, a dot, the bundle ID")
        static let androidApps = Setting(
            "appFlip.androidApps",
            .list(
                of: "PACKAGE=SHA-256 fingerprints of a certificate", where: { OAuthConfiguration.androidApp($0) != nil }
            ),
            default: "", "The Android apps of `assetlinks.json`, with the certificate that signs them")
        static let maxAuthAge = Setting(
            "appFlip.maxAuthAge", .integer(1...31_536_000, unit: "seconds"), reloads: true,
            "How long ago the person of an App Flip may have signed in. Unset: however long")
    }

    static let oauthRows: [any SettingRow] = [
        OAuth.isEnabled, OAuth.scopes, OAuth.scopeTextsPath, OAuth.accessLifetime, OAuth.codeLifetime, AppFlip.path,
        AppFlip.appleAppIDs, AppFlip.androidApps, AppFlip.maxAuthAge,
    ]
}

extension ValueForm<String> {
    fileprivate static var path: ValueForm {
        .string("a path such as /app-flip") { text in
            guard text.wholeMatch(of: /(?:\/[A-Za-z0-9._~-]+)+/) != nil else { return false }
            let reserved = ["/v1", "/oauth", "/web", "/.well-known"]
            return !reserved.contains { text == $0 || text.hasPrefix($0 + "/") }
        }
    }
}
