import Postgres
import TestSupport
import Testing

/// The metrics of sign-ins, links and refreshes, and the gauges of the service's state.
@Suite(.limitedConcurrency, .fixture(World.self), .timeLimit(.minutes(30))) struct MetricsTests: WorldSuite {
    /// The samples of the metrics page: name with labels, and value.
    private func scrape() async throws -> [String: Double] {
        let page = try await service.privateGet("/metrics").text
        var samples: [String: Double] = [:]
        for line in page.split(separator: "\n") where !line.hasPrefix("#") {
            let end = try #require(line.lastIndex(of: " "))
            let value = try #require(Double(line[line.index(after: end)...]))
            #expect(samples.updateValue(value, forKey: String(line[..<end])) == nil)
        }
        return samples
    }

    @Test func `every sign-in, link and refresh is counted by its outcome`() async throws {
        let before = try await scrape()
        let created = try await world.newAccount("kim")
        #expect(try await world.signIn("kim", with: .apple).status == 200)
        let forged = try await world.appleToken("kim", .init(signature: .forged))
        #expect(try await service.signInWithApple(forged).status == 401)
        let wrong: TokenMint.Members = ["email": "nobody@example.com", "password": "wrong-password"]
        #expect(try await service.post("/v1/sign-in/password", wrong).status == 401)
        let bind = try await service.post(
            "/v1/links/bind", ["linkTicket": "spent", "email": "a@example.com", "password": "x"])
        #expect(bind.status == 410)
        let refresh = try created.refreshToken()
        let next = try await service.refresh(refresh)
        try await service.refresh(try next.text("refreshToken")).expecting(200)
        let reused = try await service.refresh(refresh)
        #expect(reused.status == 401 && reused.code == "refresh_token_reused", "\(reused.text)")

        let after = try await scrape()
        let expected = [
            #"countersign_sign_ins_total{outcome="link_required",provider="apple",reason="-"}"#,
            #"countersign_sign_ins_total{outcome="signed_in",provider="apple",reason="-"}"#,
            #"countersign_sign_ins_total{outcome="refused",provider="apple",reason="signature_mismatch"}"#,
            #"countersign_sign_ins_total{outcome="refused",provider="password",reason="invalid_credentials"}"#,
            #"countersign_links_total{action="create",outcome="linked",reason="-"}"#,
            #"countersign_links_total{action="bind",outcome="refused",reason="link_ticket_expired"}"#,
            #"countersign_refreshes_total{outcome="refused",reason="refresh_token_reused"}"#,
        ]
        for series in expected {
            #expect(before[series] == 0, "\(series)")
            #expect(after[series] == 1, "\(series)")
        }
        #expect(after[#"countersign_refreshes_total{outcome="refreshed",reason="-"}"#] == 2)
        #expect(after[#"countersign_token_verify_seconds_count{provider="apple"}"#] == 3)
        #expect(after[#"countersign_limit_refusals_total{limit="passwordPerAccount"}"#] == 0)
        let total = after.filter { $0.key.hasPrefix("countersign_sign_ins_total") }.values.reduce(0, +)
        #expect(total == 4)
    }

    @Test func `gauges have the values of the moment of the scrape`() async throws {
        try await world.newGrantedAccount("lee", .apple)
        // Google's keys are fetched without a request that waits for them.
        let google = #"countersign_key_set_keys{provider="google"}"#
        try await eventually("Google's keys") { try await scrape()[google] ?? 0 >= 1 }
        let samples = try await scrape()
        for provider in ["apple", "google"] {
            try #expect(#require(samples["countersign_key_set_keys{provider=\"\(provider)\"}"]) >= 1)
            try #expect(
                (0..<120).contains(#require(samples["countersign_key_set_age_seconds{provider=\"\(provider)\"}"])))
        }
        #expect(samples[#"countersign_key_set_fetches_total{outcome="fetched",provider="apple"}"#] == 1)
        #expect(samples["countersign_postgres_up"] == 1)
        #expect(samples["countersign_postgres_pool_size"] == 4)
        let idle = try #require(samples[#"countersign_postgres_connections{state="idle"}"#])
        let busy = try #require(samples[#"countersign_postgres_connections{state="busy"}"#])
        #expect((1...4).contains(idle + busy))
        #expect(try #require(samples["countersign_postgres_wait_seconds_count"]) > 3)
        #expect(samples[#"countersign_code_exchange_seconds_count{provider="apple"}"#] == 1)
        // The exchange made Apple's client secret.
        let age = try #require(samples[#"countersign_apple_client_secret_age_seconds{team="main"}"#])
        #expect((0..<1800).contains(age))
        #expect(try #require(samples[#"countersign_apple_key_file_age_seconds{team="main"}"#]) >= 0)
        // The signing key was made when the service started.
        #expect((0..<300).contains(try #require(samples["countersign_signing_key_age_seconds"])))
        #expect(samples["countersign_signing_key_usable"] == 1)
        // The scrape itself is one of them.
        #expect(samples[#"countersign_http_requests_in_flight{listener="private"}"#] == 1)
        #expect(samples[#"countersign_http_requests_in_flight{listener="public"}"#] == 0)
        #expect(try #require(samples[#"countersign_http_connections{listener="private"}"#]) >= 1)
        #expect(samples["countersign_metrics_refused_total"] == 0)
    }

    @Test func `a provider's event that can't be acted on shows in the metrics`() async throws {
        let age = "countersign_provider_events_oldest_seconds"
        let before = try await scrape()
        #expect(before[age] == 0)
        try await scratch.execute(
            "ALTER TABLE provider_events ADD CONSTRAINT provider_events_wait CHECK (status = 'pending')",
            """
            INSERT INTO provider_events (event_id, provider, jti, position, type, kind, realm, occurred_at, received_at)
            VALUES (gen_random_uuid(), 'google', 'waiting', 0, 'verification', 'verification', 'main', now(),
                now() - interval '11 minutes')
            """)
        try await eventually("its age") { try await scrape()[age] ?? 0 >= 660 }
    }

    @Test(.world(["apple.keysUrl": "http://127.0.0.1:1/"]))
    func `keys that can't be fetched show in the metrics`() async throws {
        let failed = #"countersign_key_set_fetches_total{outcome="failed",provider="apple"}"#
        try await eventually("a failed fetch") { try await scrape()[failed] ?? 0 >= 1 }
        try await world.newPerson("ash")
        try await world.signIn("ash", with: .apple).expecting(503)
        let samples = try await scrape()
        #expect(samples[#"countersign_key_set_keys{provider="apple"}"#] == 0)
        let unavailable =
            #"countersign_sign_ins_total{outcome="unavailable",provider="apple",reason="keys_unavailable"}"#
        #expect(samples[unavailable] == 1)
    }
}
