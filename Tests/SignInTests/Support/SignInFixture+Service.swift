import Accounts
import KeyRing
import Postgres
import Primitives
import Providers
import SignIn
import Storage
import TestSupport

extension SignInFixture {
    /// Another process of the service, on the same database.
    ///
    /// - Parameters:
    ///   - apple: whether Apple is enabled.
    ///   - google: whether Google is.
    ///   - keyRing: the fixture's by default.
    ///   - storage: the fixture's by default.
    ///   - nonceForms: how the apps hand nonces to each provider's SDK.
    func service(
        apple: Bool = true, google: Bool = true, keyRing: KeyRing? = nil, storage: ServiceDatabase? = nil,
        passwordHasher: PasswordHasher? = nil, exports: FairLimit<Party> = PersonalDataExport.places(),
        nonceForms: (apple: NonceForm, google: NonceForm) = (.sha256Hex, .raw),
        _ configure: (inout SignInService.Configuration) -> Void = { _ in }
    ) throws -> SignInService {
        var configuration = service.configuration
        configure(&configuration)
        var resources = SignInService.Resources(
            database: storage ?? ServiceDatabase(database, keyRing: keyRing ?? self.keyRing),
            accessTokens: accessTokens, passwordHasher: passwordHasher ?? self.passwordHasher, clock: clock,
            logger: .silent)
        resources.exports = exports
        let providers = try Self.providers(nonceForms: nonceForms)
        return SignInService(
            configuration: configuration, apple: apple ? providers.apple : nil, google: google ? providers.google : nil,
            endpoints: .none, resources: resources)
    }

    /// The access tokens of another process.
    func tokens(
        keyRing: KeyRing? = nil, clock: ManualClock? = nil, log: RecordingLog? = nil
    ) async throws -> AccessTokens {
        try await AccessTokens(
            configuration: accessTokens.configuration, store: storage.signingKeys, keyRing: keyRing ?? self.keyRing,
            clock: clock ?? self.clock, logger: log?.logger ?? .silent)
    }

    /// Runs `body` with a service whose database can't be reached.
    func withUnreachableDatabase(_ body: (SignInService) async throws -> Void) async throws {
        let nowhere = Database(
            configuration: .init(
                url: "postgresql:///none?host=/nonexistent", poolSize: 1, acquireTimeout: .milliseconds(200)),
            logger: .silent)
        try await body(try service(storage: ServiceDatabase(nowhere, keyRing: keyRing)))
        await nowhere.shutdown()
    }
}
