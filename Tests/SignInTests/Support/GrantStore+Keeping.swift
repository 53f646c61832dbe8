import Accounts
import Storage

extension GrantStore {
    /// Stores a grant of a person who was proven when it was exchanged.
    func keep(_ grant: NewGrant, for key: IdentityKey, by call: Call) async throws -> Bool {
        let identity = VerifiedIdentity(
            key: key, email: nil, clientID: grant.clientID, authenticatedAt: grant.exchangedAt,
            issuedAt: grant.exchangedAt)
        return try await keep(grant, for: identity, by: call)
    }
}
