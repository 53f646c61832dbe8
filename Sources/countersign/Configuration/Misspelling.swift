/// The search for the name that was meant.
extension Sequence<String> {
    /// The name that differs least from a misspelt one: by at most two characters that are missing, too many, others or
    /// in the place of their neighbours, upper and lower case aside. Nil when none is that near.
    func nearest(to misspelt: String) -> String? {
        let wrong = Array(misspelt.lowercased().utf8)
        // The names in a file have no bound, ours are short.
        guard (4...100).contains(wrong.count) else { return nil }
        let near = compactMap { name -> (distance: Int, name: String)? in
            guard abs(wrong.count - name.utf8.count) <= 2 else { return nil }
            let distance = editDistance(wrong, Array(name.lowercased().utf8))
            return distance <= 2 ? (distance, name) : nil
        }
        return near.min { ($0.distance, $0.name) < ($1.distance, $1.name) }?.name
    }
}

/// The least number of insertions, deletions, replacements and swaps of neighbours between two texts.
private func editDistance(_ one: [UInt8], _ other: [UInt8]) -> Int {
    var (before, last) = ([Int](), Array(0...other.count))
    for (row, byte) in one.enumerated() {
        var next = [row + 1]
        for (column, otherByte) in other.enumerated() {
            var least = Swift.min(last[column + 1] + 1, next[column] + 1, last[column] + (byte == otherByte ? 0 : 1))
            if row > 0, column > 0, byte == other[column - 1], one[row - 1] == otherByte {
                least = Swift.min(least, before[column - 1] + 1)
            }
            next.append(least)
        }
        (before, last) = (last, next)
    }
    return last[other.count]
}
