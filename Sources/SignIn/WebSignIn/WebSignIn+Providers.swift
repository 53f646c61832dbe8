package import Accounts
import JOSE
import Logging
import OpenSSL
import Primitives
import Storage

/// The way to a provider and back.
extension WebSignIn {
    /// Redirects the browser to a provider. Starting again replaces the flow's earlier `state`, nonce and PKCE
    /// verifier.
    ///
    /// - Returns: the provider's URL.
    package func start(
        _ provider: Provider, in reference: FlowReference, by call: Call
    ) async throws(SignInFailure) -> String {
        let flow = try await readOpen(reference, by: call)
        return try await start(provider, in: reference, only: flow.onlyProvider, loginHint: flow.loginHint, by: call)
    }

    /// The same of a flow that was opened just now.
    package func start(
        _ provider: Provider, _ flow: WebFlow, browser: BrowserSecret, by call: Call
    ) async throws(SignInFailure) -> String {
        try await start(
            provider, in: FlowReference(id: flow.id, browser: browser), only: flow.only, loginHint: flow.loginHint,
            by: call)
    }

    /// Sends the browser of a person who has a ticket to a provider, by which the account that is shown is entered: that
    /// identity of it proves it.
    ///
    /// - Parameter replaced: the identity of the account that the proof lets the ticket's replace.
    /// - Returns: the provider's URL.
    package func startProof(
        by provider: Provider, replacing replaced: IdentityID? = nil, in reference: FlowReference, by call: Call
    ) async throws(SignInFailure) -> String {
        let flow = try await read(reference, by: call)
        let ticket = try flow.ticket(for: reference)
        guard try await linkRequired(ticket, by: call).provers.contains(provider) else { throw .webFlowExpired }
        // The flow comes back to its ticket whatever the answer was, so each way there counts as a flow of its own.
        try await limits.drawNetworks(.webFlowsPerNetwork, by: call)
        return try await start(
            provider, in: reference, only: flow.onlyProvider, loginHint: flow.loginHint, replacing: replaced, by: call)
    }

    private func start(
        _ provider: Provider, in reference: FlowReference, only: Provider?, loginHint: String?,
        replacing replaced: IdentityID? = nil, by call: Call
    ) async throws(SignInFailure) -> String {
        try await steps.counting(.start) { () throws(SignInFailure) in
            guard only == nil || only == provider else { throw .providerDisabled }
            let state = try OpaqueSecret.fresh()
            let secrets = WebFlowSecrets(
                nonce: try OpaqueSecret.fresh().text,
                // Apple documents no challenge.
                verifier: provider == .google ? try OpaqueSecret.fresh().text : nil, replacing: replaced)
            let (url, request) = try self.request(to: provider, state: state, secrets: secrets, loginHint: loginHint)
            let isSent = try await stored {
                try await store.send(reference.id, of: reference.browser.hash, to: request, by: call)
            }
            guard isSent else { throw .webFlowExpired }
            return url
        }
    }

    private func request(
        to provider: Provider, state: OpaqueSecret, secrets: WebFlowSecrets, loginHint: String?
    ) throws(SignInFailure) -> (url: String, request: WebProviderRequest) {
        let callback = configuration.callbackURL(of: provider)
        let nonce = try credentials.nonceClaim(for: secrets.nonce, at: provider)
        let url: String
        let clientID: ProviderClientID
        let realm: Realm
        switch provider {
        case .apple:
            guard let apple = configuration.apple else { throw .providerDisabled }
            clientID = apple.servicesID
            realm = apple.realm
            url = URIQuery.appending(
                [
                    ("client_id", clientID.text), ("redirect_uri", callback), ("response_type", "code id_token"),
                    // What a scope requires.
                    ("response_mode", "form_post"), ("scope", "name email"), ("state", state.text), ("nonce", nonce),
                ], to: apple.authorizeURL)
        case .google:
            guard let google = configuration.google else { throw .providerDisabled }
            clientID = google.clientID
            realm = .main
            var parameters = [
                ("client_id", clientID.text), ("redirect_uri", callback), ("response_type", "code"),
                ("scope", "openid email profile"), ("state", state.text), ("nonce", nonce),
                // No account is taken without asking: it may be another person's.
                ("prompt", "select_account"),
            ]
            if let verifier = secrets.verifier {
                parameters += [
                    ("code_challenge", CodeChallenge.s256(of: verifier)), ("code_challenge_method", "S256"),
                ]
            }
            if let loginHint { parameters.append(("login_hint", loginHint)) }
            // A hint for the page. The claim is checked.
            switch google.hostedDomains.count {
            case 0: break
            case 1: parameters.append(("hd", google.hostedDomains[0]))
            default: parameters.append(("hd", "*"))
            }
            url = URIQuery.appending(parameters, to: google.authorizeURL)
        }
        return (
            url,
            WebProviderRequest(
                provider: provider, realm: realm, clientID: clientID, redirectURI: callback, stateHash: state.hash,
                secrets: secrets)
        )
    }

