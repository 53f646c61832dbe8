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

    private func left(
        _ claim: WebFlowStore.Claim, _ provider: Provider, _ browser: BrowserSecret?, by call: Call
    ) async throws(SignInFailure) -> LeftWebFlow? {
        try await stored { try await store.left(waitingFor: claim, from: provider, for: browser?.hash, by: call) }
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

// MARK: - A provider's answer that comes once more

/// What a browser comes back from a provider with.
struct WebReturn {
    let provider: Provider
    /// `nil` when it can't be of a flow.
    let claim: WebFlowStore.Claim?
    /// What the codes are derived from that it is answered with.
    let form: [UInt8]

    init(handle: String) {
        provider = .apple
        claim = OpaqueSecret.hash(ofPresented: handle).map(WebFlowStore.Claim.handle)
        form = Array(handle.utf8)
    }

    init(_ answer: GoogleAnswer) {
        provider = .google
        claim = OpaqueSecret.hash(ofPresented: answer.state).map(WebFlowStore.Claim.state)
        // Who has gone back to Google's page, and taken another account there, comes with another code.
        form = Array("\(answer.state) \(answer.code ?? "")".utf8)
    }
}

extension WebSignIn {
    /// What an answer has come to that no flow waits for, because its browser has brought it before: loaded its page again, or
    /// asked for it twice. It is not verified a second time.
    func again(
        _ returned: WebReturn, browser: BrowserSecret?, by call: Call
    ) async throws(SignInFailure) -> WebStep {
        guard let claim = returned.claim, let browser,
            let left = try await left(claim, returned.provider, browser, by: call),
            let step = try await step(
                since: returned, in: FlowReference(id: left.flow.id, browser: browser, form: returned.form), by: call)
        else {
            note(.stateUnknown, provider: returned.provider, by: call)
            throw .webAnswerRefused
        }
        return step
    }

    private func step(
        since returned: WebReturn, in reference: FlowReference, by call: Call
    ) async throws(SignInFailure) -> WebStep? {
        // It may be under way for as long as the provider takes.
        let limit = credentials.codes.timeout.alone
        if let step = try await answer(toFormOf: reference, after: .webAnswerRefused, within: limit, by: call) {
            return step
        }
        let answered = try await stored {
            try await store.answered(reference.id, of: reference.browser.hash, by: call)
        }
        guard let flow = answered?.flow else { return nil }
        switch flow.status {
        case .new: return .choose(try await page(of: flow, by: call))
        case .linking: return .link(try await page(of: flow, by: call))
        case .spent where flow.errand?.session != nil: return .linked(returned.provider, languages: flow.languages)
        default: return nil
        }
    }
}
