package import Accounts
import Primitives
import SignIn
import Storage

/// App Flip: the person's own app asks for a code, and hands it to Google's (docs/account-linking.md, "Three ways to
/// a link").
extension OAuthServer {
    package struct FlipRequest: Sendable {
        package let clientID: String
        package let redirectURI: String
        package let scope: String?
        package let isConsented: Bool

        package init(clientID: String, redirectURI: String, scope: String?, isConsented: Bool) {
            self.clientID = clientID
            self.redirectURI = redirectURI
            self.scope = scope
            self.isConsented = isConsented
        }
    }

    /// The word that the app hands to Google's app.
    package enum FlipRefusal: Error, Equatable, Sendable {
        /// The client, its URI or scope.
        case invalidRequest(String)
        case accessDenied
        /// The account or the client is disabled: another try can't help.
        case unrecoverable(String)
        /// There is no session, or it is too old.
        case cancelled(String)
        case failed(OAuthFailure)
    }

    package struct FlipCode: Sendable {
        package let code: String
        /// Seconds.
        package let expiresIn: Int64
    }

    /// - Parameter accessToken: of the app's session; nil when none came.
    package func flip(
        _ request: FlipRequest, accessToken: [UInt8]?, by call: Call
    ) async throws(FlipRefusal) -> FlipCode {
        try await metrics.counting(.flip) { () throws(FlipRefusal) in
            try await code(for: request, accessToken, by: call)
        }
    }

    private func code(
        for request: FlipRequest, _ accessToken: [UInt8]?, by call: Call
    ) async throws(FlipRefusal) -> FlipCode {
        let session = try await session(of: accessToken, by: call)
        if let limit = configuration.flipMaxAuthAge, session.authenticatedAt < call.now.advanced(bySeconds: -limit) {
            throw .cancelled("the sign-in is too old")
        }
        let found: OAuthClient?
        do throws(SignInFailure) {
            found = try await client(request.clientID)
        } catch {
            throw .failed(OAuthFailure(error))
        }
        guard let client = found else { throw .invalidRequest("client_id is unknown") }
        guard client.status == .active else { throw .unrecoverable("the client is disabled") }
        guard let uri = client.redirectURIs.first(where: { $0.text.hasSameBytes(as: request.redirectURI) }),
            uri.isForFlip
        else { throw .invalidRequest("redirect_uri is not one of the client's for App Flip") }
        let allowed = client.allowedScopes(of: configuration.scopes)
        // Google's test tool puts a plus between scopes.
        let requested = request.scope.map { $0.replacing("+", with: " ") }.map(OAuthScopes.init(parameter:)) ?? allowed
        guard let scopes = requested, !scopes.isEmpty, scopes.isSubset(of: allowed) else {
            throw .invalidRequest("scope is unknown or too wide")
        }
        guard request.isConsented else { throw .accessDenied }
        do {
            try await countLink(of: session.accountID, by: call)
            let secret = try OAuthSecret(.code)
            let new = NewOAuthCode(
                hash: secret.hash, clientID: client.id, clientName: client.name, redirectURI: uri.text, scopes: scopes,
                challenge: nil, origin: .flip, expiresAt: call.now.advanced(bySeconds: configuration.codeLifetime))
            try await grants.issue(new, in: session, by: call)
            return FlipCode(code: secret.text, expiresIn: configuration.codeLifetime)
        } catch Refusal.sessionGone {
            throw .cancelled("the session has ended")
        } catch let failure as OAuthFailure {
            throw .failed(failure)
        } catch {
            throw .failed(OAuthFailure(SignInFailure(stored: error)))
        }
    }

    private func session(of accessToken: [UInt8]?, by call: Call) async throws(FlipRefusal) -> Session {
        guard let accessToken else { throw .cancelled("no session") }
        do throws(SignInFailure) {
            return try await signIn.sessions.session(of: accessToken, by: call)
        } catch {
            guard case .invalidSession = error else { throw .failed(OAuthFailure(error)) }
        }
        if try await isOfDisabledAccount(accessToken) { throw .unrecoverable("the account is disabled") }
        throw .cancelled("the session has ended")
    }

    /// Disabling an account has ended its sessions too.
    private func isOfDisabledAccount(_ accessToken: [UInt8]) async throws(FlipRefusal) -> Bool {
        let id: SessionID
        do throws(SignInFailure) {
            id = try await signIn.accessTokens.session(of: accessToken)
        } catch {
            return false
        }
        do throws(OAuthFailure) {
            return try await stored { try await sessions.accountStatus(of: id) } == .disabled
        } catch {
            throw .failed(error)
        }
    }
}
