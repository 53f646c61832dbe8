import Accounts

/// The keys of the console's sign-in.
extension Settings {
    enum Console {
        static let clientID = Setting(
            "console.google.clientId", .text, reloads: true,
            """
            The OAuth client, of the type *Web application*, by which [staff](operations/console.md#staff) sign in to the \
            console with Google; no client ID of `google.*`
            """)
        static let clientSecretPath = Setting(
            "console.google.clientSecretPath", .secretPath, reloads: true, "Its secret, alone in a file")
        static let hostedDomain = Setting(
            "console.google.hostedDomain", .domain, reloads: true,
            "The Workspace domain of the staff, what `hd` must be; read in lower case")
        static let staff = Setting(
            "console.staff", .list(of: "names in lower case", where: \.isKeyPart), default: "",
            reloads: true, "Who may sign in with Google; each name, which the trail has, has keys `console.person.NAME`"
        )
        static let keySignIn = Setting(
            "console.keySignIn", .boolean, default: "true", reloads: true,
            "Whether admin keys open the console; the admin API takes them in any case")

        /// The keys of one person.
        struct Person {
            let email: Setting<String>
            let scopes: Setting<[String]>

            init(_ name: String) {
                email = Setting(
                    "console.person.\(name).email", .emailAddress, fallbackDescription: "required", reloads: true,
                    "Their address at Google")
                scopes = Setting(
                    "console.person.\(name).scopes",
                    .list(of: "read, revoke, manage", minimum: 1) {
                        AdminKey.Scope(rawValue: $0).map { $0 != .feed } ?? false
                    },
                    fallbackDescription: "required", reloads: true, "What they may do")
            }

            var rows: [any SettingRow] { [email, scopes] }
        }

        static func rows(staff names: [String]) -> [any SettingRow] {
            [clientID, clientSecretPath, hostedDomain, staff, keySignIn]
                + names.filter(\.isKeyPart).flatMap { Person($0).rows }
        }
    }
}
