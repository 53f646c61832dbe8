import Accounts
import HTTPServer
import Logging
import Providers

/// The table of all configuration keys. It alone defines the name, the form, the default and the meaning of a key;
/// reading, the search for misspelt keys, `config show` and `docs/configuration.md` use it.
enum Settings {
    enum Server {
        static let host = Setting("server.host", .host, default: "127.0.0.1", "Where the public listener listens")
        static let port = Setting("server.port", .port, default: "8080", "Port of the public listener")
        static let publicURL = Setting(
            "server.publicUrl", .url(schemes: ["https", "http"], allowsQuery: false),
            fallbackDescription: "`http://127.0.0.1:PORT`",
            """
            How the outside reaches the public listener. Names the address of our key set, and is the default of \
            `tokens.issuer` and `tokens.audience`. Required when `server.host` is no loopback address
            """)
        static let trustedProxies = Setting(
            "server.trustedProxies",
            .list(of: "IP addresses or networks such as 10.0.0.0/8", where: { TrustedProxies([$0]) != nil }),
            default: "",
            """
            Proxies whose `X-Forwarded-For` is believed. The address found is kept with the session, and its network \
            has the [limits](#limits). Behind a proxy that is not listed here all clients are one network
            """)
        static let drainSeconds = Setting(
            "server.drainSeconds", .integer(0...300, unit: "seconds"), default: "5",
            "How long the public listener goes on after SIGTERM or SIGINT, while `/health/ready` already says 503")
    }

    enum Admin {
        static let host = Setting(
            "admin.host", .host, default: "127.0.0.1",
            "Where the private listener listens; it serves `/admin/v1`, `/console`, `/health` and `/metrics`")
        static let port = Setting(
            "admin.port", .port, default: "8081", "Port of the private listener; not that of the public one")
        static let publicHost = Setting(
            "admin.publicHost", .hostAndPort,
            """
            The name, with its port unless that is the scheme's own, at which a proxy serves the \
            [console](operations/console.md). At any other name than this, the listener's own address and loopback the \
            console refuses to answer
            """)
        static let healthPort = Setting(
            "health.port", .port,
            "Another port for `/health`, on `server.host`, for load balancers that can't reach the private listener")
    }

    enum Postgres {
        static let url = Setting(
            "postgres.url", .postgresURL, fallbackDescription: "required", secret: true,
            "The database, as the role that the service runs as. Its encoding must be UTF8")
        static let migrationURL = Setting(
            "postgres.migrationUrl", .postgresURL, fallbackDescription: "`postgres.url`", secret: true,
            """
            The database as the owner of the tables; used by `migrate`, `serve --migrate`, `admin-key create` and \
            `audit drop-before` alone. When it differs from `postgres.url`, that one must name a user, who is granted \
            what the service needs, on the tables that migrations made and no others. No role is made or dropped
            """)
        static let poolSize = Setting(
            "postgres.poolSize", .integer(1...64), default: "8",
            "Connections of one process; readiness and notifications have one more each")
        static let preparedStatements = Setting(
            "postgres.preparedStatements", .boolean, default: "true",
            "`false` behind a pooler that shares connections between transactions")
    }

    enum Apple {
        static let teams = Setting(
            "apple.teams", .list(of: "team names in lower case", where: \.isKeyPart), default: "main",
            reloads: true,
            """
            Apple developer teams, or environments. A person's `sub` is per team, so each team's identities are kept \
            apart under its name: don't rename one, nor leave one out that has people. `main` uses the short keys (`apple.clientIds`), others those of \
            `apple.team.NAME`
            """)
        static let redirectURIs = Setting(
            "apple.redirectUris",
            .list(of: "https: URLs (http: only with a loopback host)") {
                ValueForm.providerURL.parse(.text($0)) != nil
            }, default: "", reloads: true,
            """
            Where Apple sends codes of web pages and of Android; a posted `redirectUri` must be one of these. Codes of \
            native apps have none
            """)
        static let issuers = Setting(
            "apple.issuers", .issuers, default: "https://appleid.apple.com", reloads: true,
            "What a token's `iss` may be")
        static let keysURL = Setting(
            "apple.keysUrl", .providerURL, default: "https://appleid.apple.com/auth/keys",
            "Apple's key set")
        static let tokenURL = Setting(
            "apple.tokenUrl", .providerURL, default: "https://appleid.apple.com/auth/token", reloads: true,
            """
            Where codes are exchanged and refresh tokens checked. The audience of a client secret is \
            `https://appleid.apple.com`, whatever stands here
            """)
        static let revokeURL = Setting(
            "apple.revokeUrl", .providerURL, default: "https://appleid.apple.com/auth/revoke", reloads: true,
            "Where authorizations are revoked")
        static let userMigrationURL = Setting(
            "apple.userMigrationUrl", .providerURL, default: "https://appleid.apple.com/auth/usermigrationinfo",
            reloads: true,
            "Where `apple transfer` asks for users of a moved app")
        static let authorizeURL = Setting(
            "apple.authorizeUrl", .providerURL, default: "https://appleid.apple.com/auth/authorize", reloads: true,
            "Where the [web sign-in](#web-sign-in) sends people")
        static let nonceForm = Setting(
            "apple.nonceForm", .choice(placeholder: NonceForm.raw), default: "sha256Hex", reloads: true,
            """
            What the apps hand to the SDK for the raw nonce that they post: its SHA-256 in lower-case hexadecimal, \
            itself, or its SHA-256 in base64url
            """)

