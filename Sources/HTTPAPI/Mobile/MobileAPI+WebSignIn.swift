import Accounts
import HTTPServer
import SignIn

extension MobileAPI {
    /// None where the web sign-in is off.
    var webSignInRoutes: [Route] {
        guard let web else { return [] }
        return [
            Route(.post, "/v1/sign-in/web") { request in
                let call = call(of: request)
                // A malformed body spends no code. Every other one does, whether it is right or wrong.
                let (code, verifier, redirectURI, device) = try request.fields { fields in
                    (
                        fields.string("code", maximumBytes: 128), fields.string("codeVerifier", maximumBytes: 128),
                        fields.string("redirectUri", maximumBytes: 2048), fields.device()
                    )
                }
                let answer = try await web.exchange(
                    code: code, codeVerifier: verifier, redirectURI: redirectURI,
                    by: call.with(device))
                return response(to: request, answer)
            }
        ]
    }
}
