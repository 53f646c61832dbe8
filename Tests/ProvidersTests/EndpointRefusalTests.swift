import Accounts
import JOSE
import Providers
import Testing

@Suite struct EndpointRefusalTests {
    static let refusals: [(EndpointRefusal, String)] = [
        (.grantRejected(error: "invalid_grant"), "EndpointRefusal(grant rejected: invalid_grant)"),
        (.requestRejected(error: "invalid_request"), "EndpointRefusal(request rejected: invalid_request)"),
        (
            .clientRejected(error: "invalid_client", keyID: "AB1234EFG7"),
            "EndpointRefusal(client rejected: invalid_client, key AB1234EFG7)"
        ),
        (.unavailable(detail: "http_500"), "EndpointRefusal(unavailable: http_500)"),
        (.notConfigured, "EndpointRefusal(not configured)"),
        (
            .credentialRejected(CredentialRefusal(.keyUnknown, retryAfter: 60), leaving: nil),
            "EndpointRefusal(CredentialRefusal(key_unknown, retry after 60 s))"
        ),
        (
            .credentialRejected(CredentialRefusal(.nonceMismatch), leaving: EndpointFixture.strayGrant(.apple)),
            "EndpointRefusal(CredentialRefusal(nonce_mismatch))"
        ),
    ]

    @Test(arguments: refusals)
    func `a refusal names the cause where it is debugged and nowhere else`(refusal: EndpointRefusal, details: String) {
        if case .credentialRejected(_, let stray?) = refusal {
            #expect(!"\(stray) \(String(reflecting: stray))".contains(EndpointFixture.refreshToken.text))
        }
        #expect("\(refusal)" == "The provider's endpoint did not do what was asked.")
        #expect(String(reflecting: refusal) == details)
    }
    @Test(arguments: [
        (EndpointRefusal.grantRejected(error: "invalid_grant"), true),
        (.requestRejected(error: "invalid_request"), true),
        (.clientRejected(error: "unauthorized_client", keyID: "AB1234EFG7"), true),
        (.clientRejected(error: "invalid_client", keyID: "AB1234EFG7"), false),
        (.clientRejected(error: "deleted_client", keyID: "AB1234EFG7"), false),
        (.unavailable(detail: "http_429"), false),
        (.notConfigured, false),
        (.credentialRejected(CredentialRefusal(.nonceMismatch), leaving: nil), false),
    ])
    func `a refusal is the code's own or ours`(refusal: EndpointRefusal, isAboutCode: Bool) {
        #expect(refusal.mayBeAboutCode == isAboutCode)
    }
}
