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
        let keys = KeySource.fixed(try TokenMint.shared.keySet)
        return SignInService(
            configuration: configuration,
            apple: apple
                ? AppleProvider(
                    configuration: .init(
                        teams: [.init(clientIDs: [ProviderClientID(SignInFixture.appleClient)])],
                        nonceForm: nonceForms.apple), keys: keys
                )
                : nil,
            google: GoogleProvider(
                configuration: .init(
                    clientIDs: [ProviderClientID(SignInFixture.googleClient)], nonceForm: nonceForms.google), keys: keys
            ),
            endpoints: .none, resources: resources)
    }
}
