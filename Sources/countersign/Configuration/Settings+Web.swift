import Accounts

/// The keys of the web sign-in and of its pages.
extension Settings {
    enum Web {
        static let apps = Setting(
            "web.apps", .list(of: "app names in lower case", where: \.isKeyPart), default: "",
            reloads: true,
            """
            The apps that sign people in by the browser, by the names that they send as `app`; each has the keys \
            `web.app.NAME`. Empty: the web sign-in is on only where `oauth.enabled` is
            """)
        static let requiresGoogleIssuer = Setting(
            "web.google.requireIss", .boolean, default: "false", reloads: true,
            """
            Whether Google's answer must name its issuer (`iss`, RFC 9207). One that names another is refused in any case
            """)

        /// The keys of one app.
        struct App {
            let redirectURIs: Setting<[String]>
            let name: Setting<String>
            let appleRelayPackage: Setting<String>

            init(_ name: String) {
                redirectURIs = Setting(
                    "web.app.\(name).redirectUris", .appRedirectURIs, reloads: true,
                    """
                    Where the app gets its codes: compared byte for byte, but for the port of a loopback address. Links \
                    that the app alone can claim (https) are the safe ones
                    """)
                self.name = Setting(
                    "web.app.\(name).name", .text, fallbackDescription: "NAME", reloads: true,
                    "What the pages call the app")
                appleRelayPackage = Setting(
                    "web.app.\(name).appleRelayPackage", .androidPackage, reloads: true,
                    """
                    The Android package to which `POST /web/relay/apple/NAME` hands what Apple posts, for Flutter's \
                    `sign_in_with_apple`. A sign-in with a code of that address needs its raw `nonce`
                    """)
            }

            var rows: [any SettingRow] { [redirectURIs, name, appleRelayPackage] }
        }

        static func rows(apps: [String]) -> [any SettingRow] {
            [Self.apps, requiresGoogleIssuer] + apps.filter(\.isKeyPart).flatMap { App($0).rows }
        }
    }

    /// How the pages look. Nothing of it is markup.
    enum Pages {
        static let name = Setting(
            "pages.name", .text, fallbackDescription: "the host of `server.publicUrl`",
            "What the pages call the service")
        static let logoPath = Setting(
            "pages.logoPath", .filePath, "The logo above the pages: a PNG or SVG file of at most 64 KiB")
        static let accentColor = Setting(
            "pages.accentColor", .color, "The colour of the main buttons. In YAML it stands in quotes")
        static let privacyURL = Setting("pages.privacyUrl", .pageURL, "The privacy notice, linked below each page")
        static let termsURL = Setting("pages.termsUrl", .pageURL, "The terms of use, linked likewise")
        static let helpURL = Setting("pages.helpUrl", .pageURL, "Help, linked likewise")
        static let appleLogoPath = Setting(
            "pages.appleLogoPath", .filePath,
            """
            Apple's black logo for the button, a PNG or SVG file of at most 64 KiB from Apple Design Resources, which \
            we may not ship. Without it the button has its title alone
            """)

        static let rows: [any SettingRow] = [
            name, logoPath, accentColor, privacyURL, termsURL, helpURL, appleLogoPath,
        ]
    }
}

extension ValueForm<[String]> {
    fileprivate static var appRedirectURIs: ValueForm {
        .list(
            of: """
                https: URLs, http: URLs of 127.0.0.1 or [::1], or URIs of a scheme with a dot, without fragment and user \
                name
                """, minimum: 1, where: { AppRedirectURI(registering: $0) != nil })
    }
}

extension ValueForm<String> {
    fileprivate static var androidPackage: ValueForm {
        .string("an Android package name") {
            $0.utf8.count <= 255 && $0.wholeMatch(of: /[A-Za-z][A-Za-z0-9_]*(?:\.[A-Za-z][A-Za-z0-9_]*)+/) != nil
        }
    }

    fileprivate static var color: ValueForm {
        .string("a colour as #rrggbb") { $0.wholeMatch(of: /#[0-9A-Fa-f]{6}/) != nil }
    }

    fileprivate static var pageURL: ValueForm { .url(schemes: ["https", "http"]) }
}
