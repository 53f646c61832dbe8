import Providers

/// The keys of Sign in with Google.
extension Settings {
    enum Google {
        static let projects = Setting(
            "google.projects", .list(of: "project names in lower case", where: \.isKeyPart),
            default: "", reloads: true,
            """
            More Google projects, each with keys `google.project.NAME`; the short keys (`google.clientIds`) are those of \
            the project `main`, which may be listed too, or have none. A person's `sub` is the same in all of them, and so \
            are the identities
            """)
        static let authorizedParties = Setting(
            "google.authorizedParties", .list(of: "client IDs"), default: "", reloads: true,
            "When not empty, `azp` must be there and be one of these. When empty it is not looked at")
        static let hostedDomains = Setting(
            "google.hostedDomains", .domains, default: "", reloads: true,
            "When not empty, `hd` must be there and be one of these Workspace domains, which are read in lower case")
        static let serviceAccountPath = Setting(
            "google.serviceAccountPath", .secretPath, reloads: true,
            """
            The account that manages where Google sends [events](events.md#setting-up-google). Used by `google risc` \
            alone, checked wherever it is set
            """)
        static let issuers = Setting(
            "google.issuers", .issuers, default: "https://accounts.google.com,accounts.google.com", reloads: true,
            "What a token's `iss` may be")
        static let keysURL = Setting(
            "google.keysUrl", .providerURL, default: "https://www.googleapis.com/oauth2/v3/certs",
            "Google's key set")
        static let tokenURL = Setting(
            "google.tokenUrl", .providerURL, default: "https://oauth2.googleapis.com/token", reloads: true,
            "Where codes are exchanged")
        static let revokeURL = Setting(
            "google.revokeUrl", .providerURL, default: "https://oauth2.googleapis.com/revoke", reloads: true,
            "Where authorizations are revoked")
        static let riscConfigurationURL = Setting(
            "google.riscConfigurationUrl", .providerURL,
            default: "https://accounts.google.com/.well-known/risc-configuration", reloads: true,
            """
            Read by `doctor`, `google risc status` and `register`, which warn when it names an issuer or key address \
            other than the configured ones; nothing is changed by it
            """)
        static let authorizeURL = Setting(
            "google.authorizeUrl", .providerURL, default: "https://accounts.google.com/o/oauth2/v2/auth", reloads: true,
            "Where the [web sign-in](#web-sign-in) sends people, as the client `google.serverClientId`")
        static let nonceForm = Setting(
            "google.nonceForm", .choice(placeholder: NonceForm.raw), default: "raw", reloads: true,
            "As `apple.nonceForm`")

        /// The keys of one project: `main` has the short names.
        struct Project {
            let clientIDs: Setting<[String]>
            let serverClientID: Setting<String>
            let serverClientSecret: Setting<String>

            init(_ name: String) {
                let prefix = name == "main" ? "google" : "google.project.\(name)"
                func meaning(_ key: String, _ text: String) -> String {
                    prefix == "google" ? text : "As `google.\(key)`, of this project"
                }
                clientIDs = Setting(
                    "\(prefix).clientIds", .clientIDs, reloads: true,
                    meaning(
                        "clientIds",
                        """
                        OAuth client IDs whose tokens are accepted. Of a token with several audiences every one must be listed
                        """))
                serverClientID = Setting(
                    "\(prefix).serverClientId", .text, reloads: true,
                    meaning(
                        "serverClientId",
                        """
                        The OAuth client that apps ask codes for, of the type *Web application*; also a client ID of the \
                        project. With its secret beside it codes are exchanged and authorizations revoked; without both, \
                        ID tokens alone are used. The first project that has one has the button of the \
                        [web sign-in](#web-sign-in)
                        """))
                serverClientSecret = Setting(
                    "\(prefix).serverClientSecret", .text, secret: true, reloads: true,
                    meaning("serverClientSecret", "The secret of `google.serverClientId`, which it needs beside it"))
            }

            var rows: [any SettingRow] { [clientIDs, serverClientID, serverClientSecret] }
        }

        static func rows(projects: [String]) -> [any SettingRow] {
            let named = projects.filter { $0 != "main" && $0.isKeyPart }
            return Project("main").rows + named.flatMap { Project($0).rows } + [
                Self.projects, authorizedParties, hostedDomains, serviceAccountPath, issuers, keysURL, tokenURL,
                revokeURL, riscConfigurationURL, authorizeURL, nonceForm,
            ]
        }
    }
}
