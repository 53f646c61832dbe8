package import Accounts
package import Storage

/// Flows of the OAuth server's clients, which end at its consent.
extension WebSignIn {
    /// Ends such a flow, once, and issues the client's code.
    package func allow(
        _ code: NewOAuthCode, in reference: FlowReference, of session: Session, by call: Call
    ) async throws(SignInFailure) {
        let isIssued = try await stored {
            try await store.allow(code, in: session, ending: reference.id, of: reference.browser.hash, by: call)
        }
        guard isIssued else { throw .webFlowExpired }
    }

    /// Ends such a flow, once, without a code.
    package func refuse(_ reference: FlowReference, by call: Call) async throws(SignInFailure) {
        let isEnded = try await stored {
            try await store.cancel(reference.id, of: reference.browser.hash, by: call)
        }
        guard isEnded else { throw .webFlowExpired }
    }

    /// What the client of a flow has asked for that is over, and whether it was allowed. A refusal is forgotten when the flow
    /// would have expired.
    package func decided(
        _ reference: FlowReference, by call: Call
    ) async throws(SignInFailure) -> (authorization: OAuthAuthorization, isAllowed: Bool)? {
        let left = try await stored { try await store.left(reference.id, for: reference.browser.hash, by: call) }
        guard let left, left.isOfBrowser, let request = OAuthFlowRequest(stored: left.flow.oauthRequest) else {
            return nil
        }
        switch left.flow.status {
        case .spent: return (authorization: request.authorization, isAllowed: true)
        case .failed where !left.hasExpired: return (authorization: request.authorization, isAllowed: false)
        default: return nil
        }
    }
}
