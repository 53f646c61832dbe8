import Accounts
import Storage

/// What a browser comes back from a provider with.
struct WebReturn {
    let provider: Provider
    /// `nil` when it can't be of a flow.
    let claim: WebFlowStore.Claim?
    /// What the codes are derived from that it is answered with.
    let input: [UInt8]

    init(handle: String) {
        provider = .apple
        claim = OpaqueSecret.hash(ofPresented: handle).map(WebFlowStore.Claim.handle)
        input = Array(handle.utf8)
    }

    init(_ answer: GoogleAnswer) {
        provider = .google
        claim = OpaqueSecret.hash(ofPresented: answer.state).map(WebFlowStore.Claim.state)
        // Who has gone back to Google's page, and taken another account there, comes with another code.
        input = Array("\(answer.state) \(answer.code ?? "")".utf8)
    }
}

/// A provider's answer that comes once more.
extension WebSignIn {
    /// What an answer has come to that no flow waits for, because its browser has brought it before: loaded its page again, or
    /// asked for it twice. It is not verified a second time.
    func again(
        _ returned: WebReturn, browser: BrowserSecret?, by call: Call
    ) async throws(SignInFailure) -> WebStep {
        guard let claim = returned.claim, let browser,
            let left = try await left(claim, returned.provider, browser, by: call),
            let step = try await step(
                since: returned, in: FlowReference(id: left.flow.id, browser: browser, input: returned.input), by: call)
        else {
            note(.stateUnknown, provider: returned.provider, by: call)
            throw .webAnswerRefused
        }
        return step
    }

    private func step(
        since returned: WebReturn, in reference: FlowReference, by call: Call
    ) async throws(SignInFailure) -> WebStep? {
        // The address of the answer stays in the browser's history, and the flow's cookie on its disk. The session's was to go
        // with the browser's end.
        let earliest = call.now.advanced(bySeconds: -Lifetimes.webCodeSeconds(for: .https))
        // It may be under way for as long as the provider takes.
        let answered = try await answered(
            reference, after: .webAnswerRefused, sessionsSince: earliest, within: credentials.codes.timeout.alone,
            by: call)
        guard let answered else { return nil }
        if let before = try await stepAgain(answered, in: reference, by: call) { return before }
        let flow = answered.flow
        switch flow.status {
        case .new: return .choose(try await page(of: flow, by: call))
        case .linking: return .link(try await page(of: flow, by: call))
        case .spent where flow.errand?.session != nil:
            // A handle is one answer's alone, a state another one's of Google's too.
            return .linked(returned.provider == .apple ? .apple : nil, languages: flow.languages)
        default: return nil
        }
    }
}