        /// The keys of one team: `main` has the short names.
        struct Team {
            let clientIDs: Setting<[String]>
            let servicesID: Setting<String>
            let teamID: Setting<String>
            let keyID: Setting<String>
            let privateKeyPath: Setting<String>

            init(_ name: String) {
                let prefix = name == "main" ? "apple" : "apple.team.\(name)"
                func meaning(_ key: String, _ text: String) -> String {
                    prefix == "apple" ? text : "As `apple.\(key)`, of this team"
                }
                clientIDs = Setting(
                    "\(prefix).clientIds", .clientIDs, reloads: true,
                    meaning("clientIds", "Bundle IDs and Services IDs whose tokens are accepted"))
                servicesID = Setting(
                    "\(prefix).servicesId", .text, reloads: true,
                    meaning(
                        "servicesId",
                        """
                        Services ID of the [web sign-in](#web-sign-in), without which it has no Apple button; also a \
                        client ID of the team. Where several teams have one, the first of `apple.teams` has the button
                        """))
                teamID = Setting(
                    "\(prefix).teamId", .text, reloads: true,
                    meaning(
                        "teamId",
                        """
                        Team ID. With key ID and private key, given together or not at all, codes are exchanged and \
                        authorizations revoked; without them identity tokens alone are used
                        """))
                keyID = Setting("\(prefix).keyId", .text, reloads: true, meaning("keyId", "Key ID of the private key"))
                privateKeyPath = Setting(
                    "\(prefix).privateKeyPath", .secretPath, reloads: true,
                    meaning("privateKeyPath", "The `.p8` file, which signs the client secrets"))
            }

            var rows: [any SettingRow] { [clientIDs, servicesID, teamID, keyID, privateKeyPath] }
        }
    }

    static let noncePolicy = Setting(
        "nonces.policy", .choice(placeholder: NoncePolicy.required), default: "optional", reloads: true,
        """
        With `required` each sign-in at a provider needs a nonce of `POST /v1/nonces`. With `optional` apps may make \
        up their own, or have none: a posted one must be the token's, and an Apple token with one needs it posted. A \
        nonce that begins with `csn_` is good once under both, in a Google token (form `raw`) also where it isn't posted
        """)
    static let verifiedEmail = Setting(
        "linking.verifiedEmail", .choice(placeholder: VerifiedEmailPolicy.prompt), default: "prompt", reloads: true,
        """
        Whether a verified email may link an identity without a proof of the account: see \
        [linking](linking.md#automatic-linking)
        """)
    static let strayAccount = Setting(
        "linking.strayAccount", .choice(placeholder: StrayAccountPolicy.refuse), default: "refuse", reloads: true,
        """
        What becomes of an account that is nothing but an identity whose owner wants it linked to another account: see \
        [linking](linking.md#stray-accounts)
        """)

    enum Events {
        static let consentRevoked = Setting(
            "events.apple.consentRevoked", .choice(placeholder: ConsentRevokedPolicy.keep), default: "unlink",
            reloads: true,
            """
            Whether a consent that Apple says is withdrawn unlinks the identity. The last way into an account is kept \
            in any case: see [events](events.md#what-each-event-does)
            """)
        static let accountDeleted = Setting(
            "events.apple.accountDeleted", .choice(placeholder: AccountDeletedPolicy.unlink), default: "unlink",
            reloads: true,
            "Whether the end of an Apple account unlinks the identity, but for the last way in, or deletes the account here"
        )
    }

