import Providers

/// Sign in with Google.
struct GoogleConfiguration: Sendable {
    /// The OAuth client that exchanges server auth codes.
    struct ServerClient: Sendable {
        let id: String
        let secret: String
    }

    let clientIDs: [String]
    let authorizedParties: [String]
    /// Absent: ID tokens alone, no codes and no revocation.
    let serverClient: ServerClient?
    let hostedDomains: [String]
    let issuers: [String]
    let keysURL: String
    let tokenURL: String
    let revokeURL: String
    let riscConfigurationURL: String
    let authorizeURL: String
    let nonceForm: NonceForm

    /// Nil when no `google.*` key is set: the provider is off.
    init?(from reader: inout ConfigurationReader) {
        guard reader.isAnySet(in: "google") else { return nil }
        clientIDs = reader.value(Settings.Google.clientIDs)
        authorizedParties = reader.value(Settings.Google.authorizedParties)
        hostedDomains = reader.value(Settings.Google.hostedDomains)
        issuers = reader.value(Settings.Google.issuers)
        keysURL = reader.value(Settings.Google.keysURL)
        tokenURL = reader.value(Settings.Google.tokenURL)
        revokeURL = reader.value(Settings.Google.revokeURL)
        riscConfigurationURL = reader.value(Settings.Google.riscConfigurationURL)
        authorizeURL = reader.value(Settings.Google.authorizeURL)
        nonceForm = reader.value(Settings.Google.nonceForm)
        let id = reader.optional(Settings.Google.serverClientID)
        let secret = reader.optional(Settings.Google.serverClientSecret)
        switch (id, secret) {
        case (let id?, let secret?):
            serverClient = ServerClient(id: id, secret: secret)
        case (nil, nil):
            serverClient = nil
        case (_?, nil):
            serverClient = nil
            reader.refuse(Settings.Google.serverClientSecret.name, "is required beside google.serverClientId")
        case (nil, _?):
            serverClient = nil
            reader.refuse(Settings.Google.serverClientID.name, "is required beside google.serverClientSecret")
        }
        // Only `google risc` uses it. Checked here too, so that its faults show with all others.
        if let path = reader.optional(Settings.Google.serviceAccountPath) { _ = reader.serviceAccount(path) }
    }
}

extension ConfigurationReader {
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
