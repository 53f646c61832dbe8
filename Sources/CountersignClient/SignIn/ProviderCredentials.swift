public import Foundation

/// What `ASAuthorizationAppleIDCredential` holds. Token or code suffices; send both.
public struct AppleCredential: Sendable {
    public var identityToken: String?
    public var authorizationCode: String?
    /// The raw nonce whose SHA-256 Apple's request carried.
    public var nonce: String?
    /// Apple gives it once, at the first consent; empty is as good as absent. It is kept in the store under the token's
    /// `sub`, and sent again until that person is signed in.
    public var fullName: PersonNameComponents?
    /// The client ID that Apple made the code for, such as the app's bundle ID. The server needs it where several are
    /// configured and a code comes without a token that is for one of them; beside a token it has to be the token's `aud`.
    public var clientID: String?

    public init(
        identityToken: String? = nil, authorizationCode: String? = nil, nonce: String? = nil,
        fullName: PersonNameComponents? = nil, clientID: String? = nil
    ) {
        self.identityToken = identityToken
        self.authorizationCode = authorizationCode
        self.nonce = nonce
        self.fullName = fullName
        self.clientID = clientID
    }
}

extension AppleCredential {
    /// As a sign-in posts it, but for the name.
    var members: [String: JSONValue] {
        var members: [String: JSONValue] = [:]
        members["identityToken"] = identityToken.map(JSONValue.string)
        members["authorizationCode"] = authorizationCode.map(JSONValue.string)
        members["nonce"] = nonce.map(JSONValue.string)
        members["clientId"] = clientID.map(JSONValue.string)
        return members
    }

    /// The `sub` of the token, unverified.
    var subject: String? { identityToken.flatMap { unverifiedClaims(of: $0)?["sub"]?.string } }
}

extension AppleCredential: Redacted {
    public var description: String {
        "AppleCredential(identityToken: \(redacted(identityToken)), authorizationCode: \(redacted(authorizationCode)))"
    }
}

/// What Google's SDK gives. Token or code suffices.
public struct GoogleCredential: Sendable {
    public var idToken: String?
    /// Good once; nil after a restored sign-in.
    public var serverAuthCode: String?
    /// The nonce that the SDK was given, as it was.
    public var nonce: String?
    /// The server client that the code was asked for. The server needs it where several projects of Google's are
    /// configured and a code comes without a token that is for one of them; beside a token it has to be the token's `aud`.
    public var clientID: String?

    public init(idToken: String? = nil, serverAuthCode: String? = nil, nonce: String? = nil, clientID: String? = nil) {
        self.idToken = idToken
        self.serverAuthCode = serverAuthCode
        self.nonce = nonce
        self.clientID = clientID
    }
}

extension GoogleCredential {
    /// As a sign-in posts it.
    var members: [String: JSONValue] {
        var members: [String: JSONValue] = [:]
        members["idToken"] = idToken.map(JSONValue.string)
        members["serverAuthCode"] = serverAuthCode.map(JSONValue.string)
        members["nonce"] = nonce.map(JSONValue.string)
        members["clientId"] = clientID.map(JSONValue.string)
        return members
    }
}

extension GoogleCredential: Redacted {
    public var description: String {
        "GoogleCredential(idToken: \(redacted(idToken)), serverAuthCode: \(redacted(serverAuthCode)))"
    }
}

/// A nonce of the server's: good once, for ten minutes. Google's SDK gets the value; Apple's request gets its SHA-256 in
/// hexadecimal (``hashedValue``). The credential carries the value in both cases.
public struct SignInNonce: Sendable {
    public let value: String
    public let expiresAt: Date
}

extension SignInNonce: Redacted {
    public var description: String { "SignInNonce(\(redacted(value)))" }
}
