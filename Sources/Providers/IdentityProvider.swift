package import Accounts
import JOSE
package import JSON
import OpenSSL

/// A provider whose identity tokens this service accepts, by the provider's own rules.
package protocol IdentityProvider: Sendable {
    var keys: KeySource { get }

    /// Checks a token from its first byte to its last claim.
    ///
    /// - Parameters:
    ///   - nonce: what the token's nonce is compared with.
    ///   - expectedClientID: the client ID that came beside the token; it must then be the token's.
    ///   - now: read once, for every claim.
    func credential(
        _ token: [UInt8], nonce: NonceExpectation, expectedClientID: ProviderClientID?, at now: Timestamp
    ) async throws(CredentialRefusal) -> VerifiedCredential

    /// The person whom a token names that the provider signed for this client, also where another check refuses the token.
    /// It says whose authorization came with the token, and is no sign-in.
    ///
    /// - Returns: `nil` where the signature, the issuer or the audience leaves open who it is.
    func owner(of token: [UInt8], issuedTo clientID: ProviderClientID) async -> IdentityKey?
}

/// The value that a token's nonce is compared with.
package enum NonceExpectation: Sendable {
    /// The raw nonce that came beside the token, or that none did; the rule is the provider's.
    case posted(String?)
    /// Another token of the same sign-in has proven it: this one's is ignored.
    case proven
}

/// The content of a verified token: as a value of the domain, and in full.
package struct VerifiedCredential: Sendable {
    package let identity: VerifiedIdentity
    /// All of the token's claims; for display, never for a decision.
    package let claims: JSONValue
}

extension IdentityProvider {
    package func credential(
        _ token: [UInt8], postedNonce: String?, expectedClientID: ProviderClientID?, at now: Timestamp
    ) async throws(CredentialRefusal) -> VerifiedCredential {
        try await credential(token, nonce: .posted(postedNonce), expectedClientID: expectedClientID, at: now)
    }

    /// A token after the checks of form, header, key and signature. Nothing of the payload is read until the signature
    /// holds; `alg` and `kid`, which are read before, only select among this provider's own keys.
    ///
    /// - Parameter types: the allowed values of `typ`, where it is present: no provider guarantees one.
    func signedToken(
        _ token: [UInt8], algorithms: [SignatureAlgorithm], types: [String] = ["JWT"]
    ) async throws(CredentialRefusal) -> VerifiedToken {
        let unverified = try refusing { () throws(TokenRejection) in
            try UnverifiedToken(token, allowedAlgorithms: algorithms, allowedTypes: types)
        }
        let keySet = try await keys.keys(for: unverified.keyID)
        return try refusing { () throws(TokenRejection) in try unverified.verified(by: keySet) }
    }

    /// Runs a check whose rejection is final: a later try can't succeed.
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
    func checkClient(expected: ProviderClientID) throws(TokenRejection) {
        guard let audience = self["aud"] else { throw .claimMissing }
        let audiences = audience.elements ?? [audience]
        guard audiences.contains(where: { $0.isString(equalTo: expected.text) }) else { throw .clientRejected }
    }

    /// The time of the person's last authentication: `auth_time`, which a provider need not send, else the time of issue.
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
