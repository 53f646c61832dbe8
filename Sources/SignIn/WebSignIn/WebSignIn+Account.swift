package import Accounts
import Storage

/// Flows that begin at the page of the account, and end there.
extension WebSignIn {
    /// What the person of a flow that is over was about to do.
    package func errand(
        of id: WebFlowID, browser: BrowserSecret?, by call: Call
    ) async throws(SignInFailure) -> AccountErrand? {
        guard let browser else { return nil }
        return try await stored { try await store.errand(of: id, of: browser.hash, by: call) }
    }

    /// Sends the browser to a provider for an identity that is to open the session's account too.
    ///
    /// - Returns: the provider's URL.
    package func startLinking(
        _ provider: Provider, to session: Session, browser: BrowserSecret, languages: [String], by call: Call
    ) async throws(SignInFailure) -> String {
        try session.requireFresh(by: call)
        guard configuration.providers.contains(provider) else { throw .providerDisabled }
        let errand = AccountErrand(.link(provider), of: session.accountID, linkingTo: session.id)
        let flow = try await openAccountFlow(for: errand, browser: browser, by: call, languages: languages)
        return try await start(provider, in: FlowReference(id: flow.id, browser: browser), by: call)
    }

    /// Links the identity with which the browser has come back.
    ///
    /// - Parameter id: the session that it was sent from.
    func link(
        _ flow: StoredWebFlow, _ person: ProvenPerson, to id: SessionID, by call: Call
    ) async throws(SignInFailure) -> WebStep {
        guard case .identity(let identity, let grant, let name) = person else { throw .webFlowExpired }
        do throws(SignInFailure) {
            let session = try await linkingSession(id, of: person, by: call)
            try await identities.link(identity, grant: grant, name: name, to: session, by: call)
        } catch {
            return try await notLinked(flow, error)
        }
        try await end(flow, as: .spent)
        return .linked(identity.key.provider, languages: flow.languages)
    }

    /// The session to link to. Without it nothing keeps what the provider gave.
    private func linkingSession(
        _ id: SessionID, of person: ProvenPerson, by call: Call
    ) async throws(SignInFailure) -> Session {
        do throws(SignInFailure) {
            guard let session = try await sessions.session(id, by: call) else { throw .invalidSession }
            return session
        } catch {
            await credentials.abandon(person, after: error, by: call)
            throw error
        }
    }

    /// Back to the account, which is as it was.
    func notLinked(_ flow: StoredWebFlow, _ failure: SignInFailure?) async throws(SignInFailure) -> WebStep {
        try await end(flow, as: .failed)
        return .notLinked(failure, languages: flow.languages)
    }
}
