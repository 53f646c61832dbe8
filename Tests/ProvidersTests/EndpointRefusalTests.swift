import JOSE
import Providers
import Testing

@Suite
struct EndpointRefusalTests {
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
            .credentialRejected(CredentialRefusal(.keyUnknown, retryAfter: 60)),
            "EndpointRefusal(CredentialRefusal(key_unknown, retry after 60 s))"
        ),
    ]

    @Test(arguments: refusals)
    func `a refusal names the cause where it is debugged and nowhere else`(
        refusal: EndpointRefusal, details: String
    ) {
        #expect("\(refusal)" == "The provider's endpoint did not do what was asked.")
        #expect(String(reflecting: refusal) == details)
    }
}
