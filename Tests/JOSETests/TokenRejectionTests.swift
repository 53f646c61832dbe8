import JOSE
import Testing

@Suite struct TokenRejectionTests {
    /// The audit trail, logs and scripts know these codes; a new name for one breaks them.
    @Test func `the reason codes are these`() {
        #expect(
            TokenRejection.allCases.map(\.rawValue) == [
                "malformed", "too_large", "algorithm_rejected", "header_rejected", "key_unknown", "keys_unavailable",
                "signature_mismatch", "issuer_rejected", "audience_rejected", "party_rejected", "expired",
                "not_yet_valid", "lifetime_rejected", "claim_missing", "claim_invalid", "event_token", "nonce_missing",
                "nonce_mismatch", "nonce_spent", "hash_mismatch", "subject_mismatch", "code_rejected",
                "client_rejected",
            ])
    }

    @Test func `a description does not contain the reason`() {
        #expect(Set(TokenRejection.allCases.map { "\($0)" }) == ["The credential was refused."])
        #expect(String(reflecting: TokenRejection.nonceSpent) == "TokenRejection.nonce_spent")
    }
}
