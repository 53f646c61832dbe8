package import Metrics
import Synchronization

/// The registry of this process's metrics: the factory behind swift-metrics, and the page that Prometheus scrapes.
///
/// ```
/// Counter(label:dimensions:) ── once ──▶ makeCounter ──▶ CounterSeries, one for each name and labels
///        increment() ── each time, no look-up ──────────▶      │
///                                   GET /metrics ──▶ page() ◀─┘
/// ```
///
/// A series beyond the limit, or with the name of a metric of another kind, is refused: the caller gets a handler that
/// discards its values, the page stays valid, and `countersign_metrics_refused_total` counts the refusal.
package final class PrometheusRegistry: MetricsFactory {
    private struct Family {
        let kind: Exposition.Kind
        var series: [Labels: any Series] = [:]
    }

    private struct State {
        var families: [String: Family] = [:]
        var count = 0
    }

    private let help: [String: String]
    private let limit: Int
    private let state = Mutex(State())
    private let refused: CounterSeries

    /// - Parameters:
    ///   - help: the text of each metric's `# HELP` line, by the metric's name on the page.
    ///   - limit: the greatest number of series; a histogram counts as one. Dimensions have few values each, so only a
    ///     defect reaches it. It then bounds the memory and the page.
    package init(help: [String: String] = [:], limit: Int = 2000) {
        self.help = help
        self.limit = limit
        let id = SeriesID(name: "countersign_metrics_refused_total", labels: Labels())
        refused = CounterSeries(id: id)
        state.withLock { $0.families[id.name] = Family(kind: .counter, series: [id.labels: refused]) }
    }

    /// The body of `GET /metrics`: every metric by name, each series by its labels, then the process.
    package func page() -> String {
        var page = Exposition(help: help)
        for (name, family) in state.withLock({ $0.families }).sorted(by: { $0.key < $1.key }) {
            page.begin(name, family.kind)
            for (_, series) in family.series.sorted(by: { $0.key < $1.key }) { series.write(to: &page) }
        }
        page.writeProcess()
        return page.text
    }

    /// The series of this name and these dimensions, made by the first call; nil if it is refused.
    private func series<S: Series>(_: S.Type, _ name: String, _ dimensions: [(String, String)]) -> S? {
        let id = SeriesID(name: name, labels: Labels(dimensions))
        return state.withLock { state in
            if let known = state.families[id.name]?.series[id.labels] as? S { return known }
            guard state.count < limit, state.families[id.name, default: Family(kind: S.kind)].kind == S.kind else {
                refused.increment(by: 1.0)
                return nil
            }
            let series = S(id: id)
            state.families[id.name, default: Family(kind: S.kind)].series[id.labels] = series
            state.count += 1
            return series
        }
    }

    private func remove(_ handler: AnyObject) {
        guard let series = handler as? any Series else { return }
        state.withLock { state in
            guard state.families[series.id.name]?.series[series.id.labels] === series else { return }
            state.families[series.id.name]?.series[series.id.labels] = nil
            if state.families[series.id.name]?.series.isEmpty == true { state.families[series.id.name] = nil }
            state.count -= 1
        }
    }

    // MARK: MetricsFactory

    package func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        series(CounterSeries.self, MetricName.ofCounter(label), dimensions) ?? NOOPMetricsHandler.instance
    }

    package func makeFloatingPointCounter(
        label: String, dimensions: [(String, String)]
    ) -> any FloatingPointCounterHandler {
        series(CounterSeries.self, MetricName.ofCounter(label), dimensions) ?? NOOPMetricsHandler.instance
    }

    package func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        series(GaugeSeries.self, MetricName.ofGauge(label), dimensions) ?? NOOPMetricsHandler.instance
    }

    /// - Parameter aggregate: false for a gauge.
    package func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        if aggregate {
            series(HistogramSeries.self, MetricName.ofHistogram(label), dimensions) ?? NOOPMetricsHandler.instance
        } else {
            series(GaugeSeries.self, MetricName.ofGauge(label), dimensions) ?? NOOPMetricsHandler.instance
        }
    }

    package func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        series(HistogramSeries.self, MetricName.ofTimer(label), dimensions) ?? NOOPMetricsHandler.instance
    }

    package func destroyCounter(_ handler: any CounterHandler) { remove(handler) }
    package func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) { remove(handler) }
    package func destroyMeter(_ handler: any MeterHandler) { remove(handler) }
    package func destroyRecorder(_ handler: any RecorderHandler) { remove(handler) }
    package func destroyTimer(_ handler: any TimerHandler) { remove(handler) }
}
