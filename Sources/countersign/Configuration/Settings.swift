import Accounts
import HTTPAPI
import Logging
import Providers

/// The table of all configuration keys. It alone says how a key is called, what it may hold and what it is by default;
/// reading, the search for misspelt keys and `config show` go by it.
enum Settings {
    enum Server {
        static let host = Setting("server.host", .host, default: "127.0.0.1", "Address of the public listener")
        static let port = Setting("server.port", .port, default: "8080", "Port of the public listener")
        static let publicURL = Setting(
            "server.publicUrl", .url(schemes: ["https", "http"], allowsQuery: false),
            "How the outside reaches the public listener; required when server.host is no loopback address")
        static let trustedProxies = Setting(
            "server.trustedProxies",
            .list(of: "IP addresses or networks such as 10.0.0.0/8", where: { TrustedProxies([$0]) != nil }),
            default: "",
            "Proxies whose X-Forwarded-For is believed")
        static let drainSeconds = Setting(
            "server.drainSeconds", .integer(0...300, unit: "seconds"), default: "5",
            "How long the public listener goes on after SIGTERM")
    }

    enum Admin {
        static let host = Setting("admin.host", .host, default: "127.0.0.1", "Address of the private listener")
        static let port = Setting("admin.port", .port, default: "8081", "Port of the private listener")
        static let healthPort = Setting("health.port", .port, "Another port for /health, on server.host")
    }

    enum Postgres {
        static let url = Setting("postgres.url", .postgresURL, secret: true, "The database, as the service's role")
        static let migrationURL = Setting(
            "postgres.migrationUrl", .postgresURL, secret: true,
            "The database, as the role that owns the tables; postgres.url if absent")
        static let poolSize = Setting("postgres.poolSize", .integer(1...64), default: "8", "Connections")
        static let preparedStatements = Setting(
            "postgres.preparedStatements", .boolean, default: "true",
            "Switch off behind a pooler that shares connections between transactions")
    }

    enum Apple {
        static let teams = Setting(
            "apple.teams", .list(of: "team names in lower case", where: AppleConfiguration.isTeamName), default: "main",
            reloads: true, "Teams or environments; those besides main have apple.team.NAME.* keys")
        static let redirectURIs = Setting(
            "apple.redirectUris",
            .list(of: "https: URLs (http: only with a loopback host)") {
                ValueForm.providerURL.parse(.text($0)) != nil
            },
            default: "", reloads: true, "Redirect URIs that web and Android codes may come from")
        static let issuers = Setting(
            "apple.issuers", .issuers, default: "https://appleid.apple.com", reloads: true,
            "Issuers of identity tokens and events")
        static let keysURL = Setting(
            "apple.keysUrl", .providerURL, default: "https://appleid.apple.com/auth/keys", "Apple's key set")
        static let tokenURL = Setting(
            "apple.tokenUrl", .providerURL, default: "https://appleid.apple.com/auth/token", reloads: true,
            "Code exchange")
        static let revokeURL = Setting(
            "apple.revokeUrl", .providerURL, default: "https://appleid.apple.com/auth/revoke", reloads: true,
            "Revocation")
        static let userMigrationURL = Setting(
            "apple.userMigrationUrl", .providerURL, default: "https://appleid.apple.com/auth/usermigrationinfo",
            reloads: true, "Identifiers of users in an app transfer")
        static let nonceForm = Setting(
            "apple.nonceForm", .choice(placeholder: NonceForm.raw), default: "sha256Hex",
            reloads: true, "What the apps put into a token for the nonce they post")

        /// The keys of one team: `main` has the short names.
        static func team(_ name: String) -> Team { Team(prefix: name == "main" ? "apple" : "apple.team.\(name)") }

        struct Team {
            let clientIDs: Setting<[String]>
            let teamID: Setting<String>
            let keyID: Setting<String>
            let privateKeyPath: Setting<String>

