public import Foundation

extension SignInClient {
    /// Answers a request of another app: the URL to open, with universal links only.
    ///
    /// A request is answered once: later calls, also of other tasks and after a restart within ten minutes, give the
    /// first URL and ask nothing. The answer is kept before it is returned. An app that is ended before that has opened
    /// nothing, and the next call asks the server again; a code that was never opened expires unused.
    ///
    /// The person has to be signed in already: without a session the answer is `cancelled`, and the other app goes on in
    /// the browser.
    ///
    /// - Parameter consent: what the person decided. A refusal needs no network.
    public func answer(_ request: AppFlipRequest, consent: Bool) async -> URL {
        let key = request.key
        if let first = keptAnswer(to: key) { return first }
        if let first = answering[key] { return await first.value }
        // A task of its own: a caller that is cancelled must not leave two answers to one request.
        let answer = Task { () -> URL in
            let url = consent ? await ask(request) : request.failure(.accessDenied)
            // What the store did not take stays an answer as long as the process lives.
            if (try? keepAnswer(url, to: key, until: now().addingTimeInterval(600))) != nil { answering[key] = nil }
            return url
        }
        answering[key] = answer
        return await answer.value
    }

    private func ask(_ request: AppFlipRequest) async -> URL {
        var body: [String: JSONValue] = [
            "client_id": .string(request.clientID), "redirect_uri": .string(request.redirectURI), "platform": "ios",
            "consent": true,
        ]
        // Without a scope the server gives all that the client may have.
        if !request.scopes.isEmpty { body["scope"] = .string(request.scopes.joined(separator: " ")) }
        do throws(SessionError) {
            // This 401 does not say whether a refresh helps; the body holds no code and may be sent again.
            let answer = try await send("oauth/flip", body, isRefusal: { $0.status == 401 })
            let members = JSONValue.object(in: answer.body) ?? [:]
            if answer.status == 200 {
                guard let code = members["code"]?.string, !code.isEmpty else { return request.failure(.cancelled) }
                return request.success(code: code)
            }
            // What is not of the server, or of a later version of it, says nothing about the person: the browser may do
            // better.
            return request.failure(members["flip_error"]?.string.flatMap(AppFlipError.init) ?? .cancelled)
        } catch {
            return request.failure(error.flipError)
        }
    }
}

extension SessionError {
    /// What a session that can't be used means to the app that asked.
    fileprivate var flipError: AppFlipError {
        switch self {
        case .refused("account_disabled", _, _): .unrecoverable
        case .reauthenticate, .transient, .insecureRequest, .noSession, .cancelled, .refused, .storage: .cancelled
        }
    }
}
