import Hummingbird

/// The providers that the sandbox stands in for.
enum ProviderName: String, Sendable {
    case apple = "Apple"
    case google = "Google"

    /// The first part of the provider's paths.
    var folder: String { rawValue.lowercased() }

    var pagePath: String {
        switch self {
        case .apple: "/apple/auth/authorize"
        case .google: "/google/o/oauth2/v2/auth"
        }
    }
}

protocol ProviderPerson: Sendable {
    /// The name that tests and developers use for the person; no token has it.
    var name: String { get }
    var email: String? { get }
    var givenName: String? { get }
    var familyName: String? { get }

    init(name: String)

    /// Applies the members that are present; the others stay unchanged.
    mutating func update(_ members: ControlMembers)
}

extension ProviderPerson {
    var displayName: String? {
        let parts = [givenName, familyName].compactMap { $0 }
        return parts.isEmpty ? nil : parts.joined(separator: " ")
    }
}

/// A browser's authorization request, checked.
protocol BrowserRequest: Sendable {
    associatedtype Scope: Hashable & Sendable

    var clientID: String { get }
    var redirectURI: String { get }
    var mode: BrowserAnswer.Mode { get }
    var scopes: Set<Scope> { get }
    var nonce: String? { get }
}

/// What one provider does in its own way; `Provider` and `ProviderAccounts` do what both do alike.
protocol ProviderProfile: Sendable {
    associatedtype Person: ProviderPerson
    associatedtype Scope: RawRepresentable<String> & CaseIterable & Hashable & Sendable
    /// What developers have registered.
    associatedtype Registry: Sendable
    /// The members of an authorization that the other provider's don't have.
    associatedtype Options: Sendable
    associatedtype Asked: BrowserRequest where Asked.Scope == Scope

    static var name: ProviderName { get }
    /// The path of the key set, under the provider's own.
    static var keysPath: String { get }
    /// The `typ` in the header of tokens.
    static var tokenType: String? { get }
    /// Seconds.
    static var codeLifetime: Int64 { get }
    /// Seconds.
    static var accessLifetime: Int64 { get }
    /// Seconds from `iat` to `exp`.
    static var tokenLifetime: Int64 { get }
    /// Seconds without use that end a refresh token.
    static var disuse: Int64? { get }
    /// Whether an app gets an access token beside the code.
    static var givesAppAccessToken: Bool { get }

    static func keys(_ seed: Seed) -> ProviderKeys.Profile
    /// - Parameter base: the address of the provider's side.
    static func discovery(issuer: String, base: String) -> JSONObject

    // MARK: Authorizations

    static func registry() -> Registry
    static func options(_ members: ControlMembers, clientID: String) -> Options
    /// The address that the client gets. A choice of the person in this authorization is kept.
    static func share(
        _ person: inout Person, by request: AuthorizationRequest<Self>, isFirst: Bool, _ registry: Registry, seed: Seed
    ) -> String?
    static func code(_ number: String, seed: Seed) -> String
    static func accessToken(_ origin: String, seed: Seed) -> String
    /// The refresh token of an exchange, nil where there is none.
    static func newRefreshToken(
        for code: String, of pair: Pair, _ identity: Identity<Self>, _ state: inout State, seed: Seed, at now: Int64
    ) -> String?
    /// What the exchange of a code is held to.
    static func check(_ form: EndpointForm, against identity: Identity<Self>) throws(EndpointRefusal)
    static func claims(of granted: ProviderAccounts<Self>.Granted, _ period: TokenPeriod, _ provider: Provider<Self>)
        -> JSONObject
    /// The provider's present names of a person for a client, in the listing of authorizations.
    static func listing(_ person: Person, _ clientID: String, _ state: State, seed: Seed, at now: Int64) -> JSONObject
    static func refusal(_ fault: GrantFault, of parameter: String) -> EndpointRefusal
    static func refusal(_ fault: EndpointForm.Fault) -> EndpointRefusal

    // MARK: The page

    static func asked(_ request: Request, _ provider: Provider<Self>) throws(BrowserRefusal) -> Asked
    /// What happens without a page; nil shows one.
    static func outcome(_ asked: Asked, _ waiting: BrowserChoice?, _ provider: Provider<Self>) -> BrowserOutcome?
    /// In the order of the page.
    static func listed(_ persons: [Person], _ asked: Asked, seed: Seed) -> [Person]
    /// Throws where this client is not for the person.
    static func admit(_ person: Person, _ asked: Asked, _ provider: Provider<Self>) throws(BrowserRefusal)
    static func needsConsentPage(_ asked: Asked, person: String?, _ provider: Provider<Self>) -> Bool
    static func consentFields(_ asked: Asked, _ person: Person, _ provider: Provider<Self>) -> HTML
    static func answer(
        _ asked: Asked, _ person: Person, _ choice: BrowserChoice, _ alteration: BrowserAlteration,
        _ provider: Provider<Self>
    ) async throws -> KeyValuePairs<String, String?>
    /// The parameters of an answer without a code.
    static func refused(_ asked: Asked, _ error: String, _ provider: Provider<Self>) -> KeyValuePairs<String, String?>
    static var cancelled: String { get }

    // MARK: Controls

    static func json(_ person: Person, _ provider: Provider<Self>) -> JSONObject
    static func json(_ granted: ProviderAccounts<Self>.Granted, token: String, _ provider: Provider<Self>) -> JSONObject
}

/// What an authorization page does for a browser without a person's click.
enum BrowserOutcome: Sendable {
    case choice(BrowserChoice)
    case error(String)
}

extension ProviderProfile {
    typealias State = ProviderAccounts<Self>.State
    typealias Pair = AuthorizationLedger<Identity<Self>>.Pair

    static func outcome(_ asked: Asked, _ waiting: BrowserChoice?, _ provider: Provider<Self>) -> BrowserOutcome? {
        waiting.map(BrowserOutcome.choice)
    }

    static func listed(_ persons: [Person], _ asked: Asked, seed: Seed) -> [Person] { persons }

    static func admit(_ person: Person, _ asked: Asked, _ provider: Provider<Self>) throws(BrowserRefusal) {}

    static func needsConsentPage(_ asked: Asked, person: String?, _ provider: Provider<Self>) -> Bool { true }
}