            init(prefix: String) {
                clientIDs = Setting(
                    "\(prefix).clientIds", .clientIDs, reloads: true, "Bundle and service IDs of the apps")
                teamID = Setting("\(prefix).teamId", .text, reloads: true, "Team ID, for codes and revocation")
                keyID = Setting("\(prefix).keyId", .text, reloads: true, "Key ID of the private key")
                privateKeyPath = Setting("\(prefix).privateKeyPath", .text, reloads: true, "The .p8 file, mode 0600")
            }

            var rows: [any SettingRow] { [clientIDs, teamID, keyID, privateKeyPath] }
        }
    }

    enum Google {
        static let clientIDs = Setting("google.clientIds", .clientIDs, reloads: true, "OAuth client IDs of the apps")
        static let authorizedParties = Setting(
            "google.authorizedParties", .list(of: "client IDs"), default: "",
            reloads: true, "Client IDs that azp must name; azp isn't looked at when empty")
        static let serverClientID = Setting(
            "google.serverClientId", .text, reloads: true, "Client ID that exchanges codes")
        static let serverClientSecret = Setting(
            "google.serverClientSecret", .text, secret: true, reloads: true, "Its secret")
        static let hostedDomains = Setting(
            "google.hostedDomains", .list(of: "domains"), default: "",
            reloads: true, "Workspace domains that may sign in; all when empty")
        static let serviceAccountPath = Setting(
            "google.serviceAccountPath", .text, reloads: true, "Service account of Cross-Account Protection")
        static let issuers = Setting(
            "google.issuers", .issuers, default: "https://accounts.google.com,accounts.google.com",
            reloads: true, "Issuers of ID tokens and events")
        static let keysURL = Setting(
            "google.keysUrl", .providerURL, default: "https://www.googleapis.com/oauth2/v3/certs", "Google's key set")
        static let tokenURL = Setting(
            "google.tokenUrl", .providerURL, default: "https://oauth2.googleapis.com/token", reloads: true,
            "Code exchange")
        static let revokeURL = Setting(
            "google.revokeUrl", .providerURL, default: "https://oauth2.googleapis.com/revoke", reloads: true,
            "Revocation")
        static let riscConfigurationURL = Setting(
            "google.riscConfigurationUrl", .providerURL,
            default: "https://accounts.google.com/.well-known/risc-configuration",
            reloads: true, "Read by `doctor` and `google risc` alone")
        static let nonceForm = Setting(
            "google.nonceForm", .choice(placeholder: NonceForm.raw), default: "raw",
            reloads: true, "What the apps put into a token for the nonce they post")
    }

    static let noncePolicy = Setting(
        "nonces.policy", .choice(placeholder: NoncePolicy.required), default: "optional",
        reloads: true, "Whether every token needs a nonce that this service issued")
    static let verifiedEmail = Setting(
        "linking.verifiedEmail", .choice(placeholder: VerifiedEmailPolicy.prompt), default: "prompt",
        reloads: true, "Whether an authoritative, verified email may link without a proof")
    static let strayAccount = Setting(
        "linking.strayAccount", .choice(placeholder: StrayAccountPolicy.refuse), default: "refuse",
        reloads: true,
        "Whether an identity may leave an account that is nothing but it, which then ends, for another of its owner")

    enum Events {
        static let consentRevoked = Setting(
            "events.apple.consentRevoked", .choice(placeholder: ConsentRevokedPolicy.keep), default: "unlink",
            reloads: true, "What a withdrawn consent does")
        static let accountDeleted = Setting(
            "events.apple.accountDeleted", .choice(placeholder: AccountDeletedPolicy.unlink), default: "unlink",
            reloads: true, "What a deleted Apple account does")
    }

