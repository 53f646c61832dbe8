import HTTPServer
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(5))) struct MetricsPageTests {
    @Test func `the page is plain text of Prometheus's format, and new each time`() async throws {
        let scrapes = Mutex(0)
        let page = MetricsPage {
            let count = scrapes.withLock { scrapes in
                scrapes += 1
                return scrapes
            }
            return "scrapes_total{by=\"é\"} \(count)\n"
        }
        let answers = try await withConnection(page.routes) { connection in
            var answers: [Answer] = []
            for _ in 1...2 { answers.append(try await connection.exchange(get("/metrics"))) }
            return answers
        }
        #expect(answers.map(\.status) == [200, 200])
        #expect(answers.map(\.text) == ["scrapes_total{by=\"é\"} 1\n", "scrapes_total{by=\"é\"} 2\n"])
        for answer in answers {
            #expect(answer["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8")
            #expect(answer["Cache-Control"] == "no-store")
        }
    }
}
