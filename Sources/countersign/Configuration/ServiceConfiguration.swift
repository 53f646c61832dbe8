import KeyRing
import WebPages

/// The whole configuration of `serve`, validated as a whole.
struct ServiceConfiguration: Sendable {
    let server: ServerConfiguration
    let admin: AdminConfiguration
    let database: DatabaseConfiguration
    /// The value at the start. Reloads replace it in `UseCases`, not here.
    private(set) var reloadable: ReloadableConfiguration
    let tokens: TokensConfiguration
    let keyRing: KeyRing
    let passwords: PasswordsConfiguration
    let mail: MailConfiguration?
    /// How the pages look.
    let pages: PageTheme
    let log: LogConfiguration

    /// Nil only when the reader has faults.
    init?(from reader: inout ConfigurationReader) {
        server = ServerConfiguration(from: &reader)
        admin = AdminConfiguration(from: &reader, server: server)
        database = DatabaseConfiguration(from: &reader)
        reader.checkFiles(of: Settings.Postgres.url, database.url)
        reloadable = ReloadableConfiguration(from: &reader)
        tokens = TokensConfiguration(from: &reader, server: server)
        pages = PageTheme(from: &reader, server: server)
        mail = MailConfiguration(from: &reader, called: pages.name)
        passwords = PasswordsConfiguration(from: &reader)
        if reloadable.web != nil || reloadable.oauth != nil { reader.refuseUnusablePublicURL(server.publicURL) }
        log = LogConfiguration(from: &reader)
        guard let keyRing = KeyRing(from: &reader) else { return nil }
        self.keyRing = keyRing
    }

    /// What is in effect once a reload has replaced the part that can change.
    func with(_ reloadable: ReloadableConfiguration) -> Self {
        var configuration = self
        configuration.reloadable = reloadable
        return configuration
    }
}

extension ConfigurationReader {
    /// Browsers keep the cookies of the pages for a whole host and over https alone.
    fileprivate mutating func refuseUnusablePublicURL(_ url: String) {
        let key = Settings.Server.publicURL.name
        if !url.isEmpty, !WebAddress.isProviderURL(url) {
            refuse(key, "must be https: for the web sign-in and the OAuth server (http: only with a loopback host)")
        }
        if WebAddress.path(of: url).contains(where: { $0 != "/" }) {
            refuse(key, "must have no path for the web sign-in, whose pages are below /web of their host")
        }
    }
}

extension KeyRing {
    /// The ring in the file that `keyring.path` names.
    convenience init?(from reader: inout ConfigurationReader) {
        guard let bytes = reader.secretFile(Settings.keyringPath, reader.value(Settings.keyringPath)) else {
            return nil
        }
        do {
            try self.init(parsing: String(decoding: bytes, as: UTF8.self))
        } catch {
            reader.refuse(Settings.keyringPath.name, "\(error)")
            return nil
        }
    }
}