    enum Limits {
        static let passwordPerAccount = Setting(
            "limits.passwordPerAccount", .rate, default: "10/15min", reloads: true, "Password guesses at one account")
        static let guessPerNetwork = Setting(
            "limits.guessPerNetwork", .rate, default: "100/15min", reloads: true, "Wrong guesses from one network")
        static let registrationPerNetwork = Setting(
            "limits.registrationPerNetwork", .rate, default: "30/h", reloads: true, "New accounts from one network")
        static let mailPerAddress = Setting(
            "limits.mailPerAddress", .rate, default: "5/h", reloads: true, "Mails to one address")
        static let mailPerNetwork = Setting(
            "limits.mailPerNetwork", .rate, default: "20000/h", reloads: true, "Codes that one network asks for")
    }

    enum Tokens {
        static let issuer = Setting("tokens.issuer", .text, "iss of our access tokens; server.publicUrl if absent")
        static let audience = Setting("tokens.audience", .text, "aud of our access tokens; server.publicUrl if absent")
        static let accessLifetime = Setting(
            "tokens.accessLifetime", .integer(1...86_400, unit: "seconds"), default: "900", "Life of an access token")
        static let refreshLifetime = Setting(
            "tokens.refreshLifetime", .integer(60...315_360_000, unit: "seconds"), default: "5184000",
            "Life of a session that isn't used")
    }

    static let keyringPath = Setting("keyring.path", .text, "The key ring, mode 0600: lines `id base64-of-32-bytes`")

    enum Mail {
        static let smtpURL = Setting(
            "mail.smtpUrl", .smtpURL, secret: true, "Mail server; without it no code is mailed")
        static let from = Setting("mail.from", .emailAddress, "Sender of the mails")
        static let serviceName = Setting(
            "mail.serviceName", .text, "What mails call the service; the host of server.publicUrl if absent")
        static let templatesPath = Setting(
            "mail.templatesPath", .text, "A directory of templates in place of the built-in ones, or beside them")
    }

    enum Log {
        static let level = Setting(
            "log.level", .choice(placeholder: Logger.Level.info), default: "info", reloads: true,
            "The least that is logged")
        static let format = Setting("log.format", .choice(placeholder: LogFormat.json), default: "json", "How it looks")
        static let personalData = Setting(
            "log.personalData", .boolean, default: "false", "Whether emails and full addresses may be logged")
    }

    /// Every row, with those of the named teams besides `main`.
    static func rows(teams: [String]) -> [any SettingRow] {
        let server: [any SettingRow] = [
            Server.host, Server.port, Server.publicURL, Server.trustedProxies, Server.drainSeconds,
            Admin.host, Admin.port, Admin.healthPort,
            Postgres.url, Postgres.migrationURL, Postgres.poolSize, Postgres.preparedStatements,
        ]
        let apple: [any SettingRow] =
            Apple.team("main").rows
            + teams.filter { $0 != "main" && AppleConfiguration.isTeamName($0) }.flatMap { Apple.team($0).rows } + [
                Apple.teams, Apple.redirectURIs, Apple.issuers, Apple.keysURL, Apple.tokenURL, Apple.revokeURL,
                Apple.userMigrationURL, Apple.nonceForm,
            ]
        let google: [any SettingRow] = [
            Google.clientIDs, Google.authorizedParties, Google.serverClientID, Google.serverClientSecret,
            Google.hostedDomains, Google.serviceAccountPath, Google.issuers, Google.keysURL, Google.tokenURL,
            Google.revokeURL, Google.riscConfigurationURL, Google.nonceForm,
        ]
        let policies: [any SettingRow] = [
            noncePolicy, verifiedEmail, strayAccount, Events.consentRevoked, Events.accountDeleted,
            Limits.passwordPerAccount,
            Limits.guessPerNetwork, Limits.registrationPerNetwork, Limits.mailPerAddress,
            Limits.mailPerNetwork, Tokens.issuer,
            Tokens.audience, Tokens.accessLifetime, Tokens.refreshLifetime, keyringPath, Mail.smtpURL, Mail.from,
            Mail.serviceName,
            Mail.templatesPath,
            Log.level, Log.format, Log.personalData,
        ]
        return server + apple + google + policies
    }
}
