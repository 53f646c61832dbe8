import Primitives

/// `Accept-Language` (RFC 9110 §12.5.4).
package enum AcceptLanguage {
    private static let maximumTags = 16

    /// The language tags by descending weight, in lower case. Ranges that are no tag, have weight 0 or are `*` are
    /// skipped.
    package static func tags(_ field: String?) -> [String] {
        guard let field, field.utf8.count <= 512 else { return [] }
        let octets = Array(field.utf8).filter { $0 != UInt8(ascii: " ") }.map(\.asciiLowercased)
        let ranges = octets.split(separator: UInt8(ascii: ",")).prefix(maximumTags).compactMap {
            range -> (tag: String, weight: Int)? in
            let parts = range.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
            guard let tag = parts.first, isTag(tag), let weight = weight(parts.dropFirst()), weight > 0
            else { return nil }
            return (String(decoding: tag, as: UTF8.self), weight)
        }
        return ranges.enumerated()
            .sorted { ($1.element.weight, $0.offset) < ($0.element.weight, $1.offset) }
            .map(\.element.tag)
    }

    private static func isTag(_ octets: ArraySlice<UInt8>) -> Bool {
        1...35 ~= octets.count && octets.allSatisfy { $0.isASCIIAlphanumeric || $0 == UInt8(ascii: "-") }
    }

    /// The weight in thousandths of `q=0.8`, `q=1` or no parameter; `nil` if malformed.
    private static func weight(_ parameters: ArraySlice<ArraySlice<UInt8>>) -> Int? {
        guard let parameter = parameters.first else { return 1000 }
        let bytes = Array(parameter)
        guard parameters.count == 1, 3...7 ~= bytes.count, bytes[0] == UInt8(ascii: "q"),
            bytes[1] == UInt8(ascii: "="), bytes.count == 3 || bytes[3] == UInt8(ascii: "."),
            bytes[2].isASCIIDigit, bytes.dropFirst(4).allSatisfy(\.isASCIIDigit)
        else { return nil }
        let weight = [2, 4, 5, 6].reduce(0) { $0 * 10 + ($1 < bytes.count ? Int(bytes[$1] - UInt8(ascii: "0")) : 0) }
        return weight <= 1000 ? weight : nil
    }
}
