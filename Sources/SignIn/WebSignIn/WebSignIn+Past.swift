package import Accounts
import Storage

/// Flows in which nothing can be done any more: what became of them, and where their persons began.
extension WebSignIn {
    /// - Returns: `nil` where that isn't known. To another browser than its own each has expired, and leads to the page of
    ///   the account at most.
    package func pastFlow(_ id: WebFlowID, browser: BrowserSecret?) async throws(SignInFailure) -> PastWebFlow? {
        let found = try await stored { try await store.past(id, of: browser?.hash) }
        guard let found else { return nil }
        if found.isOfBrowser { return past(found.flow) }
        let isOfAccount = found.flow.kind == .account
        return PastWebFlow(isOver: false, wayBack: isOfAccount ? .account(languages: found.flow.languages) : nil)
    }

    /// The flow to which a provider's answer has come too late.
    package func lateFlow(state: String, from provider: Provider) async throws(SignInFailure) -> PastWebFlow? {
        guard let hash = OpaqueSecret.hash(ofPresented: state) else { return nil }
        return try await lateFlow(.state(hash), from: provider)
    }

    /// The same of Apple's answer that was held.
    package func lateFlow(handle: String) async throws(SignInFailure) -> PastWebFlow? {
        guard let hash = OpaqueSecret.hash(ofPresented: handle) else { return nil }
        return try await lateFlow(.handle(hash), from: .apple)
    }

    private func lateFlow(
        _ claim: WebFlowStore.Claim, from provider: Provider
    ) async throws(SignInFailure) -> PastWebFlow? {
        let flow = try await stored { try await store.waiting(for: claim, from: provider) }
        return flow.map { past($0) }
    }

    private func past(_ flow: StoredWebFlow) -> PastWebFlow {
        PastWebFlow(isOver: flow.status.isOver, wayBack: wayBack(from: flow))
    }

    /// What an app or a client has begun, only it can begin again. An app gets an error, unless it knows what came of the
    /// flow.
    private func wayBack(from flow: StoredWebFlow) -> PastWebFlow.WayBack? {
        switch flow.kind {
        case .account: return .account(languages: flow.languages)
        case .app where !flow.status.isOver:
            let answer = try? appReturn(.error(.accessDenied), of: flow)
            guard let answer, answer.kind == .https else { return nil }
            return .app(answer)
        case .app, .oauth: return nil
        }
    }
}
