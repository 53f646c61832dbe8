package import Accounts
import JOSE
package import JSON
import OpenSSL

/// A provider whose identity tokens this service believes, after its own rules for them.
package protocol IdentityProvider: Sendable {
    var keys: KeySource { get }

    /// Checks a token from its first byte to its last claim.
    ///
    /// - Parameters:
    ///   - nonce: what the token's nonce is held against.
    ///   - expectedClientID: the client ID that came beside the token; it must then be the token's.
    ///   - now: read once, for every claim.
    func credential(
        _ token: [UInt8], nonce: NonceExpectation, expectedClientID: String?, at now: Timestamp
    ) async throws(CredentialRefusal) -> VerifiedCredential
}

/// What a token's nonce is held against.
package enum NonceExpectation: Sendable {
    /// The raw nonce that came beside the token, or that none did; the rule is the provider's.
    case posted(String?)
    /// Another token of the same sign-in has proven it: this one's is not looked at.
    case proven
}

/// What a verified token says: to the domain, and in full.
package struct VerifiedCredential: Sendable {
    package let identity: VerifiedIdentity
    /// All of the token's claims; to be shown, not to be decided by.
    package let claims: JSONValue
}

extension IdentityProvider {
    package func credential(
        _ token: [UInt8], postedNonce: String?, expectedClientID: String?, at now: Timestamp
    ) async throws(CredentialRefusal) -> VerifiedCredential {
        try await credential(token, nonce: .posted(postedNonce), expectedClientID: expectedClientID, at: now)
    }

    /// As `credential`, for who wants to know the person alone.
    package func verify(
        _ token: [UInt8], postedNonce: String?, expectedClientID: String?, at now: Timestamp
    ) async throws(CredentialRefusal) -> VerifiedIdentity {
        try await credential(
            token, postedNonce: postedNonce, expectedClientID: expectedClientID, at: now
        ).identity
    }

    /// Form, header, key and signature. Until the signature holds nothing of the payload is read, and what is read
    /// before, `alg` and `kid`, picks among this provider's own keys and does nothing else.
    ///
    /// - Parameter types: what `typ` may be, where it is there: no provider promises one.
    func signedToken(
        _ token: [UInt8], algorithms: [SignatureAlgorithm], types: [String] = ["JWT"]
    ) async throws(CredentialRefusal) -> VerifiedToken {
        let unverified = try refusing { () throws(TokenRejection) in
            try UnverifiedToken(token, allowedAlgorithms: algorithms, allowedTypes: types)
        }
        let keySet = try await keys.keys(for: unverified.keyID)
        return try refusing { () throws(TokenRejection) in try unverified.verified(by: keySet) }
    }

    /// Without a reason to wait, a rejection is final.
    func refusing<Value>(_ body: () throws(TokenRejection) -> Value) throws(CredentialRefusal) -> Value {
        do {
            return try body()
        } catch {
            throw CredentialRefusal(error)
        }
    }
}

/// The rules that the providers share, on claims whose issuer, audience and times have been checked.
extension JSONValue {
    /// A posted nonce must be in the token, in its form. Whether a token's nonce must have been posted is the
    /// provider's own rule.
    func checkNonce(posted: String, form: NonceForm) throws(TokenRejection) {
        guard let claim = self["nonce"] else { throw .nonceMissing }
        guard let bytes = claim.stringBytes else { throw .claimInvalid }
        guard constantTimeEquals(bytes, form.claim(for: posted)) else { throw .nonceMismatch }
    }

    /// A client ID that came beside the token must be the token's, or one of its own when it has several.
    func checkClient(expected: String) throws(TokenRejection) {
        guard let audience = self["aud"] else { throw .claimMissing }
        let audiences = audience.elements ?? [audience]
        guard audiences.contains(where: { $0.isString(equalTo: expected) }) else { throw .clientRejected }
    }

    /// When the person last proved to be there: `auth_time`, which a provider need not send, else the moment of issue.
    func authenticationTime(issuedAt: Int64) throws(TokenRejection) -> Timestamp {
        guard let claim = self["auth_time"] else { return Timestamp(seconds: issuedAt) }
        guard let date = claim.date else { throw .claimInvalid }
        return Timestamp(seconds: date.seconds)
    }

    func subject(_ name: String) throws(TokenRejection) -> ProviderSubject {
        guard let claim = self[name] else { throw .claimMissing }
        guard let subject = claim.string.flatMap(ProviderSubject.init) else { throw .claimInvalid }
        return subject
    }
}
