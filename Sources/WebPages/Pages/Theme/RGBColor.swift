import Foundation
import Primitives

/// A colour in sRGB, and its contrast to others by WCAG 2.2.
package struct RGBColor: Hashable, Sendable {
    package let red: UInt8
    package let green: UInt8
    package let blue: UInt8

    package init(red: UInt8, green: UInt8, blue: UInt8) {
        self.red = red
        self.green = green
        self.blue = blue
    }

    /// Reads `#rrggbb`, digits in either case; anything else is `nil`.
    package init?(hex text: String) {
        guard text.utf8.count == 7, text.utf8.first == UInt8(ascii: "#"),
            let bytes = Hexadecimal.decode(text.dropFirst()), bytes.count == 3
        else { return nil }
        self.init(red: bytes[0], green: bytes[1], blue: bytes[2])
    }

    /// `#rrggbb`.
    package var hex: String { "#" + Hexadecimal.encode([red, green, blue]) }

    package static let black = RGBColor(red: 0, green: 0, blue: 0)
    package static let white = RGBColor(red: 255, green: 255, blue: 255)

    /// The contrast ratio, 1 to 21 (WCAG 2.2, "contrast ratio").
    package func contrast(to other: RGBColor) -> Double {
        let (light, dark) = (max(luminance, other.luminance), min(luminance, other.luminance))
        return (light + 0.05) / (dark + 0.05)
    }

    /// Black or white, whichever is read better on this colour: never below 4.58, where both are equal.
    package var textOnTop: RGBColor { contrast(to: .white) >= contrast(to: .black) ? .white : .black }

    /// The nearest colour on the way to black or white that has the contrast to all of the surfaces; the end of that
    /// way where none has.
    package func adjusted(toward end: RGBColor, contrast ratio: Double, on surfaces: [RGBColor]) -> RGBColor {
        let steps = 64
        return (0...steps).lazy.map { mixed(with: end, $0, of: steps) }
            .first { color in surfaces.allSatisfy { color.contrast(to: $0) >= ratio } } ?? end
    }

    private func mixed(with other: RGBColor, _ part: Int, of whole: Int) -> RGBColor {
        func mix(_ from: UInt8, _ to: UInt8) -> UInt8 {
            UInt8(clamping: (Int(from) * (whole - part) + Int(to) * part) / whole)
        }
        return RGBColor(red: mix(red, other.red), green: mix(green, other.green), blue: mix(blue, other.blue))
    }

    /// WCAG 2.2, "relative luminance".
    private var luminance: Double {
        func linear(_ channel: UInt8) -> Double {
            let value = Double(channel) / 255
            return value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4)
        }
        return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
    }
}
