package import Accounts
import Logging
import OpenSSL
package import SignIn
import Storage

/// The browser way: from a client's request to the code at its redirect URI.
extension OAuthServer {
    package enum AuthorizeOutcome: Sendable {
        /// The person signs in, or decides.
        case opened(WebFlow)
        /// The client hears of it.
        case refused(to: String)
        /// The client or its redirect URI is unknown, so the error is a page of ours (RFC 6749 §4.1.2.1).
        case unknownClient
    }

    /// What the person of a flow has to do next.
    package enum ConsentStep: Sendable {
        case signIn(WebFlow)
        /// The client wants an address, and the account has none that is verified.
        case proveEmail(WebFlow, Account)
        /// Likewise, and the person has just signed in by a proof that was too old already to prove one.
        case signInOtherwise(WebFlow)
        /// Likewise, and no mail is sent that could prove one.
        case lackEmail(WebFlow, Account)
        case ask(Consent)
    }

    package struct Consent: Sendable {
        package let flow: WebFlow
        package let clientName: String
        package let account: Account
        package let scopes: OAuthScopes
        /// The client's own privacy policy, where it is known.
        package let privacyURL: String?
    }

    private static let googlesPrivacyURL = "https://policies.google.com/privacy"

    /// Opens a flow for a client's request.
    package func authorize(
        _ query: OAuthQuery, browser: BrowserSecret, by call: Call
    ) async throws(SignInFailure) -> AuthorizeOutcome {
        guard let web = signIn.web else { throw .fault(operation: "web sign-in is off") }
        let client = query.clientID.count == 1 ? try await self.client(query.clientID[0]) : nil
        switch OAuthAuthorization.decide(query, client: client, configured: configuration.scopes) {
        case .refuse:
            metrics.count(.authorize, .refused)
            return .unknownClient
        case .redirect(let error, let uri, let state):
            metrics.count(.authorize, .refused)
            return .refused(
                to: OAuthReturn.uri(error: error, to: uri, state: state, issuer: client.flatMap { issuer(for: $0) }))
        case .accept(let authorization):
            let flow = try await web.openOAuthFlow(
                authorization, clientName: client?.name ?? "",
                languages: OAuthAuthorization.languages(query),
                loginHint: OAuthAuthorization.loginHint(query), browser: browser, by: call)
            metrics.count(.authorize, .done)
            return .opened(flow)
        }
    }

    /// - Parameter session: the browser's, if it is signed in.
    package func consent(
        in reference: FlowReference, session: Session?, by call: Call
    ) async throws(SignInFailure) -> ConsentStep {
        let (flow, client, authorization) = try await request(in: reference, by: call)
        guard let session, let account = try await SignIn.stored({ try await accounts.account(session.accountID) }),
            account.status == .active
        else { return .signIn(flow) }
        if authorization.scopes.contains(.email), account.email == nil || !account.isEmailVerified {
            return emailStep(flow, account, session, at: call.now)
        }
        return .ask(
            Consent(
                flow: flow, clientName: client.name, account: account, scopes: authorization.scopes,
                privacyURL: client.isGoogles ? Self.googlesPrivacyURL : nil))
    }

    /// A code that proves an address is mailed for a fresh sign-in alone.
    private func emailStep(_ flow: WebFlow, _ account: Account, _ session: Session, at now: Timestamp) -> ConsentStep {
        guard signIn.web?.configuration.offersEmailCode == true else { return .lackEmail(flow, account) }
        guard !session.isFresh(at: now) else { return .proveEmail(flow, account) }
        // The next sign-in by the same provider may bring the same old proof: a page says so, and ends the loop.
        return session.isNew(at: now) ? .signInOtherwise(flow) : .signIn(flow)
    }

    package enum Decision: Sendable {
        /// For the account that the page named.
        case allow(AccountID?)
        case deny
    }

    /// What comes of a decision.
    package enum Decided: Sendable {
        /// The browser goes to the client.
        case redirect(to: String)
        /// The person can't decide yet, or has decided for an account that is no longer the signed-in one.
        case step(ConsentStep)
    }

    /// Takes the person's decision, of which a flow has one. Who clicks twice sends it twice, and sees the answer to the second
    /// alone: as long as the code waits for its client that is the answer to the first.
    package func decide(
        _ decision: Decision, in reference: FlowReference, session: Session?, by call: Call
    ) async throws(SignInFailure) -> Decided {
        do throws(SignInFailure) {
            return try await take(decision, in: reference, session: session, by: call)
        } catch {
            guard case .webFlowExpired = error,
                let before = try await answer(again: decision, in: reference, session: session, by: call)
            else { throw error }
            return .redirect(to: before)
        }
    }

    private func take(
        _ decision: Decision, in reference: FlowReference, session: Session?, by call: Call
    ) async throws(SignInFailure) -> Decided {
        guard case .allow(let shown) = decision else {
            return .redirect(to: try await refuse(reference, by: call))
        }
        let (_, client, authorization) = try await request(in: reference, by: call)
        let step = try await consent(in: reference, session: session, by: call)
        guard case .ask(let asked) = step, let session, asked.account.id == shown else { return .step(step) }
        let target = try await signIn.accounts.countingLink(of: session.accountID, by: call) {
            () throws(SignInFailure) in
            try await allow(authorization, of: client, in: reference, session: session, by: call)
        }
        return .redirect(to: target)
    }

    /// Ends the flow without a code.
    ///
    /// - Returns: the way back.
    private func refuse(_ reference: FlowReference, by call: Call) async throws(SignInFailure) -> String {
        let (web, _, authorization) = try await self.flow(reference, by: call)
        let wayBack = try await wayBack(from: authorization)
        try await web.refuse(reference, by: call)
        metrics.count(.consent, .refused)
        guard let wayBack else { throw .webFlowExpired }
        return wayBack
    }

