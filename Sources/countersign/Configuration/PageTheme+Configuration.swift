import WebPages

extension PageTheme {
    /// How the pages of the web sign-in look. Checked also where there are none.
    init(from reader: inout ConfigurationReader, server: ServerConfiguration) {
        let host = WebAddress(server.publicURL, schemes: ["https", "http"])?.host ?? ""
        self.init(
            name: reader.optional(Settings.Pages.name) ?? host,
            accentColor: reader.optional(Settings.Pages.accentColor).flatMap(RGBColor.init(hex:)),
            logo: reader.picture(Settings.Pages.logoPath, name: "logo"),
            appleLogo: reader.picture(Settings.Pages.appleLogoPath, name: "apple"),
            privacyURL: reader.optional(Settings.Pages.privacyURL), termsURL: reader.optional(Settings.Pages.termsURL),
            helpURL: reader.optional(Settings.Pages.helpURL))
    }
}

extension ConfigurationReader {
    private static let maximumPictureBytes = 64 * 1024

    /// The picture in the file that the key names, if it is set; nil after a fault.
    fileprivate mutating func picture(_ setting: Setting<String>, name: String) -> PageAsset? {
        guard let path = optional(setting),
            let bytes = file(setting, path, maximumBytes: Self.maximumPictureBytes)
        else { return nil }
        guard let kind = PageAsset.Kind(pictureIn: bytes) else {
            refuse(setting.name, "names a file that is neither PNG nor SVG")
            return nil
        }
        return PageAsset(name: name, kind: kind, bytes: bytes)
    }
}

extension PageAsset.Kind {
    /// The type of a picture by its content, whatever the file is called.
    fileprivate init?(pictureIn bytes: [UInt8]) {
        if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
            self = .png
        } else if let text = String(validating: bytes, as: UTF8.self), Self.isSVG(text) {
            self = .svg
        } else {
            return nil
        }
    }

    /// Whether the root element is `svg`, behind what may precede it (XML 1.0 §2.8).
    private static func isSVG(_ text: String) -> Bool {
        var rest = text[...]
        if rest.unicodeScalars.first == "\u{FEFF}" { rest.unicodeScalars.removeFirst() }
        while true {
            rest = rest.drop(while: \.isWhitespace)
            let prologue = [("<?", "?>"), ("<!--", "-->"), ("<!DOCTYPE", ">")].first { rest.hasPrefix($0.0) }
            guard let end = prologue?.1 else { return rest.firstMatch(of: /^<svg[\s>\/]/) != nil }
            guard let range = rest.firstRange(of: end) else { return false }
            rest = rest[range.upperBound...]
        }
    }
}
