package import Foundation
import Primitives

/// A UUIDv7 (RFC 9562 §5.7) that names one kind of entity, so that the ids of two kinds can't be swapped.
package struct Identifier<Entity>: Codable, Hashable, Sendable, CustomStringConvertible {
    package let uuid: UUID

    package init(uuid: UUID) { self.uuid = uuid }

    /// A fresh id: 48 bits of `now` in milliseconds, then 74 of the ten `random` octets. Ids of one process grow with
    /// time, which keeps index inserts on the right-hand edge.
    package init(now: Timestamp, random: [UInt8]) {
        func integer(_ octets: Range<Int>) -> UInt64 {
            octets.reduce(0) { $0 << 8 | UInt64($1 < random.count ? random[$1] : 0) }
        }
        let octets = UUIDv7(
            milliseconds: UInt64(clamping: now.milliseconds), randomA: integer(0..<2), randomB: integer(2..<10)
        ).octets
        uuid = UUID(uuid: octets.withUnsafeBytes { $0.loadUnaligned(as: uuid_t.self) })
    }

    /// A fresh id with the system's random numbers.
    package init(now: Timestamp) {
        let octets = [UInt64.random(in: .min ... .max), .random(in: .min ... .max)].flatMap { number in
            (0..<8).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
        }
        self.init(now: now, random: octets)
    }

    /// The least id of a millisecond: no id made then or later is smaller.
    package static func first(at time: Timestamp) -> Identifier { Identifier(now: time, random: []) }

    /// Reads the text form; upper case, braces and other lengths are refused, so that an id has one spelling.
    package init?(_ text: String) {
        guard let uuid = UUID(uuidString: text), uuid.text == text else { return nil }
        self.uuid = uuid
    }

    /// Reads what was typed or pasted, in either case: other systems print UUIDs in capitals.
    package static func typed(_ text: String) -> Identifier? { Identifier(text.lowercased()) }

    package var description: String { uuid.text }

    /// When it was made, to the millisecond; `nil` for a UUID of another version, which nothing here has made.
    package var time: Timestamp? {
        let octets = uuid.uuid
        guard octets.6 >> 4 == 7 else { return nil }
        let milliseconds = [octets.0, octets.1, octets.2, octets.3, octets.4, octets.5]
            .reduce(Int64(0)) { $0 << 8 | Int64($1) }
        return Timestamp(microseconds: milliseconds * 1000)
    }
}

extension UUID {
    /// In lower case. `uuidString` goes through `snprintf`.
    package var text: String {
        func half(_ offset: Int) -> UInt64 {
            withUnsafeBytes(of: uuid) { UInt64(bigEndian: $0.loadUnaligned(fromByteOffset: offset, as: UInt64.self)) }
        }
        return UUIDv7.text(high: half(0), low: half(8))
    }
}

package typealias AccountID = Identifier<Account>
package typealias IdentityID = Identifier<Identity>
package typealias SessionID = Identifier<Session>
