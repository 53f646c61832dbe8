/// The colours of the pages in light or dark: custom properties of the style sheet.
struct ColorScheme: Sendable {
    /// By the property's name without its dashes.
    let colors: KeyValuePairs<String, RGBColor>

    static func light(accent: RGBColor) -> ColorScheme {
        let surfaces = [rgb(0xF4F5F7), rgb(0xFFFFFF), rgb(0xEEF0F3)]
        return ColorScheme(colors: [
            "page": surfaces[0], "card": surfaces[1], "raised": surfaces[2],
            "text": rgb(0x17191C), "muted": rgb(0x565C66), "line": rgb(0xDCDFE4), "field": rgb(0x767C87),
            "accent": accent, "on-accent": accent.textOnTop,
            "link": accent.adjusted(toward: .black, contrast: 4.5, on: surfaces),
            "error": rgb(0xA31621), "error-card": rgb(0xFDECEC), "notice": rgb(0x17603A), "notice-card": rgb(0xE8F6EE),
            "apple": .black, "on-apple": .white,
            "google": .white, "google-line": rgb(0x747775), "on-google": rgb(0x1F1F1F),
        ])
    }

    static func dark(accent: RGBColor) -> ColorScheme {
        let surfaces = [rgb(0x0F1115), rgb(0x1A1D23), rgb(0x262A32)]
        return ColorScheme(colors: [
            "page": surfaces[0], "card": surfaces[1], "raised": surfaces[2],
            "text": rgb(0xF1F3F5), "muted": rgb(0xA9B0BB), "line": rgb(0x343A44), "field": rgb(0x858D99),
            "accent": accent, "on-accent": accent.textOnTop,
            "link": accent.adjusted(toward: .white, contrast: 4.5, on: surfaces),
            "error": rgb(0xFFB4AB), "error-card": rgb(0x43191B), "notice": rgb(0x9BE3B8), "notice-card": rgb(0x123323),
            "apple": .white, "on-apple": .black,
            "google": rgb(0x131314), "google-line": rgb(0x8E918F), "on-google": rgb(0xE3E3E3),
        ])
    }

    /// The operator's colour when they name none.
    static let defaultAccent = rgb(0x2A56C6)

    var declarations: String { colors.map { "--\($0.key):\($0.value.hex)" }.joined(separator: ";") }

    private static func rgb(_ value: UInt32) -> RGBColor {
        RGBColor(
            red: UInt8(truncatingIfNeeded: value >> 16), green: UInt8(truncatingIfNeeded: value >> 8),
            blue: UInt8(truncatingIfNeeded: value))
    }
}
