package import Foundation

/// A UUIDv7 (RFC 9562 §5.7) that names one kind of entity, so that the ids of two kinds can't be swapped.
package struct Identifier<Entity>: Hashable, Sendable, CustomStringConvertible {
    package let uuid: UUID

    package init(uuid: UUID) {
        self.uuid = uuid
    }

    /// A fresh id: 48 bits of `now` in milliseconds, then 74 of the ten `random` octets. Ids of one process grow with
    /// time, which keeps index inserts on the right-hand edge.
    package init(now: Timestamp, random: [UInt8]) {
        let time = UInt64(clamping: now.milliseconds)
        func octet(_ index: Int) -> UInt8 { index < random.count ? random[index] : 0 }
        self.uuid = UUID(
            uuid: (
                UInt8(truncatingIfNeeded: time >> 40), UInt8(truncatingIfNeeded: time >> 32),
                UInt8(truncatingIfNeeded: time >> 24), UInt8(truncatingIfNeeded: time >> 16),
                UInt8(truncatingIfNeeded: time >> 8), UInt8(truncatingIfNeeded: time),
                0x70 | (octet(0) & 0x0F), octet(1),
                0x80 | (octet(2) & 0x3F), octet(3),
                octet(4), octet(5), octet(6), octet(7), octet(8), octet(9)
            ))
    }

    /// A fresh id with the system's random numbers.
    package init(now: Timestamp) {
        let octets = [UInt64.random(in: .min ... .max), .random(in: .min ... .max)].flatMap { number in
            (0..<8).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
        }
        self.init(now: now, random: octets)
    }

    /// The least id of a millisecond: no id made then or later is smaller.
    package static func first(at time: Timestamp) -> Identifier {
        Identifier(now: time, random: [])
    }

    /// Reads the text form; upper case, braces and other lengths are refused, so that an id has one spelling.
    package init?(_ text: String) {
        guard let uuid = UUID(uuidString: text), uuid.uuidString.lowercased() == text else { return nil }
        self.uuid = uuid
    }

    package var description: String {
        uuid.uuidString.lowercased()
    }
}

package typealias AccountID = Identifier<Account>
package typealias IdentityID = Identifier<Identity>
package typealias SessionID = Identifier<Session>
