/// What the checks have found: the last result of each.
struct LinkingReport: Sendable {
    enum Result: String, CaseIterable, Sendable {
        case passed
        case failed
        /// Not done yet, or not applicable.
        case open
    }

    struct Entry: Sendable {
        let way: LinkingWay
        let check: LinkingCheck
        let result: Result
        /// What the service has answered, without secrets.
        let detail: String?
    }

    private var found: [LinkingWay: [LinkingCheck: (result: Result, detail: String)]] = [:]

    mutating func add(_ findings: LinkingFindings) {
        for (check, result, detail) in findings.all {
            found[findings.way, default: [:]][check] = (result, detail)
        }
    }

    func entries(of way: LinkingWay) -> [Entry] {
        way.checks.map { check in
            let found = found[way]?[check]
            return Entry(way: way, check: check, result: found?.result ?? .open, detail: found?.detail)
        }
    }

    func count(_ result: Result) -> Int { LinkingWay.allCases.flatMap(entries).count { $0.result == result } }

    var json: JSONObject {
        var json: JSONObject = [:]
        for result in Result.allCases { json.set(result.rawValue, count(result)) }
        let checks = LinkingWay.allCases.flatMap(entries).map { entry -> JSONObject in
            [
                "way": entry.way.rawValue, "name": entry.check.name, "title": entry.check.title,
                "result": entry.result.rawValue, "detail": entry.detail,
            ]
        }
        json.set("checks", checks)
        return json
    }
}

/// What one run of checks finds.
struct LinkingFindings: Sendable {
    let way: LinkingWay
    private(set) var all: [(check: LinkingCheck, result: LinkingReport.Result, detail: String)] = []

    mutating func note(_ check: LinkingCheck, _ isPassed: Bool, _ detail: String) {
        all.append((check, isPassed ? .passed : .failed, detail))
    }

    /// For a check that does not apply.
    mutating func leaveOpen(_ check: LinkingCheck, _ detail: String) { all.append((check, .open, detail)) }
}
