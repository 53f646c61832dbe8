import Accounts
import KeyRing
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
    ///   - keyRing: the fixture's by default.
    ///   - storage: the fixture's by default.
    ///   - nonceForms: how the apps hand nonces to each provider's SDK.
    func service(
        apple: Bool = true, keyRing: KeyRing? = nil, storage: ServiceDatabase? = nil,
        passwordHasher: PasswordHasher? = nil,
        exports: FairLimit<Party> = PersonalDataExport.places(),
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
            configuration: configuration, apple: apple ? providers.apple : nil, google: providers.google,
            endpoints: .none, resources: resources)
    }
}
