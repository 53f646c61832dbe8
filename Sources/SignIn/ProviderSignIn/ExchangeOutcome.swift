import Providers

/// The outcome of a code exchange, for the metrics.
enum ExchangeOutcome: String, CaseIterable {
    case exchanged
    case refused
    case clientRejected = "client_rejected"
    case unavailable
    case tokenRejected = "token_rejected"
    case notSent = "not_sent"

    /// - Returns: `nil` when there was no exchange, because this client has no key here.
    init?(_ answer: Result<ExchangedCode, EndpointRefusal>) {
        switch answer {
        case .success: self = .exchanged
        case .failure(.grantRejected), .failure(.requestRejected): self = .refused
        // Any caller can post another client's code, so it is no sign of a fault of ours.
        case .failure(let refusal) where refusal.mayBeAboutCode: self = .refused
        case .failure(.clientRejected): self = .clientRejected
        case .failure(.unavailable): self = .unavailable
        case .failure(.credentialRejected): self = .tokenRejected
        case .failure(.notConfigured): return nil
        }
    }
}