    // MARK: Apple

    /// Holds what Apple has made the browser post: cookies don't come along with such a post.
    ///
    /// - Returns: the handle by which the browser comes for it.
    package func hold(_ answer: AppleAnswer, by call: Call) async throws(SignInFailure) -> String {
        try await steps.counting(.hold) { () throws(SignInFailure) in
            let handle = try OpaqueSecret.fresh()
            let held = HeldAnswer(code: answer.code, idToken: answer.idToken, user: answer.user, error: answer.error)
            guard let state = OpaqueSecret.hash(ofPresented: answer.state),
                try await stored({
                    try await store.hold(held, ofState: state, handleHash: handle.hash, by: call)
                })
            else {
                note(.stateUnknown, provider: .apple, by: call)
                throw .webAnswerRefused
            }
            return handle.text
        }
    }

    /// Verifies the answer that the browser comes for, and ends the flow. One that comes once more has the same step.
    package func finishApple(
        handle: String, browser: BrowserSecret?, by call: Call
    ) async throws(SignInFailure) -> WebStep {
        try await steps.counting(.finish, as: \.stepOutcome) { () throws(SignInFailure) in
            let returned = WebReturn(handle: handle)
            guard
                let (answer, reference) = try await take(
                    returned, as: configuration.apple?.servicesID, browser: browser, by: call)
            else { return try await again(returned, browser: browser, by: call) }
            guard let held = answer.held, let secrets = answer.secrets else {
                throw .fault(operation: "read a held answer")
            }
            if let error = held.error { return try await decline(answer.flow, reference, error: error, by: call) }
            return try await finish(answer.flow, reference, at: .apple, replacing: secrets.replaced, by: call) {
                () throws(SignInFailure) in
                try await credentials.apple(
                    held, clientID: answer.clientID, redirectURI: answer.redirectURI, secrets, by: call)
            }
        }
    }

    // MARK: Google

    /// Verifies what the browser has come back with, and ends the flow. What comes once more has the same step.
    package func finishGoogle(
        _ answer: GoogleAnswer, browser: BrowserSecret?, by call: Call
    ) async throws(SignInFailure) -> WebStep {
        try await steps.counting(.finish, as: \.stepOutcome) { () throws(SignInFailure) in
            let returned = WebReturn(answer)
            guard
                let (taken, reference) = try await take(
                    returned, as: configuration.google?.clientID, browser: browser, by: call)
            else { return try await again(returned, browser: browser, by: call) }
            guard let secrets = taken.secrets else { throw .fault(operation: "read a flow's secrets") }
            guard isIssuedByGoogle(answer) else {
                note(.issuerMismatch, provider: .google, by: call)
                return try await fail(taken.flow, .credentialRejected(.issuerRejected, retryAfter: nil), by: call)
            }
            if let error = answer.error { return try await decline(taken.flow, reference, error: error, by: call) }
            return try await finish(taken.flow, reference, at: .google, replacing: secrets.replaced, by: call) {
                () throws(SignInFailure) in
                try await credentials.google(
                    answer.code, clientID: taken.clientID, redirectURI: taken.redirectURI, secrets, by: call)
            }
        }
    }

    /// Mix-up defence (RFC 9207 §2.4): `iss` has to be one of Google's. A response without `iss` passes unless
    /// `requireIssuer` is set.
    private func isIssuedByGoogle(_ answer: GoogleAnswer) -> Bool {
        guard let issuer = answer.issuer else { return configuration.google?.requireIssuer == false }
        return credentials.googleIssuers.contains { $0.hasSameBytes(as: issuer) }
    }

    // MARK: Both

    /// Takes the flow that waits for this answer. From here on it is spent.
    ///
    /// - Returns: `nil` when none waits for it.
    private func take(
        _ returned: WebReturn, as clientID: ProviderClientID?, browser: BrowserSecret?, by call: Call
    ) async throws(SignInFailure) -> (WebAnswer, FlowReference)? {
        let provider = returned.provider
        guard let claim = returned.claim,
            let answer = try await stored({
                try await store.take(claim, from: provider, by: browser?.hash, by: call)
            })
        else { return nil }
        guard let browser, answer.isOfBrowser else {
            note(.browserMismatch, provider: provider, by: call)
            throw browser == nil ? .webCookieMissing : .webAnswerRefused
        }
        // The configuration has changed meanwhile.
        guard let clientID, answer.clientID == clientID,
            answer.redirectURI.hasSameBytes(as: configuration.callbackURL(of: provider))
        else {
            try await end(answer.flow, as: .failed)
            throw .webFlowExpired
        }
        return (answer, FlowReference(id: answer.flow.id, browser: browser, input: returned.input))
    }

