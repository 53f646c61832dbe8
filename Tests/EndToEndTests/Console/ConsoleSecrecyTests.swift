import Postgres
import TestSupport
import Testing

/// The way of the staff to Google and back, at the most verbose log level.
@Suite(.limitedConcurrency, .timeLimit(.minutes(30))) struct ConsoleSecrecyTests {
    @Test func `log, metrics and trail hold no state, code, token or cookie of a sign-in of the staff`() async throws {
        var canaries = Canaries()
        _ = canaries.add("client secret", "console-web-secret")
        let settings = try StaffWorld.settings(secretFile: "console-secret-traced")
        let trace = ["log.level": "trace"]
        try await World.run(settings.merging(trace) { $1 }, StaffWorld.addresses) { world in
            try await StaffWorld.register(at: world)
            let subject = try await world.sandbox.addGooglePerson(
                "google-kim", #"{"email":"kim@lamp.example","hostedDomain":"lamp.example"}"#)
            _ = canaries.add("subject", subject)
            // Taken, with a token that is refused, and where Google can't be asked.
            let ways: [(fault: String?, status: Int)] = [
                (nil, 200),
                (
                    #"{"path":"/google/o/oauth2/v2/auth","effect":"altered","times":1,"#
                        + #""exchange":{"token":{"claims":{"nonce":"\#(canaries.add("nonce", "canary-nonce"))"}}}}"#,
                    401
                ),
                (#"{"path":"/google/token","effect":"status","status":500,"times":1}"#, 503),
            ]
            for (fault, status) in ways {
                if let fault { try await world.sandbox.control("faults", fault) }
                let visit = ConsoleVisit(world)
                let begun = try await visit.browser.open(visit.origin + "/console/sign-in/google", following: false)
                let url = try #require(begun.answer["Location"])
                for name in ["state", "nonce"] {
                    _ = canaries.add(
                        name, try #require(FormEncoding.parameters(of: url).first { $0.name == name }).value)
                }
                let flow = try #require(visit.browser.cookie("csn_console_flow", of: visit.origin))
                _ = canaries.add("cookie of the flow", flow.value)
                let answer = try await world.sandbox.authorize(at: url, person: "google-kim")
                let code = canaries.add("code", try #require(answer["code"]))
                _ = canaries.add("code in a URL", FormEncoding.encode(code))
                let back = try await visit.browser.open(
                    try #require(answer.target) + "?" + FormEncoding.encode(answer.parameters))
                #expect(back.status == status, "\(back.answer.body)")
                if status == 200 {
                    let session = try #require(visit.browser.cookie("csn_console", of: visit.origin))
                    _ = canaries.add("cookie of the session", session.value)
                }
            }
            let stray = try await ConsoleVisit(world).open(
                "/console/callback/google?state=\(canaries.add("foreign state", "canary-state"))"
                    + "&code=\(canaries.add("foreign code", "canary-code"))")
            #expect(stray.status == 400)
            _ = try await world.service.logged(try #require(stray.answer["X-Request-Id"]))

            #expect(canaries.found(in: world.service.log) == [])
            #expect(world.service.log.contains("/console/callback/google"))
            #expect(canaries.found(in: try await world.service.privateGet("/metrics").text) == [])
            try await eventually("the refusals") {
                try await world.count("SELECT count(*) FROM audit_events WHERE type = 'console_refused'") > 0
            }
            let trail = try await world.scratch.texts("SELECT row_to_json(e)::text FROM audit_events e")
            #expect(trail.contains { $0.contains("console_opened") })
            #expect(canaries.found(in: trail.joined(separator: "\n")) == [])
        }
    }
}
