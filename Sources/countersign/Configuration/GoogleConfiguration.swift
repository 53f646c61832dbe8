import Primitives
import Providers

/// Sign in with Google, for one or several projects.
struct GoogleConfiguration: Sendable {
    struct Project: Sendable {
        let name: String
        /// That of the server client is one of them.
        let clientIDs: [String]
        /// Absent: ID tokens alone, no codes and no revocation.
        let serverClient: ServerClient?
    }

    /// The OAuth client that exchanges server auth codes.
    struct ServerClient: Sendable {
        let id: String
        let secret: String
    }

    let projects: [Project]
    let authorizedParties: [String]
    let hostedDomains: [String]
    let issuers: [String]
    let keysURL: String
    let tokenURL: String
    let revokeURL: String
    let riscConfigurationURL: String
    let authorizeURL: String
    let nonceForm: NonceForm
    /// Whether what comes back from the web sign-in must name its issuer.
    let requiresAnswerIssuer: Bool

    /// Nil when nothing is set but where Google is: the provider is off.
    init?(from reader: inout ConfigurationReader) {
        requiresAnswerIssuer = reader.value(Settings.Web.requiresGoogleIssuer)
        guard reader.sources.isGoogleOn else {
            // The faults of what is set show all the same. The console reads the others.
            _ = reader.value(Settings.Google.revokeURL)
            _ = reader.value(Settings.Google.riscConfigurationURL)
            return nil
        }
        projects = reader.googleProjects().map { Project(name: $0, from: &reader) }
        authorizedParties = reader.value(Settings.Google.authorizedParties)
        hostedDomains = reader.value(Settings.Google.hostedDomains)
        issuers = reader.value(Settings.Google.issuers)
        keysURL = reader.value(Settings.Google.keysURL)
        tokenURL = reader.value(Settings.Google.tokenURL)
        revokeURL = reader.value(Settings.Google.revokeURL)
        riscConfigurationURL = reader.value(Settings.Google.riscConfigurationURL)
        authorizeURL = reader.value(Settings.Google.authorizeURL)
        nonceForm = reader.value(Settings.Google.nonceForm)
        // Only `google risc` uses it. Checked here too, so that its faults show with all others.
        if let path = reader.optional(Settings.Google.serviceAccountPath) { _ = reader.serviceAccount(path) }
        refuseSharedClientIDs(&reader)
    }

    var clientIDs: [String] { projects.flatMap(\.clientIDs) }

    /// The client of the web sign-in's button: that of the first project which has one.
    var webClient: ServerClient? { projects.lazy.compactMap(\.serverClient).first }

    /// The `aud` of a token determines the project whose client exchanges the code, so a client ID may belong to only one.
    private func refuseSharedClientIDs(_ reader: inout ConfigurationReader) {
        var owners: [[UInt8]: String] = [:]
        for project in projects {
            for clientID in project.clientIDs {
                guard let owner = owners.updateValue(project.name, forKey: Array(clientID.utf8)) else { continue }
                let settings = Settings.Google.Project(project.name)
                let isServer = project.serverClient.map { $0.id.hasSameBytes(as: clientID) } ?? false
                reader.refuse(
                    isServer ? settings.serverClientID.name : settings.clientIDs.name,
                    "has a client ID of the project \(owner): a client ID belongs to one project")
            }
        }
    }
}

extension GoogleConfiguration.Project {
    fileprivate init(name: String, from reader: inout ConfigurationReader) {
        let settings = Settings.Google.Project(name)
        self.name = name
        let id = reader.optional(settings.serverClientID)
        clientIDs = reader.value(settings.clientIDs).including(id)
        let secret = reader.optional(settings.serverClientSecret)
        // Neither is of use without the other.
        if id != nil, secret == nil {
            reader.refuse(settings.serverClientSecret.name, "is required beside \(settings.serverClientID.name)")
        }
        if id == nil, secret != nil {
            reader.refuse(settings.serverClientID.name, "is required beside \(settings.serverClientSecret.name)")
        }
        serverClient = id.flatMap { id in secret.map { GoogleConfiguration.ServerClient(id: id, secret: $0) } }
    }
}

extension ConfigurationSources {
    /// Whether people sign in with Google: any key is set but those that say where Google is, which may be for the
    /// console's staff alone.
    var isGoogleOn: Bool {
        let names =
            [
                Settings.Google.projects.name, Settings.Google.serviceAccountPath.name,
                Settings.Google.authorizedParties.name, Settings.Google.hostedDomains.name,
                Settings.Google.nonceForm.name,
            ]
            + Settings.Google.Project("main").rows.map(\.name)
        return names.contains { value(of: $0) != nil }
    }
}

extension ConfigurationReader {
    /// The names of the projects. `main` is one of them where it is listed, where one of its keys is set, and where no
    /// other project is listed.
    mutating func googleProjects() -> [String] {
        let names = value(Settings.Google.projects)
        let isMain = names.isEmpty || Settings.Google.Project("main").rows.contains { isSet($0.name) }
        return isMain && !names.contains("main") ? ["main"] + names : names
    }

    /// The service account whose key file this is.
    mutating func serviceAccount(_ path: String) -> GoogleServiceAccount? {
        let setting = Settings.Google.serviceAccountPath
        guard let file = secretFile(setting, path) else { return nil }
        do throws(GoogleServiceAccount.Fault) {
            return try GoogleServiceAccount(parsing: file)
        } catch {
            refuse(setting.name, error.sentence)
            return nil
        }
    }
}

extension GoogleServiceAccount.Fault {
    fileprivate var sentence: String {
        switch self {
        case .notJSON: "names a file that isn't JSON"
        case .notServiceAccount: "names a file that isn't the key of a service account (its type is another one)"
        case .missing(let member): "names a file in which \(member) is missing or no such thing"
        case .unusableKey: "names a file whose private_key isn't an unencrypted PKCS#8 RSA key in PEM"
        }
    }
}
