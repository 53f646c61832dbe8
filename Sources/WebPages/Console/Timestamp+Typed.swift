import Accounts

extension Timestamp {
    /// What is accepted, in a sentence.
    static let typedForms = "2026-11-23, 2026-11-23 08:00 or 2026-11-23T08:00:00Z"

    /// Reads a time that was typed at the console, or pasted from one of its pages: in RFC 3339, a day, or a day and a time
    /// to the minute or the second, in UTC as all times there.
    init?(typed text: String) {
        let endings = [10: "T00:00:00Z", 16: ":00Z", 19: "Z", 20: ""]
        guard let ending = endings[text.utf8.count] else { return nil }
        self.init(rfc3339: text.replacing(" ", with: "T") + ending)
    }
}
