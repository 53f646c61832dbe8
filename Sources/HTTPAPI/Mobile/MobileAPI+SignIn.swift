import Accounts
import SignIn

extension MobileAPI {
    var signInRoutes: [Route] {
        [
            Route(.post, "/v1/sign-in/apple") { request in
                try await signIn(request, with: .apple, token: "identityToken", code: "authorizationCode")
            },
            Route(.post, "/v1/sign-in/google") { request in
                try await signIn(request, with: .google, token: "idToken", code: "serverAuthCode")
            },
            Route(.post, "/v1/sign-in/password") { request in
                let (email, password, device) = try request.fields { fields in
                    (fields.string("email"), fields.string("password", maximumBytes: 4096), try fields.device())
                }
                let signedIn = try await service.signIn(
                    email: email, password: password, client: request.caller(device: device))
                return .json { $0.members(of: signedIn) }
            },
        ]
    }

    private func signIn(
        _ request: Request, with provider: Provider, token: String, code: String
    ) async throws -> Response {
        let (credential, device) = try request.fields { fields in
            // A token of more than this is refused before anything looks at it.
            let tokenText = fields.optionalString(token, maximumBytes: 16 * 1024)
            let codeText = fields.optionalString(code, maximumBytes: 1024)
            if tokenText == nil, codeText == nil { fields.refuse(token, .required) }
            let nonce = fields.optionalString("nonce", maximumBytes: 512)
            let clientID = fields.optionalString("clientId", maximumBytes: 256)
            var redirectURI: String?
            var fullName: DisplayName?
            if provider == .apple {
                redirectURI = fields.optionalString("redirectUri", maximumBytes: 2048)
                fullName = try fields.fullName()
            }
            let credential = ProviderCredential(
                token: tokenText, code: codeText, nonce: nonce, clientID: clientID, redirectURI: redirectURI,
                fullName: fullName)
            return (credential, try fields.device())
        }
        switch try await service.signIn(with: provider, credential, client: request.caller(device: device)) {
        case .signedIn(let signedIn): return .json { $0.members(of: signedIn) }
        case .linkRequired(let linkRequired): return .json { $0.members(of: linkRequired) }
        }
    }
}

extension RequestFields {
    /// Apple's `fullName`: handed to the phone once, at first consent.
    fileprivate mutating func fullName() throws -> DisplayName? {
        let name: DisplayName?? = try optionalObject("fullName") { name in
            DisplayName(
                givenName: name.optionalString("givenName", maximumBytes: 512),
                familyName: name.optionalString("familyName", maximumBytes: 512))
        }
        return name ?? nil
    }
}
