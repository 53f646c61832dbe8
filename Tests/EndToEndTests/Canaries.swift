import Primitives

/// Texts that only the two ends of a conversation may ever see, each with the name under which a leak is reported.
struct Canaries {
    private(set) var texts: [(name: String, text: String)] = []

    mutating func add(_ name: String, _ text: String) -> String {
        texts.append((name, text))
        return text
    }

    /// A token whole, and each of its parts: a log line could cut it.
    mutating func add(token name: String, _ token: String) -> String {
        for (index, part) in token.split(separator: ".").enumerated() where part.utf8.count > 60 {
            // Headers are the same for all tokens and hold no secret.
            if index > 0 { texts.append(("\(name), part \(index)", String(part.prefix(60)))) }
        }
        return add(name, token)
    }

    /// The names of those that occur in a text.
    func found(in text: String) -> [String] { texts.filter { text.contains($0.text) }.map(\.name) }

    /// The names of those that occur in a dump of a database, which writes bytes in hexadecimal digits.
    func found(inDump dump: String) -> [String] {
        texts.filter { dump.contains($0.text) || dump.contains(Hexadecimal.encode($0.text.utf8)) }.map(\.name)
    }
}
