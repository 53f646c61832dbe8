/// What a reply is about, by its enhanced status code (RFC 3463 §3): `2.1` of `450 4.2.1 …`.
struct EnhancedStatus {
    private let subject: Int
    private let detail: Int

    /// - Parameter line: a line of a reply, from its three digits on.
    /// - Returns: `nil` when it has none.
    init?(line: [UInt8]) {
        let words = String(decoding: line.dropFirst(4).prefix { $0 > 0x20 }, as: UTF8.self).split(separator: ".")
        let numbers = words.compactMap { Int($0) }
        guard words.count == 3, numbers.count == 3 else { return nil }
        (subject, detail) = (numbers[1], numbers[2])
    }

    /// Whether it is about the recipient: the address, the mailbox, or the way to their server. What is left are the
    /// sender (4.1.7 and 4.1.8), the server itself, and its policy towards who sends.
    private var isOfRecipient: Bool {
        switch subject {
        case 1: 1...6 ~= detail || detail == 10
        case 2: true
        // 4.4.5 is a server that has too much to do.
        case 4: detail != 5
        default: false
        }
    }

    /// Whether a reply to RCPT puts off this recipient, and might take another one. A server may hold its refusal of all
    /// mail back until then: where the reply doesn't say, it is that.
    static func postponesRecipient(reply: Int, line: [UInt8]) -> Bool {
        // 421 is about the server, whatever the command (RFC 5321 §3.8); 454 is how Postfix denies relaying.
        guard 400..<500 ~= reply, ![421, 454].contains(reply) else { return false }
        return EnhancedStatus(line: line)?.isOfRecipient ?? [450, 452].contains(reply)
    }
}
