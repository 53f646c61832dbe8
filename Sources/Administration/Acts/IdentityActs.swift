package import Accounts

extension Act {
    static let identityActs = [unblockIdentity, unlinkIdentity, revokeIdentity]

    package static let unblockIdentity = Act(
        name: "unblock", subject: .identity, scope: .manage, reason: .required, isDangerous: false, label: "Unblock",
        consequence: """
            The identity can sign in again, although its provider has reported that it disabled the person's account \
            there. A later event of the provider blocks it again.
            """,
        result: "The identity is unblocked.", nothing: "The identity is not blocked."
    ) { administration, id, input, administrator throws(AdministrationFailure) in
        let identityID: IdentityID = try identifier(id)
        guard try await administration.identity(identityID).identity.isBlocked else { return .nothing }
        try await administration.unblock(identityID, reason: try input.statedReason, by: administrator)
        return .done
    }

    package static let unlinkIdentity = Act(
        name: "unlink", subject: .identity, scope: .manage, reason: .optional, operation: .delete(), label: "Unlink",
        consequence: """
            The identity is taken from the account; its authorization at the provider stays. The last way to sign in can't \
            be unlinked.
            """,
        result: "The identity is unlinked."
    ) { administration, id, input, administrator throws(AdministrationFailure) in
        try await administration.detach(try identifier(id), reason: input.reason, by: administrator)
        return .done
    }

    package static let revokeIdentity = Act(
        name: "revoke", subject: .identity, scope: .revoke, reason: .required, fields: [.keep], label: "Revoke",
        consequence: """
            The authorization at the provider is revoked and the sessions that the identity opened end. The identity is \
            unlinked, unless it is the last way to sign in.
            """,
        result: "The revocation is requested."
    ) { administration, id, input, administrator throws(AdministrationFailure) in
        .record(
            try await administration.revoke(
                try identifier(id), unlinking: !input.keepsIdentity, reason: try input.statedReason, by: administrator))
    }
}

/// A revocation that was asked for, and whether the identity was unlinked with it.
package struct RevokedIdentity: AdminRecord {
    package let revocation: Revocation
    package let isUnlinked: Bool

    package static let fields = Revocation.fields.map { $0.of(\RevokedIdentity.revocation) }
}