    enum Limits {
        static func uses(_ kind: LimitKind) -> Setting<RateLimit> {
            switch kind {
            case .passwordPerAccount:
                limit(
                    kind, "10/15min",
                    """
                    Wrong passwords for one address, known or not, in whatever spelling; and as many from each network \
                    that its account [is used from](linking.md#networks-that-an-account-is-used-from). Right ones are \
                    not counted
                    """)
            case .guessPerNetwork:
                limit(kind, "100/15min", "Wrong passwords and mailed codes from one network")
            case .guessPerWideNetwork:
                limit(
                    kind, "2000/15min",
                    "The same from one IPv4 /16 or IPv6 /48, which a provider of networks can give to one customer")
            case .guessPerService:
                limit(
                    kind, "20000/15min",
                    """
                    The same from everywhere. Beyond it nothing is refused, but every new code has ten digits, and [an \
                    alert](operations/runbook.md#alert-countersignguessingeverywhere) fires
                    """)
            case .junkCodesPerNetwork:
                limit(
                    kind, "100/15min",
                    """
                    Authorization codes from one network that Apple or Google refused. Those beside a token that \
                    verifies are not counted: [why there is a limit](provider-life-cycle.md#codes-of-anybodys-making)
                    """)
            case .refusedCodesPerIdentity:
                limit(
                    kind, "5/15min",
                    """
                    Authorization codes beside the valid tokens of one person that Apple or Google refused. Beyond it \
                    a code is not sent, and the token signs in alone
                    """)
            case .registrationPerNetwork:
                limit(
                    kind, "30/h",
                    "Registrations with a password from one network, those of an address that is taken included")
            case .mailPerAddress:
                limit(
                    kind, "6/h",
                    """
                    New codes for one address, however it is spelled; and as many from each network that its account \
                    [is used from](linking.md#networks-that-an-account-is-used-from). A code that is mailed again is \
                    not counted. Beyond it a person's request is answered as ever, and no code is made. Also the \
                    changes of address that one account asks for; and the [notices](mail.md#what-is-mailed) that say \
                    the same to an address that no account has proven: those beyond it are left out
                    """)
            case .mailPerNetwork:
                limit(kind, "20000/h", "Codes that one network asks for, for any address")
            case .exportPerAccount:
                limit(kind, "5/h", "Exports of their data that the owner of one account asks for")
            case .renamePerAccount:
                limit(kind, "20/h", "Changes of their name that the owner of one account makes")
            case .passwordChangePerAccount:
                limit(
                    kind, "30/h",
                    "Changes of their password that the owner of one account makes. What a mailed code resets is not counted"
                )
            case .linkPerAccount:
                limit(
                    kind, "60/h",
                    """
                    Links of providers and [clients](account-linking.md) that the owner of one account makes, and as \
                    many providers that they unlink. What a mailed code, a sign-in or a *bind* by a session links is \
                    not counted, unless the session [replaces](linking.md#replacing-an-identity) an identity
                    """)
            case .webFlowsPerNetwork:
                limit(
                    kind, "300/15min", "Web sign-ins that one network begins, and ways to a provider from a link ticket"
                )
            }
        }

        private static func limit(_ kind: LimitKind, _ fallback: String, _ meaning: String) -> Setting<RateLimit> {
            Setting("limits.\(kind.rawValue)", .rate, default: fallback, reloads: true, meaning)
        }

        static let sessionsPerAccount = Setting(
            "limits.sessionsPerAccount", .integer(0...1_000_000, unit: "sessions"), default: "100", reloads: true,
            """
            Live sessions of one account. Signing in is never refused for it: within a minute the sessions that were not \
            used for longest [end](states.md#session), and as many rows of ended ones are kept; 0: no limit
            """)
        static let connectionsPerNetwork = Setting(
            "limits.connectionsPerNetwork", .integer(0...2048, unit: "connections"), default: "256",
            """
            Connections to the public listener from one network, an IPv4 /24 or an IPv6 /64, and twice as many from the \
            /16 or /48 around it; more are closed at once. \
            `server.trustedProxies` have no limit; 0: nobody has one, nor a network a \
            [share](decisions/0023-shares-of-scarce-places.md) of the requests under way
            """)

        static var rows: [any SettingRow] {
            LimitKind.allCases.map(uses) + [sessionsPerAccount, connectionsPerNetwork]
        }
    }

