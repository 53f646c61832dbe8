#if canImport(AuthenticationServices)
    public import AuthenticationServices
    import Foundation

    extension AppleCredential {
        /// What Apple has handed to the app.
        ///
        /// - Parameter nonce: the value of the ``SignInNonce`` whose hash the request carried.
        public init(_ credential: ASAuthorizationAppleIDCredential, nonce: String?) {
            self.init(
                identityToken: credential.identityToken.flatMap { String(data: $0, encoding: .utf8) },
                authorizationCode: credential.authorizationCode.flatMap { String(data: $0, encoding: .utf8) },
                nonce: nonce,
                fullName: credential.fullName)
        }
    }
#endif
