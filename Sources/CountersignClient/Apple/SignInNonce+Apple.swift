import Foundation

#if canImport(AuthenticationServices)
    public import AuthenticationServices
#endif

extension SignInNonce {
    /// The SHA-256 of the value in hexadecimal: what a request to Apple carries. The value itself goes to the service.
    public var hashedValue: String {
        sha256(Data(value.utf8)).map { String(UInt16($0) | 0x100, radix: 16).dropFirst() }.joined()
    }
}

#if canImport(AuthenticationServices)
    extension ASAuthorizationAppleIDRequest {
        /// Asks for the name and the address, and ties the token to this attempt.
        public func prepare(with nonce: SignInNonce) {
            requestedScopes = [.fullName, .email]
            self.nonce = nonce.hashedValue
        }
    }
#endif
