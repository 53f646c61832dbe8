import Foundation
import TestSupport
import Testing

@testable import countersign

/// What the doctor says of the receivers of webhooks.
@Suite(.timeLimit(.minutes(3))) struct DoctorWebhookTests {
    private static func findings(_ url: String?, isTested: Bool = true) async throws -> [String] {
        let setup = try ConfigurationSetup()
        if let url {
            let secrets = try setup.file("webhook-secrets", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n")
            setup.set([
                "WEBHOOKS_ENDPOINTS": "crm", "WEBHOOKS_ENDPOINT_CRM_URL": url,
                "WEBHOOKS_ENDPOINT_CRM_SECRET_PATH": secrets, "WEBHOOKS_ALLOWED_NETWORKS": "127.0.0.0/8",
            ])
        }
        return try await Doctor.with(setup.environment, testsWebhooks: isTested) { await $0.webhooks() }.map(\.line)
    }

    @Test func `an endpoint is posted to when that is asked for, and only then`() async throws {
        let receiver = try LoopbackServer { _ in [.respond(204)] }
        let url = receiver.url + "/hook?key=hidden"
        #expect(try await Self.findings(nil) == ["ok webhooks: are off: webhooks.endpoints is not set"])
        let unasked = try await Self.findings(url, isTested: false)
        #expect(unasked.count == 1 && unasked[0].hasPrefix("note webhooks: nothing was posted"))
        #expect(receiver.history.requests.isEmpty)
        #expect(try await Self.findings(url) == ["ok webhooks: crm takes events (status 204)"])
        let body = try #require(receiver.history.requests.first).body
        #expect(String(decoding: body, as: UTF8.self).contains(#""type":"endpoint.test""#))
    }

    @Test(arguments: [(410, "status_410"), (500, "status_500"), (302, "redirected")])
    func `what an endpoint answers else is a warning`(_ status: Int, _ error: String) async throws {
        let receiver = try LoopbackServer { _ in [.respond(status)] }
        let findings = try await Self.findings(receiver.url + "/hook?key=hidden")
        #expect(findings.count == 1)
        #expect(findings[0].hasPrefix("warning webhooks: crm does not take events (\(error))"), "\(findings)")
        #expect(!findings[0].contains("hidden"))
    }
}
