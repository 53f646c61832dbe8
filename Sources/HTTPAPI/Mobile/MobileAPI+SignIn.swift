import Accounts
import HTTPServer
import SignIn

extension MobileAPI {
    var signInRoutes: [Route] {
        [
            Route(.post, "/v1/sign-in/apple") { try await signIn($0, with: .apple) },
            Route(.post, "/v1/sign-in/google") { try await signIn($0, with: .google) },
            Route(.post, "/v1/sign-in/password") { request in
                let call = call(of: request)
                let (email, password, device) = try request.fields { fields in
                    (
                        fields.string("email"), fields.string("password", maximumBytes: FieldLimit.password),
                        fields.device()
                    )
                }
                request.note(email: email)
                let signedIn = try await service.passwords.signIn(
                    email: email, password: password, by: call.with(device))
                return .json { $0.members(of: signedIn) }
            },
            Route(.post, "/v1/sign-in/email-code") { request in
                let call = call(of: request)
                let (email, code, device) = try request.fields { fields in
                    (
                        fields.string("email"), fields.string("code", maximumBytes: FieldLimit.emailCode),
                        fields.device()
                    )
                }
                request.note(email: email)
                let answer = try await service.emailCodes.signIn(email: email, code: code, by: call.with(device))
                return response(to: request, answer)
            },
        ]
    }

    private func signIn(_ request: Request, with provider: Provider) async throws -> Response {
        let (credential, device) = try request.fields { $0.providerCredential(of: provider) }
        let answer = try await service.providers.signIn(with: provider, credential, by: call(of: request).with(device))
        return response(to: request, answer)
    }

    func response(to request: Request, _ answer: SignInAnswer) -> Response {
        switch answer {
        case .signedIn(let signedIn):
            request.note(email: signedIn.account.email?.text)
            return .json { $0.members(of: signedIn) }
        case .linkRequired(let linkRequired):
            request.note(email: linkRequired.person.email?.text)
            return .json { $0.members(of: linkRequired) }
        }
    }
}

extension Fields {
    /// The credential that the app got from a provider's SDK, under the SDK's names.
    mutating func providerCredential(of provider: Provider) -> (ProviderCredential, Device?) {
        let token = ProviderCredential.tokenMember(of: provider)
        let code = ProviderCredential.codeMember(of: provider)
        // One that is too long is for the verifier to refuse, as any that does not verify.
        let tokenText = optionalString(token, maximumBytes: .max)
        let codeText = optionalString(code, maximumBytes: 1024)
        if tokenText == nil, codeText == nil, !isRejected(code) { reject(token, .required) }
        let nonce = optionalString("nonce", maximumBytes: 512)
        let clientID = optionalString("clientId", maximumBytes: 256)
        var redirectURI: String?
        var fullName: DisplayName?
        if provider == .apple {
            redirectURI = optionalString("redirectUri", maximumBytes: 2048)
            fullName = self.fullName()
        }
        let credential = ProviderCredential(
            token: tokenText, code: codeText, nonce: nonce, clientID: clientID.map { ProviderClientID($0) },
            redirectURI: redirectURI,
            fullName: fullName)
        return (credential, device())
    }

    /// Apple's `fullName`, which the app gets once, at first consent.
    fileprivate mutating func fullName() -> DisplayName? {
        let name: DisplayName?? = optionalObject("fullName") { name in
            DisplayName(
                givenName: name.optionalString("givenName", maximumBytes: 512),
                familyName: name.optionalString("familyName", maximumBytes: 512))
        }
        return name ?? nil
    }
}
