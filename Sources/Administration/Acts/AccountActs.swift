import Accounts

extension Act {
    static let accountActs = [
        disableAccount, enableAccount, signOutAccount, replaceEmail, cancelEmailReplacement, renameAccount, mailCode,
        unlinkClient, exportAccount, deleteAccount,
    ]

    package static let disableAccount = Act(
        name: "disable", subject: .account, scope: .manage, reason: .required, label: "Disable",
        consequence: """
            Nobody can sign in to the account; all its sessions end, and the services that it is linked to are unlinked. \
            It can be enabled again; the links stay ended.
            """,
        result: "The account is disabled."
    ) { administration, id, input, administrator throws(AdministrationFailure) in
        try await administration.disable(try identifier(id), reason: try input.statedReason, by: administrator)
        return .done
    }

    package static let enableAccount = Act(
        name: "enable", subject: .account, scope: .manage, reason: .required, fields: [.missingAddress],
        isDangerous: false, label: "Enable",
        consequence: "The person can sign in again. Sessions that have ended stay so.",
        result: "The account is enabled.", nothing: "The account is active already."
    ) { administration, id, input, administrator throws(AdministrationFailure) in
        try await administration.enable(
            try identifier(id), email: input.email, reason: try input.statedReason, by: administrator)
            ? .done : .nothing
    }

    package static let signOutAccount = Act(
        name: "sign-out", subject: .account, scope: .manage, reason: .required, label: "Sign out everywhere",
        consequence: """
            All sessions of the account end, on every device, and the services that it is linked to are unlinked. The \
            person can sign in again, but not with what was issued before.
            """,
        result: "All its sessions have ended."
    ) { administration, id, input, administrator throws(AdministrationFailure) in
        try await administration.signOut(try identifier(id), reason: try input.statedReason, by: administrator)
        return .done
    }

    package static let replaceEmail = Act(
        name: "replace-email", subject: .account, scope: .manage, reason: .required, fields: [.address],
        mail: .notice, label: "Replace address",
        consequence: """
            For a person who has lost the mailbox or the Apple ID. Every mailbox of the account is notified, but no address \
            that was only claimed, and the new one takes effect in 24 hours unless somebody in a session of the account \
            stops it. Then all sessions end, the password goes, and the person enters by a code that is mailed to the new \
            address. Asking again begins another day.
            """,
        result: "The replacement is requested."
    ) { administration, id, input, administrator throws(AdministrationFailure) in
        guard let email = input.email else { throw .emailRequired }
        return .record(
            try await administration.replaceEmail(
                of: try identifier(id), by: email, reason: try input.statedReason, by: administrator))
    }

    package static let cancelEmailReplacement = Act(
        name: "cancel-replace-email", subject: .account, scope: .manage, reason: .optional,
        operation: .delete("/replace-email"), isDangerous: false, label: "Stop replacement",
        consequence: "The account keeps the address that it has.", result: "The replacement is stopped.",
        nothing: "No replacement is pending: it may be in effect already."
    ) { administration, id, input, administrator throws(AdministrationFailure) in
        try await administration.cancelEmailReplacement(
            of: try identifier(id), reason: input.reason, by: administrator) ? .done : .nothing
    }

    package static let renameAccount = Act(
        name: "rename", subject: .account, scope: .manage, reason: .optional, fields: [.name], operation: .patch,
        isDangerous: false, label: "Change name",
        consequence: "The account gets this name. The person sees it, and can change it again.",
        result: "The name is changed.", nothing: "The account has this name already."
    ) { administration, id, input, administrator throws(AdministrationFailure) in
        let accountID: AccountID = try identifier(id)
        let record = try await administration.account(accountID)
        guard record.account.displayName != input.name else { return .account(record, isChanged: false) }
        return .account(
            try await administration.rename(accountID, to: input.name, reason: input.reason, by: administrator))
    }

    package static let mailCode = Act(
        name: "send-code", subject: .account, scope: .manage, reason: .optional, mail: .code,
        operation: .send("/email-codes"), isDangerous: false, label: "Send sign-in code",
        consequence: """
            A sign-in code is mailed to the account's own address. It counts among the codes that the address may have in \
            an hour, and is shown to nobody else.
            """,
        consequenceByProof: [
            .claimed: """
            Nobody has proven this address: using the code removes the account's password, name, sessions and \
            identities.
            """,
            .stated: """
            The person who uses the code is asked whether to open this account or to make a new one. To open it \
            removes its password, name and sessions; a new one takes the address, and this account, if it has no \
            identity, is disabled.
            """,
            .proven: "The person who uses the code is signed in to this account.",
        ],
        result: "The code is on its way.",
        nothing: "The person has a code that was mailed a moment ago, or as often as one is."
    ) { administration, id, input, administrator throws(AdministrationFailure) in
        try await administration.mailCode(to: try identifier(id), reason: input.reason, by: administrator)
            ? .accepted : .nothing
    }

    package static let unlinkClient = Act(
        name: "unlink-client", subject: .account, scope: .manage, reason: .optional, fields: [.client],
        mail: .noticeIfConfigured, operation: .delete("/linked-clients/{clientId}"), label: "Unlink client",
        consequence: """
            The client's codes and tokens for the account open nothing any more, and the account's sessions in browsers \
            end. The person is notified where mail is sent, and can link the client again.
            """,
        result: "The client is unlinked."
    ) { administration, id, input, administrator throws(AdministrationFailure) in
        guard let oauth = administration.oauth, let clientID = input.client else { throw .notFound }
        try await oauth.unlink(clientID, of: try identifier(id), reason: input.reason, by: administrator.call)
        return .done
    }

    package static let exportAccount = Act(
        name: "export", subject: .account, scope: .manage, reason: .none, operation: nil, isDangerous: false,
        label: "Export",
        consequence: """
            Everything that is stored about the person is downloaded as one JSON document, for the person who has asked \
            for it. It holds no password, token or code.
            """,
        result: "The document was downloaded."
    ) { administration, id, _, administrator throws(AdministrationFailure) in
        .document(try await administration.export(try identifier(id), by: administrator))
    }

    package static let deleteAccount = Act(
        name: "delete", subject: .account, scope: .manage, reason: .optional, operation: .delete(), label: "Delete",
        consequence: """
            The account and all that is known of the person is deleted, and the authorizations at Apple and Google are \
            revoked. This can't be undone.
            """,
        result: "The account is deleted."
    ) { administration, id, input, administrator throws(AdministrationFailure) in
        try await administration.delete(try identifier(id), reason: input.reason, by: administrator)
        return .accepted
    }

    static let sessionActs = [endSession]

    package static let endSession = Act(
        name: "end", subject: .session, scope: .manage, reason: .optional, operation: .delete(), label: "End session",
        consequence: "The person is signed out on this device.", result: "The session has ended."
    ) { administration, id, input, administrator throws(AdministrationFailure) in
        try await administration.endSession(try identifier(id), reason: input.reason, by: administrator)
        return .done
    }
}