    private func finish(
        _ flow: StoredWebFlow, _ reference: FlowReference, at provider: Provider, replacing replaced: IdentityID?,
        by call: Call, _ verify: () async throws(SignInFailure) -> ProvenPerson
    ) async throws(SignInFailure) -> WebStep {
        // The address that the browser comes back to names none.
        let call = calls.preferring(flow.languages, in: call)
        let person: ProvenPerson
        do throws(SignInFailure) {
            try requireSigner(toEnd: flow, by: call)
            person = try await verify()
        } catch {
            if flow.errand?.session != nil { return try await notLinked(flow, error) }
            credentials.metrics.signIns.count(.init(provider), OutcomeLabel(error))
            guard flow.linkTicket != nil else { return try await fail(flow, error, by: call) }
            return try await unproven(flow, .refused(error), by: call)
        }
        if let session = flow.errand?.session { return try await link(flow, person, to: session, by: call) }
        if let ticket = flow.linkTicket {
            return try await prove(
                flow, ticket, by: person, replacing: replaced, answering: reference, by: call)
        }
        return try await settle(flow, person, answering: reference, by: call)
    }

    /// The provider has refused, or the person there: they choose another way, unless the app wants this one alone.
    private func decline(
        _ flow: StoredWebFlow, _ reference: FlowReference, error: String, by call: Call
    ) async throws(SignInFailure) -> WebStep {
        let isCancelled = ["user_cancelled_authorize", "access_denied"].contains { $0.hasSameBytes(as: error) }
        let refusal = SignInFailure.providerUnavailable(retryAfter: 5, reason: "provider_error")
        if flow.linkTicket != nil {
            return try await unproven(flow, isCancelled ? .cancelled : .refused(refusal), by: call)
        }
        if flow.errand?.session != nil { return try await notLinked(flow, isCancelled ? nil : refusal) }
        if isCancelled, flow.onlyProvider == nil {
            let reopened = try await stored { try await store.reopen(flow.id, of: reference.browser.hash, by: call) }
            guard let reopened else { throw .webFlowExpired }
            return .choose(try await page(of: reopened, by: call), after: .cancelled)
        }
        return try await fail(flow, refusal, as: isCancelled ? .accessDenied : .serverError, by: call)
    }

    /// Ends a flow whose person could not be proven, or not be signed in.
    ///
    /// - Parameter error: what an app or a client gets; unless given, no more than whether to try again.
    func fail(
        _ flow: StoredWebFlow, _ failure: SignInFailure, as error: AuthorizationError? = nil, by call: Call
    ) async throws(SignInFailure) -> WebStep {
        do throws(SignInFailure) {
            try await end(flow, as: .failed)
        } catch {
            // Nobody else can continue it, and it is over in minutes.
            logger.warning("failed web flow not ended", metadata: ["flowId": "\(flow.id)"])
        }
        if case .fault(let operation) = failure {
            logger.error("web flow failed", metadata: ["flowId": "\(flow.id)", "operation": "\(operation)"])
        }
        let error = error ?? (failure.isTemporary ? .temporarilyUnavailable : .serverError)
        switch flow.kind {
        case .app: return .returned(try appReturn(.error(error), of: flow))
        case .oauth:
            guard let request = OAuthFlowRequest(stored: flow.oauthRequest) else { throw failure }
            return .refusedClient(request.authorization, error, failure)
        case .account: return .failed(try await page(of: flow, as: .failed, by: call), failure)
        }
    }
}

extension SignInFailure {
    /// Whether trying again may help.
    fileprivate var isTemporary: Bool {
        switch self {
        // As where the keys may not be fetched again yet.
        case .credentialRejected(_, let retryAfter): retryAfter != nil
        case .rateLimited: true
        case .fault: false
        default: OutcomeLabel(self).outcome == .unavailable
        }
    }
}

extension CodeChallenge {
    /// The challenge of a verifier (RFC 7636 §4.2).
    package static func s256(of verifier: String) -> String { Base64URL.encode(SHA256.hash(Array(verifier.utf8))) }

    /// That of a verifier which a client presents (§4.6); of what can't be one, nothing that a challenge is.
    package static func s256(ofPresented text: String) -> String { isVerifier(text) ? s256(of: text) : "" }
}
