import OpenSSL
import Primitives

/// A file that the pages load: the style sheet, a picture. Its path holds a part of its hash, so it may be cached for
/// ever.
package struct PageAsset: Hashable, Sendable {
    /// `DIRECTORY/NAME-HASH.EXTENSION`.
    package let path: String
    package let mediaType: String
    package let bytes: [UInt8]

    /// - Parameters:
    ///   - name: what the path begins with.
    ///   - kind: the type of the file.
    ///   - directory: the path of the directory that it is served from.
    package init(name: String, kind: Kind, bytes: [UInt8], directory: String = "/web/assets") {
        let hash = SHA256.hash(bytes).prefix(8)
        self.path = "\(directory)/\(name)-\(Hexadecimal.encode(Array(hash))).\(kind.rawValue)"
        self.mediaType = kind.mediaType
        self.bytes = bytes
    }

    /// Whether a path is of this file with these or with other bytes, as a page of a process of another release names it.
    func isVersion(at path: String) -> Bool {
        let parts = [path, self.path].map { path in
            (path.prefix { $0 != "." }.dropLast(Self.hashLength), path.drop { $0 != "." })
        }
        return parts[0] == parts[1]
    }

    private static let hashLength = 16

    /// By the extension of the file's name.
    package enum Kind: String, CaseIterable, Sendable {
        case css
        case svg
        case png
        case jpg
        case jpeg
        case webp

        var mediaType: String {
            switch self {
            case .css: "text/css; charset=utf-8"
            case .svg: "image/svg+xml"
            case .png: "image/png"
            case .jpg, .jpeg: "image/jpeg"
            case .webp: "image/webp"
            }
        }
    }
}
