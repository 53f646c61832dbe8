import Accounts

extension Act {
    static let settingActs = [disableClient, enableClient, revokeKey]

    package static let disableClient = Act(
        name: "disable", subject: .oauthClient, scope: .manage, reason: .none, label: "Disable",
        consequence: "Nothing that the client has opens anything, from now on. What is linked stays linked.",
        result: "The client is disabled.", nothing: "The client is disabled already."
    ) { administration, id, _, administrator throws(AdministrationFailure) in
        try await setStatus(of: id, to: .disabled, administration, administrator)
    }

    package static let enableClient = Act(
        name: "enable", subject: .oauthClient, scope: .manage, reason: .none, isDangerous: false, label: "Enable",
        consequence: "What is linked to the client works again.", result: "The client is enabled.",
        nothing: "The client is active already."
    ) { administration, id, _, administrator throws(AdministrationFailure) in
        try await setStatus(of: id, to: .active, administration, administrator)
    }

    private static func setStatus(
        of id: String, to status: OAuthClient.Status, _ administration: Administration, _ administrator: Administrator
    ) async throws(AdministrationFailure) -> ActResult {
        guard let oauth = administration.oauth, let clientID = OAuthClientID(id) else { throw .notFound }
        guard try await oauth.client(clientID).client.status != status else { return .nothing }
        try await oauth.setStatus(of: clientID, to: status, by: administrator.call)
        return .done
    }

    package static let revokeKey = Act(
        name: "revoke", subject: .adminKey, scope: .manage, reason: .none, operation: nil, label: "Revoke",
        consequence: "The key opens nothing any more, and everybody who is signed in here with it is signed out.",
        result: "The key is revoked."
    ) { administration, id, _, administrator throws(AdministrationFailure) in
        try await administration.revokeKey(try identifier(id), by: administrator)
        return .done
    }
}
