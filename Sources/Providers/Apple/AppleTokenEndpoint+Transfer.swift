package import Accounts
import JSON

/// The transfer of an app to another team: its users get new subjects and relay addresses there. The two teams pass users
/// on as transfer subjects, each good for one person and one recipient, for 60 days after the app was accepted.
///
/// An `invalid_request` is taken to be about the subject that was sent, so that an unknown one doesn't stop the rest.
extension AppleTokenEndpoint {
    /// The bearer token of the other two calls; good for an hour.
    package func migrationToken(
        of clientID: ProviderClientID, at now: Timestamp
    ) async throws(EndpointRefusal) -> String {
        let client = try client(clientID, at: now)
        let fields = client.fields + [("grant_type", "client_credentials"), ("scope", "user.migration")]
        let answer = try await tokens.post(fields).document(keyID: client.keyID, invalidRequestMeans: .configuration)
        guard let token = IssuedTokens.token(answer["access_token"]) else { throw .unexpectedAnswer }
        return token
    }

    /// The sender's part: the transfer subject, which the recipient is to ask for.
    package func transferSubject(
        of subject: ProviderSubject, to targetTeamID: String, clientID: ProviderClientID, migrationToken: String,
        at now: Timestamp
    ) async throws(EndpointRefusal) -> ProviderSubject {
        let client = try client(clientID, at: now)
        let fields = client.fields + [("sub", subject.text), ("target", targetTeamID)]
        let answer = try await userMigration.post(fields, bearer: migrationToken)
            .document(keyID: client.keyID, invalidRequestMeans: .content)
        return try self.subject("transfer_sub", in: answer)
    }

    /// The recipient's part: the person's subject in its own team. An address is included only if it is a relay address.
    package func transferred(
        _ transferSubject: ProviderSubject, clientID: ProviderClientID, migrationToken: String, at now: Timestamp
    ) async throws(EndpointRefusal) -> (subject: ProviderSubject, email: ProviderEmail?) {
        let client = try client(clientID, at: now)
        let fields = client.fields + [("transfer_sub", transferSubject.text)]
        let answer = try await userMigration.post(fields, bearer: migrationToken)
            .document(keyID: client.keyID, invalidRequestMeans: .content)
        return (try subject("sub", in: answer), ClaimedEmail(answer)?.atApple)
    }

    private func subject(_ name: String, in answer: JSONValue) throws(EndpointRefusal) -> ProviderSubject {
        guard let subject = answer[name]?.string.flatMap(ProviderSubject.init) else { throw .unexpectedAnswer }
        return subject
    }
}
