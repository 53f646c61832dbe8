import Metrics
import Synchronization

/// A time series: a metric's name with one set of labels. A histogram writes several lines for it.
protocol Series: AnyObject, Sendable {
    static var kind: Exposition.Kind { get }
    var id: SeriesID { get }
    init(id: SeriesID)
    func write(to page: inout Exposition)
}

struct SeriesID: Hashable {
    let name: String
    let labels: Labels
}

/// A counter of whole and fractional amounts. Prometheus stores every value as a `Double`, exact for integers up to
/// 2⁵³.
final class CounterSeries: Series, CounterHandler, FloatingPointCounterHandler {
    static let kind = Exposition.Kind.counter
    let id: SeriesID
    private let count = Atomic<Double>(0)

    init(id: SeriesID) { self.id = id }

    func increment(by amount: Int64) { increment(by: Double(amount)) }

    /// Ignores amounts that are negative or not finite: a counter never decreases, and it would never recover from a
    /// NaN.
    func increment(by amount: Double) {
        guard amount > 0, amount.isFinite else { return }
        count.add(amount)
    }

    func reset() { count.store(0, ordering: .relaxed) }

    func write(to page: inout Exposition) { page.sample(id.name, id.labels, count.load(ordering: .relaxed)) }
}

/// A gauge: the value that was recorded last.
final class GaugeSeries: Series, MeterHandler, RecorderHandler {
    static let kind = Exposition.Kind.gauge
    let id: SeriesID
    private let value = Atomic<Double>(0)

    init(id: SeriesID) { self.id = id }

    func set(_ value: Int64) { set(Double(value)) }
    func set(_ value: Double) { self.value.store(value, ordering: .relaxed) }
    func record(_ value: Int64) { set(value) }
    func record(_ value: Double) { set(value) }
    func increment(by amount: Double) { value.add(amount) }
    func decrement(by amount: Double) { value.add(-amount) }

    func write(to page: inout Exposition) { page.sample(id.name, id.labels, value.load(ordering: .relaxed)) }
}

/// A histogram with buckets for seconds: from 0.1 ms, the time of a signature check, to 10 s, the timeout of a call to
/// a provider.
final class HistogramSeries: Series, TimerHandler, RecorderHandler {
    static let bounds: [Double] = [
        0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
    ]

    private struct State {
        /// The count of each bucket by itself, not cumulative. The last one is of values beyond every bound.
        var counts = [UInt64](repeating: 0, count: HistogramSeries.bounds.count + 1)
        var sum = 0.0
    }

    static let kind = Exposition.Kind.histogram
    let id: SeriesID
    /// Under a lock, so that no page has a value in its bucket and not in the sum.
    private let state = Mutex(State())

    init(id: SeriesID) { self.id = id }

    func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1e9) }
    func record(_ value: Int64) { record(Double(value)) }

    func record(_ value: Double) {
        guard value.isFinite else { return }
        let bucket = Self.bounds.firstIndex { value <= $0 } ?? Self.bounds.count
        state.withLock { state in
            state.counts[bucket] += 1
            state.sum += value
        }
    }

    func write(to page: inout Exposition) {
        let state = state.withLock { $0 }
        var count: UInt64 = 0
        for (bound, inBucket) in zip(Self.bounds + [.infinity], state.counts) {
            count += inBucket
            page.sample(id.name + "_bucket", id.labels.with("le", Exposition.number(bound)), Double(count))
        }
        page.sample(id.name + "_sum", id.labels, state.sum)
        page.sample(id.name + "_count", id.labels, Double(count))
    }
}

extension Atomic<Double> {
    fileprivate func add(_ amount: Double) {
        var seen = load(ordering: .relaxed)
        while true {
            let (done, original) = weakCompareExchange(expected: seen, desired: seen + amount, ordering: .relaxed)
            if done { return }
            seen = original
        }
    }
}
