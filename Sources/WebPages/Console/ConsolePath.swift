import Administration

/// The addresses of the console.
enum ConsolePath {
    static let root = "/console/"
    static let signIn = "/console/sign-in"
    static let signOut = "/console/sign-out"
    static let staff = "/console/sign-in/google"
    static let callbacks = "/console/callback"
    static let callback = "/console/callback/google"
    static let assets = "/console/assets"

    static let accounts = page(of: .account)
    static let revocations = page(of: .revocation)
    static let providerEvents = page(of: .providerEvent)
    static let audit = "/console/audit"
    static let sheet = "/console/audit/csv"
    static let webhooks = page(of: .webhook)
    static let oauthClients = page(of: .oauthClient)
    static let adminKeys = page(of: .adminKey)
    static let system = "/console/system"

    /// Where those are listed that have one. Their acts are below it.
    static func page(of subject: Act.Subject) -> String { "/console/\(subject.rawValue)" }
}
