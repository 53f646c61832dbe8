/// The prepared statements of one connection, by text and types.
///
/// A statement is prepared when it comes for the second time: what comes once, such as the DDL of a migration, would
/// only fill the server's memory. Our statements are literals, so their number is that of the source; should texts be
/// generated without bound, those over the limit are not prepared.
struct PreparedStatements {
    enum Plan {
        case unprepared
        /// Prepare under this name, then execute it.
        case prepare(String)
        case execute(String)
    }

    private enum State {
        case seen
        /// Sent; until the server has confirmed it nothing else relies on it.
        case preparing
        case prepared(String)
    }

    private static let limit = 256
    private var states: [PreparedKey: State] = [:]
    private var lastNumber = 0

    mutating func plan(for key: PreparedKey) -> Plan {
        switch states[key] {
        case .prepared(let name): return .execute(name)
        case .preparing: return .unprepared
        case .seen:
            guard lastNumber < Self.limit else { return .unprepared }
            lastNumber += 1
            states[key] = .preparing
            return .prepare("s\(lastNumber)")
        case nil:
            if states.count >= Self.limit {
                states = states.filter { if case .seen = $0.value { false } else { true } }
            }
            if states.count < Self.limit { states[key] = .seen }
            return .unprepared
        }
    }

    mutating func confirm(_ key: PreparedKey, _ name: String) {
        states[key] = .prepared(name)
    }

    /// The server does not have it, or has it no more; the next use prepares it under a new name.
    mutating func forget(_ key: PreparedKey) {
        states[key] = .seen
    }
}
