import Metrics
import Testing

@testable import Prometheus

/// The page of what is counted through swift-metrics.
@Suite struct PrometheusRegistryTests {
    private let registry = PrometheusRegistry()

    /// The page without the metrics of the process and of the registry itself.
    private func written(_ registry: PrometheusRegistry) -> [String] {
        registry.page().split(separator: "\n").map(String.init)
            .filter { !$0.contains("process_") && !$0.contains("countersign_metrics_refused_total") }
    }

    private func refused(_ registry: PrometheusRegistry) -> String? {
        registry.page().split(separator: "\n").last { $0.hasPrefix("countersign_metrics_refused_total ") }
            .map(String.init)
    }

    @Test func `the page is exactly this`() {
        let links = [("result", "linked")]
        Counter(label: "test_links", dimensions: links, factory: registry).increment(by: 41)
        Counter(label: "test_links", dimensions: [("result", "refused")], factory: registry).increment()
        FloatingPointCounter(label: "test_fees", factory: registry).increment(by: 0.5)
        Gauge(label: "test_age_seconds", factory: registry).record(1.25)
        let depth = Meter(label: "test_depth", factory: registry)
        depth.set(7)
        depth.increment()
        depth.decrement(by: 3.0)
        let timer = Timer(label: "test_fetch", dimensions: [("provider", "apple")], factory: registry)
        timer.recordMilliseconds(1)
        timer.recordMilliseconds(30)
        timer.recordSeconds(60)
        #expect(
            written(registry) == [
                "# TYPE test_age_seconds gauge",
                "test_age_seconds 1.25",
                "# TYPE test_depth gauge",
                "test_depth 5",
                "# TYPE test_fees_total counter",
                "test_fees_total 0.5",
                "# TYPE test_fetch_seconds histogram",
                "test_fetch_seconds_bucket{provider=\"apple\",le=\"0.0001\"} 0",
                "test_fetch_seconds_bucket{provider=\"apple\",le=\"0.0005\"} 0",
                "test_fetch_seconds_bucket{provider=\"apple\",le=\"0.001\"} 1",
                "test_fetch_seconds_bucket{provider=\"apple\",le=\"0.0025\"} 1",
                "test_fetch_seconds_bucket{provider=\"apple\",le=\"0.005\"} 1",
                "test_fetch_seconds_bucket{provider=\"apple\",le=\"0.01\"} 1",
                "test_fetch_seconds_bucket{provider=\"apple\",le=\"0.025\"} 1",
                "test_fetch_seconds_bucket{provider=\"apple\",le=\"0.05\"} 2",
                "test_fetch_seconds_bucket{provider=\"apple\",le=\"0.1\"} 2",
                "test_fetch_seconds_bucket{provider=\"apple\",le=\"0.25\"} 2",
                "test_fetch_seconds_bucket{provider=\"apple\",le=\"0.5\"} 2",
                "test_fetch_seconds_bucket{provider=\"apple\",le=\"1\"} 2",
                "test_fetch_seconds_bucket{provider=\"apple\",le=\"2.5\"} 2",
                "test_fetch_seconds_bucket{provider=\"apple\",le=\"5\"} 2",
                "test_fetch_seconds_bucket{provider=\"apple\",le=\"10\"} 2",
                "test_fetch_seconds_bucket{provider=\"apple\",le=\"+Inf\"} 3",
                "test_fetch_seconds_sum{provider=\"apple\"} 60.031",
                "test_fetch_seconds_count{provider=\"apple\"} 3",
                "# TYPE test_links_total counter",
                "test_links_total{result=\"linked\"} 41",
                "test_links_total{result=\"refused\"} 1",
            ])
        #expect(registry.page().hasSuffix("\n"))
    }

    @Test func `a help text stands before its metric`() throws {
        let registry = PrometheusRegistry(help: ["test_requests_total": "Requests answered."])
        Counter(label: "test_requests", factory: registry).increment()
        Counter(label: "test_others", factory: registry).increment()
        #expect(
            written(registry) == [
                "# TYPE test_others_total counter", "test_others_total 1",
                "# HELP test_requests_total Requests answered.", "# TYPE test_requests_total counter",
                "test_requests_total 1",
            ])
    }

    @Test func `a recorder is a histogram, and a gauge when it does not aggregate`() {
        Recorder(label: "spread", factory: registry).record(3)
        Recorder(label: "latest", aggregate: false, factory: registry).record(3)
        let lines = written(registry)
        #expect(lines.contains("spread_bucket{le=\"2.5\"} 0"))
        #expect(lines.contains("spread_bucket{le=\"5\"} 1"))
        #expect(lines.contains("latest 3"))
    }

    @Test func `a name and dimensions are one series, in whichever order and from wherever`() {
        Counter(label: "a", dimensions: [("x", "1"), ("y", "2")], factory: registry).increment()
        Counter(label: "a_total", dimensions: [("y", "2"), ("x", "1")], factory: registry).increment()
        FloatingPointCounter(label: "a", dimensions: [("x", "1"), ("y", "2")], factory: registry).increment()
        #expect(written(registry) == ["# TYPE a_total counter", "a_total{x=\"1\",y=\"2\"} 3"])
    }

    @Test(arguments: [
        ("http.requests-seen", "http_requests_seen"), ("rule:made", "rule_made"), ("2nd", "_2nd"), ("", "_"),
        ("größe", "gr__e"), ("a\nb 1\n", "a_b_1_"), ("a{b=\"c\"}", "a_b__c__"),
    ])
    func `every name becomes one that Prometheus reads`(_ label: String, _ name: String) {
        Gauge(label: label, factory: registry).record(1)
        #expect(written(registry) == ["# TYPE \(name) gauge", "\(name) 1"])
    }

    @Test(arguments: [
        ("http.method", "http_method"), ("le", "_le"), ("__name__", "_name__"), ("9", "_9"), ("", "_"), ("a\"}", "a__"),
        ("__", "_"),
    ])
    func `every name of a dimension becomes one that Prometheus reads`(_ dimension: String, _ name: String) {
        Gauge(label: "a", dimensions: [(dimension, "v")], factory: registry).record(1)
        #expect(written(registry) == ["# TYPE a gauge", "a{\(name)=\"v\"} 1"])
    }

    @Test func `a label stands once, whatever the dimensions were called`() {
        Gauge(label: "a", dimensions: [("x.y", "1"), ("x-y", "2")], factory: registry).record(1)
        #expect(written(registry) == ["# TYPE a gauge", "a{x_y=\"1\"} 1"])
    }

    @Test func `no value of a label ends its line`() {
        let value = "a\"} 1\nforged 1\n\\\r\n\u{e9}"
        Gauge(label: "a", dimensions: [("x", value)], factory: registry).record(1)
        #expect(written(registry) == ["# TYPE a gauge", #"a{x="a\"} 1\nforged 1\n\\"# + "\r" + #"\né"} 1"#])
    }

    @Test(arguments: [
        (0.1, "0.1"), (-2, "-2"), (1e300, "1e+300"), (9_007_199_254_740_991, "9007199254740991"), (1e-9, "1e-09"),
        (.infinity, "+Inf"), (-.infinity, "-Inf"), (.nan, "NaN"),
    ])
    func `a number is written as Prometheus reads it`(_ value: Double, _ text: String) {
        Gauge(label: "a", factory: registry).record(value)
        #expect(written(registry).last == "a \(text)")
    }

    @Test func `a counter only goes up, until it is reset`() {
        let counter = FloatingPointCounter(label: "a", factory: registry)
        counter.increment(by: 2.5)
        for amount in [-1, Double.nan, .infinity, -.infinity] { counter.increment(by: amount) }
        Counter(label: "a", factory: registry).increment(by: -1)
        #expect(written(registry).last == "a_total 2.5")
        counter.reset()
        #expect(written(registry).last == "a_total 0")
    }

    @Test func `a histogram takes no value that is not finite`() {
        let recorder = Recorder(label: "a", factory: registry)
        for value in [1, Double.nan, .infinity] { recorder.record(value) }
        #expect(written(registry).suffix(3) == ["a_bucket{le=\"+Inf\"} 1", "a_sum 1", "a_count 1"])
    }

    @Test func `a series too many is refused and counted, and its handler can still be used`() {
        let registry = PrometheusRegistry(limit: 2)
        let counters = ["1", "2", "3", "4"].map { Counter(label: "a", dimensions: [("x", $0)], factory: registry) }
        for counter in counters { counter.increment() }
        Timer(label: "b", factory: registry).recordSeconds(1)
        Counter(label: "a", dimensions: [("x", "1")], factory: registry).increment()
        #expect(written(registry) == ["# TYPE a_total counter", "a_total{x=\"1\"} 2", "a_total{x=\"2\"} 1"])
        #expect(refused(registry) == "countersign_metrics_refused_total 3")
    }

    @Test func `a name has one kind`() {
        Gauge(label: "a_total", factory: registry).record(1)
        Counter(label: "a", factory: registry).increment()
        Recorder(label: "a_total", factory: registry).record(5)
        #expect(written(registry) == ["# TYPE a_total gauge", "a_total 1"])
        #expect(refused(registry) == "countersign_metrics_refused_total 2")
    }

    @Test func `what is destroyed is gone, makes room, and begins at 0 when it is made again`() {
        let registry = PrometheusRegistry(limit: 1)
        let counter = Counter(label: "a", factory: registry)
        counter.increment()
        counter.destroy()
        #expect(written(registry).isEmpty)
        Timer(label: "a", factory: registry).destroy()
        Meter(label: "a", factory: registry).destroy()
        Recorder(label: "a", factory: registry).destroy()
        FloatingPointCounter(label: "a", factory: registry).destroy()
        let again = Counter(label: "a", factory: registry)
        // The handler of the destroyed series has no effect on the new one.
        counter.increment()
        counter.destroy()
        #expect(written(registry) == ["# TYPE a_total counter", "a_total 0"])
        again.increment()
        #expect(written(registry).last == "a_total 1")
        #expect(refused(registry) == "countersign_metrics_refused_total 0")
    }

    @Test func `nothing is lost when many count at once, and every page is consistent`() async {
        let depth = Meter(label: "depth", factory: registry)
        await withTaskGroup { group in
            for _ in 1...4 {
                group.addTask {
                    for _ in 1...5000 {
                        Counter(label: "made", factory: registry).increment()
                        Recorder(label: "spread", factory: registry).record(2)
                        depth.increment()
                        depth.decrement(by: 0.5)
                    }
                }
            }
            group.addTask {
                for _ in 1...50 {
                    let lines = written(registry)
                    let counts = lines.compactMap { $0.wholeMatch(of: /spread_count (\d+)/)?.1 }.compactMap { Int($0) }
                    let sums = lines.compactMap { $0.wholeMatch(of: /spread_sum (\d+)/)?.1 }.compactMap { Int($0) }
                    #expect(counts.map { $0 * 2 } == sums)
                }
            }
        }
        let lines = written(registry)
        for line in ["made_total 20000", "spread_sum 40000", "spread_count 20000", "depth 10000"] {
            #expect(lines.contains(line), "\(line)")
        }
    }
}