    enum Tokens {
        static let issuer = Setting(
            "tokens.issuer", .text, fallbackDescription: "`server.publicUrl`",
            "`iss` of our access tokens, and what the discovery document names")
        static let audience = Setting(
            "tokens.audience", .text, fallbackDescription: "`server.publicUrl`",
            "`aud` of our access tokens")
        static let accessLifetime = Setting(
            "tokens.accessLifetime", .integer(1...86_400, unit: "seconds"), default: "900",
            "How long an access token lives")
        static let refreshLifetime = Setting(
            "tokens.refreshLifetime", .integer(60...315_360_000, unit: "seconds"), default: "5184000",
            "How long a session lives without a refresh")
        static let sessionLifetime = Setting(
            "tokens.sessionLifetime", .integer(60...315_360_000, unit: "seconds"),
            """
            How long a session lives from the sign-in that opened it, however often it is refreshed; then the person \
            signs in again. Without it a session that is used has no end. It holds for the sessions that are open when \
            it is set, too
            """)
    }

    static let keyringPath = Setting("keyring.path", .secretPath, fallbackDescription: "required", "The key ring")

    enum Mail {
        static let smtpURL = Setting(
            "mail.smtpUrl", .smtpURL, secret: true,
            """
            Mail server; needs `mail.from` beside it. `smtp:` means STARTTLS, except to this machine. Without it no \
            code and no notice is mailed
            """)
        static let from = Setting("mail.from", .emailAddress, "Sender of the mails; needs `mail.smtpUrl` beside it")
        static let serviceName = Setting(
            "mail.serviceName", .text, fallbackDescription: "`pages.name`, else the host of `server.publicUrl`",
            "What mails call the service")
        static let templatesPath = Setting(
            "mail.templatesPath", .filePath,
            "[Templates](mail.md#templates) in place of the built-in ones, or in more languages")
    }

    enum Log {
        static let level = Setting(
            "log.level", .choice(placeholder: Logger.Level.info), default: "info", reloads: true,
            "The least that is logged")
        static let format = Setting(
            "log.format", .choice(placeholder: LogFormat.json), default: "json",
            "How a line looks")
        static let personalData = Setting(
            "log.personalData", .boolean, default: "false",
            "Whether emails and full addresses may be [logged](operations/logs.md#personal-data)")
    }

    /// The beginnings of the keys that each name of a list has, and what may be amiss with one that is not known.
    static let families: [(prefix: String, flaw: String)] = [
        ("apple.team.", "apple.teams doesn't list the team (the team main has the short names, apple.clientIds)"),
        (
            "google.project.",
            """
            google.projects doesn't list the project (the project main has the short names, google.clientIds), or a \
            project has no such key
            """
        ),
        ("web.app.", "web.apps doesn't list the app, or an app has no such key"),
        ("console.person.", "console.staff doesn't list the name, or a person has no such key"),
        ("webhooks.endpoint.", "webhooks.endpoints doesn't list the name, or an endpoint has no such key"),
    ]

    /// Every row, with those of the names that each list of names has.
    static func rows(_ names: (_ list: Setting<[String]>) -> [String]) -> [any SettingRow] {
        let server: [any SettingRow] = [
            Server.host, Server.port, Server.publicURL, Server.trustedProxies, Server.drainSeconds,
            Admin.host, Admin.port, Admin.publicHost, Admin.healthPort,
            Postgres.url, Postgres.migrationURL, Postgres.poolSize, Postgres.preparedStatements,
        ]
        let apple: [any SettingRow] =
            Apple.Team("main").rows
            + names(Apple.teams).filter { $0 != "main" && $0.isKeyPart }.flatMap { Apple.Team($0).rows } + [
                Apple.teams, Apple.redirectURIs, Apple.issuers, Apple.keysURL, Apple.tokenURL, Apple.revokeURL,
                Apple.userMigrationURL, Apple.authorizeURL, Apple.nonceForm,
            ]
        let policies: [any SettingRow] = [
            noncePolicy, verifiedEmail, strayAccount, Events.consentRevoked, Events.accountDeleted,
        ]
        let others: [any SettingRow] = [
            Tokens.issuer, Tokens.audience, Tokens.accessLifetime, Tokens.refreshLifetime, Tokens.sessionLifetime,
            keyringPath, Mail.smtpURL, Mail.from, Mail.serviceName, Mail.templatesPath,
            Log.level, Log.format, Log.personalData,
        ]
        return server + Console.rows(staff: names(Console.staff)) + apple
            + Google.rows(projects: names(Google.projects)) + Web.rows(apps: names(Web.apps)) + Pages.rows + Feed.rows
            + Webhooks.rows(endpoints: names(Webhooks.endpoints)) + oauthRows + Passwords.rows + policies
            + Limits.rows + others
    }
}
