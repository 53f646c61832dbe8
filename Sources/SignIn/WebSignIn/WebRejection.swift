/// Why a browser or an app was refused that has brought nothing of a provider's to be refused for; the raw value stands in
/// the audit trail, with kind `credential_rejected`.
enum WebRejection: String, CaseIterable {
    /// No flow waits for this state or handle: another provider's, another flow's, used, or over.
    case stateUnknown = "web_state_unknown"
    /// The answer came with the cookie of another browser, or with none.
    case browserMismatch = "web_browser_mismatch"
    /// The answer names another issuer, or none where one is required.
    case issuerMismatch = "web_issuer_mismatch"
    case codeUnknown = "web_code_unknown"
    case codeSpent = "web_code_spent"
    /// The code came with another verifier or redirect URI than its flow's.
    case verifierMismatch = "web_verifier_mismatch"
    /// The password has changed since, or the mailed code was used.
    case proofChanged = "web_proof_changed"
}
