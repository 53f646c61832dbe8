import SignIn

/// The sign-ins of this process in the last hour, a bar a minute: those that were accepted, and above them the refused. The
/// axes are words beside it, because the bars are stretched to the page.
struct ConsoleChart: Sendable {
    let minutes: [OutcomeHistory.Minute]

    private static let height = 120
    private static let step = 10

    private static func refused(_ minute: OutcomeHistory.Minute) -> Int { minute.refused.values.reduce(0, +) }

    var accepted: Int { minutes.map(\.accepted).reduce(0, +) }
    var refused: Int { minutes.map(Self.refused).reduce(0, +) }

    /// By reason, the most frequent first.
    var reasons: [(reason: String, count: Int)] {
        minutes.reduce(into: [:]) { $0.merge($1.refused, uniquingKeysWith: +) }
            .sorted { ($1.value, $0.key) < ($0.value, $1.key) }
            .map { ($0.key, $0.value) }
    }

    private var highest: Int { max(1, minutes.map { $0.accepted + Self.refused($0) }.max() ?? 1) }

    var svg: HTMLText {
        let highest = highest
        var bars = ""
        for (index, minute) in minutes.enumerated() {
            let accepted = minute.accepted * Self.height / highest
            let refused = (minute.accepted + Self.refused(minute)) * Self.height / highest - accepted
            bars += Self.bar("accepted", index, top: Self.height - accepted, accepted)
            bars += Self.bar("refused", index, top: Self.height - accepted - refused, refused)
        }
        let width = minutes.count * Self.step
        return HTMLText(
            markup: """
                <div class="plot"><span aria-hidden="true">\(highest)</span><span aria-hidden="true">0</span>\
                <svg class="chart" viewBox="0 0 \(width) \(Self.height)" preserveAspectRatio="none" role="img" \
                aria-label="\(accepted) accepted and \(refused) refused sign-ins in the last hour; at most \(highest) a \
                minute">\(bars)<line class="base" x1="0" x2="\(width)" y1="\(Self.height)" y2="\(Self.height)"/></svg>\
                <span aria-hidden="true">\(minutes.count) min ago</span><span aria-hidden="true">now</span></div>
                """)
    }

    private static func bar(_ kind: String, _ index: Int, top: Int, _ height: Int) -> String {
        guard height > 0 else { return "" }
        return
            "<rect class=\"\(kind)\" x=\"\(index * step + 1)\" y=\"\(top)\" width=\"\(step - 2)\" height=\"\(height)\"/>"
    }
}
