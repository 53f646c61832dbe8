import OpenSSL

/// The source of every generated value: subjects, relay addresses, codes and key ids are digests of the seed and of the
/// names and counters that they belong to, so they don't depend on the order of calls. Key *material* is always fresh:
/// a private key derived from a seed would be known to anyone who knows the seed.
struct Seed: Sendable {
    let text: String

    func hexadecimal(_ count: Int, for parts: String...) -> String {
        derive(parts, count: count, alphabet: Array("0123456789abcdef".utf8))
    }

    func digits(_ count: Int, for parts: String...) -> String {
        derive(parts, count: count, alphabet: Array("0123456789".utf8))
    }

    func lowercase(_ count: Int, for parts: String...) -> String {
        derive(parts, count: count, alphabet: Array("abcdefghijklmnopqrstuvwxyz0123456789".utf8))
    }

    func alphanumeric(_ count: Int, for parts: String...) -> String {
        derive(
            parts, count: count,
            alphabet: Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8))
    }

    /// One character per digest octet. The slight bias of the remainder is harmless: these values must look right and
    /// differ; they protect nothing.
    private func derive(_ parts: [String], count: Int, alphabet: [UInt8]) -> String {
        var characters: [UInt8] = []
        var block = 0
        while characters.count < count {
            var input = Array("\(text.utf8.count):\(text)".utf8)
            for part in parts { input += Array("\(part.utf8.count):\(part)".utf8) }
            input += Array("#\(block)".utf8)
            for octet in SHA256.hash(input) where characters.count < count {
                characters.append(alphabet[Int(octet) % alphabet.count])
            }
            block += 1
        }
        return String(decoding: characters, as: UTF8.self)
    }
}
