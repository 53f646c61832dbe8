/// Why a credential was refused: the reason codes of the audit trail, the log and `token verify`.
///
/// The one registry of these codes; the raw value is the wire code. Callers over HTTP never see them: every refused
/// token looks alike to them.
package enum TokenRejection: String, Error, CaseIterable, Sendable {
    /// Not a compact JWS: the parts, the base64url or the JSON are wrong.
    case malformed
    /// Larger than any token that a provider issues.
    case tooLarge = "too_large"
    /// `alg` is missing, not one that we accept, or not the one of the key.
    case algorithmRejected = "algorithm_rejected"
    /// A header member that we must not accept (`crit`, `zip`, `enc`, `b64`, a wrong `typ` or `cty`) or no usable
    /// `kid`.
    case headerRejected = "header_rejected"
    /// No key of the key set has the `kid` of the token.
    case keyUnknown = "key_unknown"
    /// The provider's keys are not available, so the token cannot be verified.
    case keysUnavailable = "keys_unavailable"
    /// The signature does not hold.
    case signatureMismatch = "signature_mismatch"
    /// `iss` is not an issuer that we accept.
    case issuerRejected = "issuer_rejected"
    /// `aud` does not name us.
    case audienceRejected = "audience_rejected"
    /// `azp` is missing or not an authorized party.
    case partyRejected = "party_rejected"
    /// `exp` is past.
    case expired
    /// `nbf` or `iat` is in the future.
    case notYetValid = "not_yet_valid"
    /// The time from `iat` to `exp` is longer than the provider issues.
    case lifetimeRejected = "lifetime_rejected"
    /// A required claim is absent.
    case claimMissing = "claim_missing"
    /// A claim has another type than it must have, or a value out of its range.
    case claimInvalid = "claim_invalid"
    /// A provider event where an identity token was expected.
    case eventToken = "event_token"
    /// A nonce was expected in the token or beside it.
    case nonceMissing = "nonce_missing"
    /// The nonce of the token is not the expected one.
    case nonceMismatch = "nonce_mismatch"
    /// A nonce that we issued is unknown, expired or used.
    case nonceSpent = "nonce_spent"
    /// `at_hash` or `c_hash` belongs to another access token or code.
    case hashMismatch = "hash_mismatch"
    /// The token and the code name different subjects.
    case subjectMismatch = "subject_mismatch"
    /// The provider refused the authorization code.
    case codeRejected = "code_rejected"
    /// The client ID beside the token is not one of ours or not the one of the token.
    case clientRejected = "client_rejected"
}

extension TokenRejection: CustomStringConvertible, CustomDebugStringConvertible {
    package var description: String { "The credential was refused." }

    package var debugDescription: String { "TokenRejection.\(rawValue)" }
}
