import Curl
import Postgres
import TestSupport
import Testing

/// The page of a running service, as Prometheus scrapes it.
@Suite(.fixture(ScratchDatabase.self), .timeLimit(.minutes(2))) struct MetricsServingTests {
    var scratch: ScratchDatabase { .current }

    /// The value of a sample on the page, by name and labels.
    private func sample(_ series: String, _ service: Countersign) async throws -> Double {
        try #require(try await sampleIfThere(series, service), "\(series) is not there")
    }

    private func sampleIfThere(_ series: String, _ service: Countersign) async throws -> Double? {
        let answer = try await service.fetcher.fetch(
            FetchRequest(url: service.privateURL + "/metrics", maximumBodyBytes: 1 << 20).uncontended)
        #expect(answer.status == 200)
        let line = String(decoding: answer.body, as: UTF8.self).split(separator: "\n")
            .first { $0.hasPrefix(series + " ") }
        return line.flatMap { Double($0.dropFirst(series.utf8.count + 1)) }
    }

    @Test func `the private listener counts what the public one has answered`() async throws {
        let settings = [
            "postgres.url": scratch.url, "apple.keysUrl": "http://127.0.0.1:1/",
            "google.keysUrl": "http://127.0.0.1:1/",
        ]
        try await Countersign.serve(settings) { service in
            let refused = "{method=\"GET\",route=\"/v1/account\",status=\"4xx\"}"
            #expect(try await sampleIfThere("countersign_http_requests_total" + refused, service) == nil)
            let page = try await service.fetcher.fetch(
                FetchRequest(url: service.privateURL + "/metrics", maximumBodyBytes: 1 << 20).uncontended)
            let series = String(decoding: page.body, as: UTF8.self).split(separator: "\n").count { !$0.hasPrefix("#") }
            #expect(series < 600)
            for _ in 1...3 {
                let answer = try await service.fetcher.fetch(FetchRequest(url: service.url + "/v1/account").uncontended)
                #expect(answer.status == 401)
            }
            #expect(try await sample("countersign_http_requests_total" + refused, service) == 3)
            let route = "{method=\"GET\",route=\"/v1/account\"}"
            #expect(try await sample("countersign_http_request_seconds_count" + route, service) == 3)
            #expect(try await sample("process_resident_memory_bytes", service) > 1_000_000)
            #expect(try await sample("countersign_metrics_refused_total", service) == 0)
            let elsewhere = try await service.fetcher.fetch(FetchRequest(url: service.url + "/metrics").uncontended)
            #expect(elsewhere.status == 404)
        }
    }

    @Test func `a service that starts has the next partitions of the audit trail made, and counts them`() async throws {
        // All but the default one, so that no month is there but those that are made.
        let names = try await scratch.texts(
            """
            SELECT inhrelid::regclass::text FROM pg_inherits
            WHERE inhparent = 'audit_events'::regclass AND inhrelid <> 'audit_events_default'::regclass
            """)
        for name in names { try await scratch.execute("DROP TABLE \(unsafeSQL: name)") }
        try await Countersign.serve(["postgres.url": scratch.url, "apple.keysUrl": "http://127.0.0.1:1/"]) {
            service in
            while try await sampleIfThere("countersign_audit_partition_months", service) != 3 {
                try await pollingPause()
            }
        }
    }
}
