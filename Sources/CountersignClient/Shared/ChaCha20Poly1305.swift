#if !canImport(CryptoKit)
    import Foundation

    /// The stream cipher of RFC 8439 §2.4, where the system brings none. It reads no table and takes no branch by a
    /// secret.
    struct ChaCha20 {
        private let key: [UInt32]
        private let nonce: [UInt32]

        /// nil unless the key has 32 bytes and the nonce 12.
        init?(key: Data, nonce: Data) {
            guard key.count == SealedBytes.keyLength, nonce.count == SealedBytes.nonceLength else { return nil }
            self.key = littleEndianWords(Array(key))
            self.nonce = littleEndianWords(Array(nonce))
        }

        /// The bytes combined with the key stream, beginning with the given block.
        func applied(to bytes: Data, from first: UInt32) -> Data {
            var bytes = Array(bytes)
            var counter = first
            for start in stride(from: 0, to: bytes.count, by: 64) {
                let block = block(counter)
                for index in start..<min(start + 64, bytes.count) { bytes[index] ^= block[index - start] }
                counter &+= 1
            }
            return Data(bytes)
        }

        /// §2.3.
        func block(_ counter: UInt32) -> [UInt8] {
            let start = [0x6170_7865, 0x3320_646E, 0x7962_2D32, 0x6B20_6574] + key + [counter] + nonce
            var state = start
            for _ in 0..<10 {
                quarterRound(&state, 0, 4, 8, 12)
                quarterRound(&state, 1, 5, 9, 13)
                quarterRound(&state, 2, 6, 10, 14)
                quarterRound(&state, 3, 7, 11, 15)
                quarterRound(&state, 0, 5, 10, 15)
                quarterRound(&state, 1, 6, 11, 12)
                quarterRound(&state, 2, 7, 8, 13)
                quarterRound(&state, 3, 4, 9, 14)
            }
            return zip(state, start).flatMap { mixed, first in
                let word = mixed &+ first
                return [0, 8, 16, 24].map { UInt8(truncatingIfNeeded: word >> $0) }
            }
        }

        /// §2.1.
        private func quarterRound(_ state: inout [UInt32], _ a: Int, _ b: Int, _ c: Int, _ d: Int) {
            func mix(_ left: Int, _ right: Int, _ target: Int, _ bits: UInt32) {
                state[left] &+= state[right]
                let word = state[target] ^ state[left]
                state[target] = word << bits | word >> (32 - bits)
            }
            mix(a, b, d, 16)
            mix(c, d, b, 12)
            mix(a, b, d, 8)
            mix(c, d, b, 7)
        }
    }

    /// The one-time authenticator of RFC 8439 §2.5: 16 bytes for a message under a key of 32 bytes. Numbers modulo
    /// 2¹³⁰ − 5 are five limbs of 26 bits.
    func poly1305(_ message: Data, key: Data) -> Data {
        let words = littleEndianWords(Array(key)).map(UInt64.init)
        let limb: UInt64 = 0x3FF_FFFF
        // §2.5.1: some bits of r are clear.
        let r: [UInt64] = [
            words[0] & 0x3FF_FFFF, (words[0] >> 26 | words[1] << 6) & 0x3FF_FF03,
            (words[1] >> 20 | words[2] << 12) & 0x3FF_C0FF, (words[2] >> 14 | words[3] << 18) & 0x3F0_3FFF,
            (words[3] >> 8) & 0x00F_FFFF,
        ]
        var sum = [UInt64](repeating: 0, count: 5)
        let message = Array(message)
        for start in stride(from: 0, to: message.count, by: 16) {
            let part = Array(message[start..<min(start + 16, message.count)])
            // The block with a one bit behind its last byte.
            let block = littleEndianWords(part + [1] + [UInt8](repeating: 0, count: 19 - part.count)).map(UInt64.init)
            sum[0] += block[0] & limb
            sum[1] += (block[0] >> 26 | block[1] << 6) & limb
            sum[2] += (block[1] >> 20 | block[2] << 12) & limb
            sum[3] += (block[2] >> 14 | block[3] << 18) & limb
            sum[4] += block[3] >> 8 | block[4] << 24
            sum = product(sum, r)
        }
        return finished(sum, adding: Array(words[4...]))
    }

    /// a × r modulo 2¹³⁰ − 5, where 2¹³⁰ counts 5. Limbs below 2²⁸ in, below 2²⁷ out.
    private func product(_ a: [UInt64], _ r: [UInt64]) -> [UInt64] {
        var product = [UInt64](repeating: 0, count: 5)
        for column in 0..<5 {
            for row in 0..<5 {
                let factor: UInt64 = row <= column ? r[column - row] : r[column + 5 - row] * 5
                product[column] += a[row] * factor
            }
        }
        carry(&product)
        return product
    }

    private func carry(_ limbs: inout [UInt64]) {
        for index in 0..<4 {
            limbs[index + 1] += limbs[index] >> 26
            limbs[index] &= 0x3FF_FFFF
        }
        limbs[0] += (limbs[4] >> 26) * 5
        limbs[4] &= 0x3FF_FFFF
        limbs[1] += limbs[0] >> 26
        limbs[0] &= 0x3FF_FFFF
    }

    /// The number reduced wholly, plus the second half of the key, modulo 2¹²⁸.
    private func finished(_ sum: [UInt64], adding pad: [UInt64]) -> Data {
        var number = sum
        carry(&number)
        carry(&number)
        // number − (2¹³⁰ − 5) = number + 5 − 2¹³⁰: taken when it is not negative, by a mask.
        var reduced = number
        reduced[0] += 5
        for index in 0..<4 {
            reduced[index + 1] += reduced[index] >> 26
            reduced[index] &= 0x3FF_FFFF
        }
        let isReduced = 0 &- (reduced[4] >> 26)
        reduced[4] &= 0x3FF_FFFF
        for index in 0..<5 { number[index] = number[index] & ~isReduced | reduced[index] & isReduced }
        var tag: [UInt8] = []
        var carried: UInt64 = 0
        // The words of 32 bits begin at bits 0, 6, 12 and 18 of the first four limbs.
        for index in 0..<4 {
            let shift = UInt64(index) * 6
            let word: UInt64 = number[index] >> shift | number[index + 1] << (26 - shift)
            carried += (word & 0xFFFF_FFFF) + pad[index]
            for byte in 0..<4 { tag.append(UInt8(truncatingIfNeeded: carried >> UInt64(byte * 8))) }
            carried >>= 32
        }
        return Data(tag)
    }

    /// Of bytes whose number is a multiple of four.
    private func littleEndianWords(_ bytes: [UInt8]) -> [UInt32] {
        stride(from: 0, to: bytes.count, by: 4).map { index in
            bytes[index..<index + 4].reversed().reduce(0) { $0 << 8 | UInt32($1) }
        }
    }
#endif