    /// Ends the flow and issues the code. Where that fails the flow is over too: the client hears of it, and may ask again.
    private func allow(
        _ authorization: OAuthAuthorization, of client: OAuthClient, in reference: FlowReference, session: Session,
        by call: Call
    ) async throws(SignInFailure) -> String {
        guard let web = signIn.web else { throw .webFlowExpired }
        let code = OAuthSecret(code: try codes.code(in: reference))
        let new = NewOAuthCode(
            hash: code.hash, clientID: client.id, clientName: client.name, redirectURI: authorization.redirectURI,
            scopes: authorization.scopes, challenge: authorization.challenge, origin: .web,
            expiresAt: call.now.advanced(bySeconds: configuration.codeLifetime))
        do throws(SignInFailure) {
            try await web.allow(new, in: reference, of: session, by: call)
        } catch {
            if case .webFlowExpired = error { throw error }
            metrics.count(.consent, .unavailable)
            let answer = uri(heard(of: error, by: client), for: client, authorization)
            try await web.refuse(reference, by: call)
            return answer
        }
        metrics.count(.consent, .done)
        return uri(code, for: client, authorization)
    }

    /// What a client hears of a code that was not stored.
    private func heard(of failure: SignInFailure, by client: OAuthClient) -> AuthorizationError {
        var isFault = true
        switch failure {
        case .invalidSession: return .temporarilyUnavailable
        case .storageUnavailable: isFault = false
        default: break
        }
        logger.log(
            level: isFault ? .error : .warning, "oauth code not stored",
            metadata: ["clientId": "\(client.id)", "error": "\(String(reflecting: failure))"])
        return isFault ? .serverError : .temporarilyUnavailable
    }

    /// What a decision was answered with that comes once more. A form that allows is the same form, in the same session, and
    /// its code still waits.
    private func answer(
        again decision: Decision, in reference: FlowReference, session: Session?, by call: Call
    ) async throws(SignInFailure) -> String? {
        guard let web = signIn.web, let (authorization, isAllowed) = try await web.decided(reference, by: call) else {
            return nil
        }
        guard case .allow(let shown) = decision else {
            guard !isAllowed else { return nil }
            return try await wayBack(from: authorization)
        }
        guard isAllowed, let session, session.accountID == shown,
            let client = try await client(asking: authorization)
        else { return nil }
        let waiting = try await SignIn.stored {
            try await grants.waitingCodes(of: client.id, for: session.accountID, by: call)
        }
        guard !waiting.isEmpty else { return nil }
        let code = try await web.codeAgain(in: reference, from: codes, by: call) { code in
            let hash = OAuthSecret(code: code).hash
            return waiting.contains { constantTimeEquals($0.bytes, hash.bytes) }
        }
        guard let code else { return nil }
        return uri(OAuthSecret(code: code), for: client, authorization)
    }

    /// A client's flow that is under way, and what the client asks for.
    private func flow(
        _ reference: FlowReference, by call: Call
    ) async throws(SignInFailure) -> (web: WebSignIn, flow: WebFlow, authorization: OAuthAuthorization) {
        guard let web = signIn.web else { throw .webFlowExpired }
        let flow = try await web.flow(reference, by: call)
        guard case .oauth(let authorization, _) = flow.kind else { throw .webFlowExpired }
        return (web, flow, authorization)
    }

    /// The request of a flow, and its client as it is now. Where the client may no longer ask for this, the flow is over.
    private func request(
        in reference: FlowReference, by call: Call
    ) async throws(SignInFailure) -> (flow: WebFlow, client: OAuthClient, authorization: OAuthAuthorization) {
        let (web, flow, authorization) = try await self.flow(reference, by: call)
        guard let client = try await client(asking: authorization) else {
            try await web.refuse(reference, by: call)
            throw .webFlowExpired
        }
        return (flow, client, authorization)
    }

    /// Whether a client may still ask for what it has asked for.
    package func accepts(_ authorization: OAuthAuthorization) async throws(SignInFailure) -> Bool {
        try await client(asking: authorization) != nil
    }

    private func client(asking authorization: OAuthAuthorization) async throws(SignInFailure) -> OAuthClient? {
        guard let client = try await client(hearing: authorization),
            authorization.scopes.isSubset(of: client.allowedScopes(of: configuration.scopes)),
            authorization.challenge != nil || !client.requiresPKCE
        else { return nil }
        return client
    }

    /// The client of a request, if it may still have an answer at its redirect URI.
    private func client(hearing authorization: OAuthAuthorization) async throws(SignInFailure) -> OAuthClient? {
        guard let client = try await client(authorization.clientID.text), client.status == .active,
            client.redirectURI(matching: authorization.redirectURI) != nil
        else { return nil }
        return client
    }

    /// The way back to a client whose flow ends without a code; `nil` where it may have no answer there now. An error grants
    /// nothing: it also goes to a client that may no longer ask for this.
    package func wayBack(
        from authorization: OAuthAuthorization, saying error: AuthorizationError = .accessDenied
    ) async throws(SignInFailure) -> String? {
        guard let client = try await client(hearing: authorization) else { return nil }
        return uri(error, for: client, authorization)
    }

    private func uri(_ code: OAuthSecret, for client: OAuthClient, _ authorization: OAuthAuthorization) -> String {
        OAuthReturn.uri(
            code: code.text, to: authorization.redirectURI, state: authorization.state, issuer: issuer(for: client))
    }

    private func uri(
        _ error: AuthorizationError, for client: OAuthClient, _ authorization: OAuthAuthorization
    ) -> String {
        OAuthReturn.uri(
            error: error, to: authorization.redirectURI, state: authorization.state, issuer: issuer(for: client))
    }
}
