package import Accounts
import Storage

/// Flows in which nothing can be done any more: what became of them, and where their persons began.
extension WebSignIn {
    /// - Returns: `nil` where that isn't known.
    package func pastFlow(
        _ id: WebFlowID, browser: BrowserSecret?, by call: Call
    ) async throws(SignInFailure) -> PastWebFlow? {
        let left = try await stored { try await store.left(id, for: browser?.hash, by: call) }
        return left.map { past($0) }
    }

    /// The flow to which Google's answer has come too late, or once more.
    package func lateFlow(
        of answer: GoogleAnswer, browser: BrowserSecret?, by call: Call
    ) async throws(SignInFailure) -> PastWebFlow? {
        try await late(WebReturn(answer), browser, by: call)
    }

    /// The same of Apple's answer that was held.
    package func lateFlow(
        ofHandle handle: String, browser: BrowserSecret?, by call: Call
    ) async throws(SignInFailure) -> PastWebFlow? {
        try await late(WebReturn(handle: handle), browser, by: call)
    }

    /// The same of Apple's that was to be held. It is posted from another site, without the cookie: the state alone says whose
    /// it is, and what has come before is not known.
    package func lateFlow(ofApple state: String, by call: Call) async throws(SignInFailure) -> PastWebFlow? {
        guard let state = OpaqueSecret.hash(ofPresented: state) else { return nil }
        return try await left(.state(state), .apple, nil, by: call).map { past($0, lacksCookie: true) }
    }

    private func late(
        _ returned: WebReturn, _ browser: BrowserSecret?, by call: Call
    ) async throws(SignInFailure) -> PastWebFlow? {
        guard let claim = returned.claim, let left = try await left(claim, returned.provider, browser, by: call),
            // It is neither over nor too late.
            left.flow.status != .verifying
        else { return nil }
        return past(left)
    }

    func left(
        _ claim: WebFlowStore.Claim, _ provider: Provider, _ browser: BrowserSecret?, by call: Call
    ) async throws(SignInFailure) -> LeftWebFlow? {
        try await stored { try await store.left(by: claim, from: provider, for: browser?.hash, by: call) }
    }

    /// To another browser than its own each has expired, and leads to the page of the account at most.
    ///
    /// - Parameter lacksCookie: whether its own browser can't show that it is.
    private func past(_ left: LeftWebFlow, lacksCookie: Bool = false) -> PastWebFlow {
        let isOfBrowser = lacksCookie || left.isOfBrowser
        return PastWebFlow(
            isOfBrowser: isOfBrowser, isOver: isOfBrowser && left.flow.status.isOver, hasExpired: left.hasExpired,
            languages: left.flow.languages,
            wayBack: isOfBrowser || left.flow.kind == .account ? wayBack(from: left.flow) : nil)
    }

    /// What an app or a client has begun, only it can begin again. It gets an error, unless it knows what came of the flow; a
    /// client may get one again, as a flow also fails of which it has not heard.
    private func wayBack(from flow: StoredWebFlow) -> PastWebFlow.WayBack? {
        switch flow.kind {
        case .account: return .account
        case .app where !flow.status.isOver:
            let answer = try? appReturn(.error(.accessDenied), of: flow)
            guard let answer, answer.kind == .https else { return nil }
            return .app(answer)
        case .oauth where flow.status != .spent:
            guard let request = OAuthFlowRequest(stored: flow.oauthRequest) else { return nil }
            return .client(request.authorization, name: request.clientName)
        case .app, .oauth: return nil
        }
    }
}
