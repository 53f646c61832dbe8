/// The prepared statements of one connection, by text and types.
///
/// A statement is prepared when it comes for the second time: what comes once, such as the DDL of a migration, would
/// only fill the server's memory. Our statements are literals, so their number is that of the source; should texts be
/// generated without bound, those over the limit are not prepared.
///
/// A name is made of text and types. A pooler may bring a connection to a server process on which others have prepared
/// theirs: whatever has the name there is the same statement.
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
    private var names = 0
    /// How often a migration has changed a statement's result type. Its plan stays on the server under the name from
    /// before.
    private var revision = 0

    mutating func plan(for key: PreparedKey) -> Plan {
        switch states[key] {
        case .prepared(let name): return .execute(name)
        case .preparing: return .unprepared
        case .seen:
            guard names < Self.limit else { return .unprepared }
            names += 1
            states[key] = .preparing
            return .prepare(revision == 0 ? key.name : "\(key.name)_\(revision)")
        case nil:
            if states.count >= Self.limit {
                states = states.filter { if case .seen = $0.value { false } else { true } }
            }
            if states.count < Self.limit { states[key] = .seen }
            return .unprepared
        }
    }

    mutating func confirm(_ key: PreparedKey, _ name: String) { states[key] = .prepared(name) }

    /// The server has refused to prepare it.
    mutating func refuse(_ key: PreparedKey, _ name: String, _ error: ServerResult.Preparation?) {
        states[key] = error == .present ? .prepared(name) : .seen
    }

    /// The server has refused to execute it; the next use prepares it.
    mutating func forget(_ key: PreparedKey, _ error: ServerResult.Preparation = .missing) {
        states[key] = .seen
        if error == .outdated { revision += 1 }
    }
}

extension PreparedKey {
    /// The same in every process. FNV-1a of 128 bits (draft-eastlake-fnv) is enough: the statements are ours.
    var name: String {
        var (high, low) = (0x6c62_272e_07bb_0142 as UInt64, 0x62b8_2175_6295_c58d as UInt64)
        func add(_ byte: UInt8) {
            low ^= UInt64(byte)
            // Times 2^88 + 0x13b, modulo 2^128.
            let product = low.multipliedFullWidth(by: 0x13b)
            high = high &* 0x13b &+ product.high &+ (low << 24)
            low = product.low
        }
        for byte in text.utf8 { add(byte) }
        // No text holds a NUL.
        add(0)
        for type in types {
            for shift in stride(from: 24, through: 0, by: -8) { add(UInt8(truncatingIfNeeded: type >> shift)) }
        }
        return "s\(String(high, radix: 16))_\(String(low, radix: 16))"
    }
}
