import HTTPTypes
import Hummingbird
import JOSE

/// One provider: its keys, its state, and what both providers' sides do alike.
struct Provider<Profile: ProviderProfile>: Sendable {
    typealias Accounts = ProviderAccounts<Profile>

    /// The `iss` of tokens.
    let issuer: String
    let accounts: Accounts
    let keys: ProviderKeys
    let mint: TokenMint
    let plan = BrowserPlan()
    let clock: SandboxClock
    let faults: FaultPlan
    let history: RequestHistory

    init(issuer: String, seed: Seed, store: KeyStore, clock: SandboxClock, faults: FaultPlan, history: RequestHistory) {
        self.issuer = issuer
        accounts = Accounts(seed: seed)
        keys = ProviderKeys(profile: Profile.keys(seed), store: store)
        mint = TokenMint(keys: keys, type: Profile.tokenType, store: store)
        (self.clock, self.faults, self.history) = (clock, faults, history)
    }

    var seed: Seed { accounts.seed }

    func reset() {
        keys.reset()
        accounts.reset()
        plan.reset()
    }

    /// The public documents: key set (RFC 7517 §5) and discovery.
    func addDocuments(to group: RouterGroup<SandboxContext>) {
        group.get("\(Profile.keysPath)") { _, _ in
            var published: [PublicJWK] = []
            for key in keys.fetch() { published.append(PublicJWK(try await key.material, keyID: key.id)) }
            var response = Response.json(document: PublicJWK.document(published))
            if let cacheControl = keys.cacheControl { response.headers[.cacheControl] = cacheControl }
            return response
        }
        group.get(".well-known/openid-configuration") { request, _ in
            Response.json(Profile.discovery(issuer: issuer, base: "\(request.origin)/\(Profile.name.folder)"))
        }
    }

    /// The provider's side of an authorization: records the consent and issues code and token.
    func authorize(_ request: AuthorizationRequest<Profile>) async throws -> (granted: Accounts.Granted, token: String)
    {
        // Before anything is recorded, so that a key that does not exist leaves no authorization behind.
        _ = try mint.signingKey(request.overrides)
        _ = try mint.signingKey(request.exchange.overrides)
        let now = clock.now
        let granted = try accounts.authorize(request, at: now)
        let period = request.overrides.period(at: now, lifetime: Profile.tokenLifetime)
        let token = try await mint.mint(Profile.claims(of: granted, period, self), overrides: request.overrides)
        return (granted, token)
    }

    // MARK: Endpoints

    func addEndpoint(
        _ path: String, to group: RouterGroup<SandboxContext>,
        _ respond: @escaping @Sendable (Request) async throws -> Response
    ) {
        group.post("\(path)") { request, _ in
            do {
                return try await respond(request)
            } catch let fault as EndpointForm.Fault {
                throw Profile.refusal(fault)
            }
        }
    }

    /// Adds an ID token to the answer to a code or a refresh, as the plan has it, and the plan's deviations.
    func tokens(
        _ answer: JSONObject, _ plan: ExchangePlan, at now: Int64, _ claims: (TokenPeriod) -> JSONObject
    ) async throws -> Response {
        var answer = answer
        if !plan.omitsIDToken {
            let period = plan.overrides.period(at: now, lifetime: Profile.tokenLifetime)
            answer.set("id_token", try await mint.mint(claims(period), overrides: plan.overrides))
        }
        plan.apply(to: &answer)
        return .uncached(answer)
    }
}

extension Request {
    /// The address under which this request reached the sandbox, so that discovery works behind a mapped port.
    var origin: String { "http://" + (head.authority ?? "127.0.0.1") }
}
