/// What becomes of a sign-in with a linked identity. The raw values are those of the statement that decides the same for a
/// batch of sign-ins (`IdentityStore.signIn`): a test compares the two for every combination of facts.
package enum KnownIdentityDecision: String, CaseIterable, Sendable {
    /// The person is signed in.
    case active
    /// The account is disabled.
    case disabled
    /// The token counts no more for the identity.
    case outdated
    /// The provider has disabled the identity's account there.
    case blocked

    /// - Parameters:
    ///   - issuedAt: when the token was issued.
    ///   - authenticatedAt: when the person authenticated at the provider.
    ///   - isBlocked: whether the provider has disabled the identity's account there.
    package init(
        issuedAt: Timestamp, authenticatedAt: Timestamp, cutoff: ProofCutoff, isBlocked: Bool, status: Account.Status
    ) {
        if !cutoff.admits(issuedAt: issuedAt, authenticatedAt: authenticatedAt) {
            self = .outdated
        } else if isBlocked {
            self = .blocked
        } else {
            switch status {
            case .active: self = .active
            case .disabled: self = .disabled
            }
        }
    }
}
