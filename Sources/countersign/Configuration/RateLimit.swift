import Accounts

extension RateLimit {
    /// Parses `10/15min`, `10/15 min`, `30/h`, `5/90s`; `0` is no limit.
    init?(_ text: String) {
        if text == "0" {
            self = .none
            return
        }
        guard let match = text.wholeMatch(of: /([1-9][0-9]{0,8})\/([1-9][0-9]{0,5})? ?(s|min|h|d)/),
            let count = Int(match.1), let length = match.2.map({ Int($0) }) ?? 1
        else { return nil }
        let unit =
            switch match.3 {
            case "s": 1
            case "min": 60
            case "h": 3600
            default: 86_400
            }
        self = .limit(count: count, seconds: length * unit)
    }
}
