import Hummingbird
import JSON

/// One item of `GET /control/…/authorizations`: the provider's present state of a person and a client.
struct AuthorizationListing: Sendable {
    let person: String
    let clientID: String
    /// The client's team; nil for Google's clients, which have none.
    let team: String?
    let subject: String
    let isConsented: Bool
    let grants: [Grant]

    static func response(_ listings: [AuthorizationListing]) -> Response {
        let sorted = listings.sorted { ($0.person, $0.clientID) < ($1.person, $1.clientID) }
        return Response.items(sorted) { $0.write(&$1) }
    }

    private func write(_ writer: inout JSONWriter) {
        writer.member("person", person)
        writer.member("clientId", clientID)
        writer.member("teamId", team)
        writer.member("subject", subject)
        writer.member("consented", isConsented)
        writer.objects("grants", of: grants, Self.write)
    }

    private static func write(_ grant: Grant, _ writer: inout JSONWriter) {
        writer.member("refreshToken", Redaction.fingerprint(grant.refreshToken))
        writer.member("live", grant.isLive)
        writer.member("issuedAt", Timestamp.text(grant.issuedAt))
        writer.member("endedAt", grant.endedAt.map(Timestamp.text))
        writer.name("endedBy")
        if let ending = grant.endedBy { writer.string(ending.rawValue) } else { writer.null() }
        writer.member("checks", grant.checks)
        writer.member("hastyChecks", grant.hastyChecks)
        writer.member("revocations", grant.revocations)
    }
}
