import Foundation

#if canImport(Darwin)
    import Darwin
#endif

/// What the person's list of devices calls the one that is signing in. It is sent with every sign-in.
public struct DeviceDescription: Sendable, Equatable {
    /// Shown to the person, and to support.
    public var name: String?
    public var platform: String?

    public init(name: String?, platform: String?) {
        self.name = name
        self.platform = platform
    }

    /// The kind of model and of system, such as `iPhone` and `iOS`; no name that a person has given it.
    public static var current: Self { Self(name: model, platform: system) }

    /// Controls, which the server refuses, are left out, and what is longer than it takes is cut. nil when there is nothing
    /// to send.
    var json: JSONValue? {
        var members: [String: JSONValue] = [:]
        members["name"] = sendable(name, maximumBytes: 128).map(JSONValue.string)
        members["platform"] = sendable(platform, maximumBytes: 64).map(JSONValue.string)
        return members.isEmpty ? nil : .object(members)
    }

    private static var system: String? {
        #if targetEnvironment(macCatalyst) || os(macOS)
            "macOS"
        #elseif os(iOS)
            "iOS"
        #elseif os(tvOS)
            "tvOS"
        #elseif os(watchOS)
            "watchOS"
        #elseif os(visionOS)
            "visionOS"
        #elseif os(Linux)
            "Linux"
        #else
            nil
        #endif
    }

    private static var model: String? {
        #if targetEnvironment(macCatalyst) || os(macOS)
            "Mac"
        #elseif canImport(Darwin)
            // `iPhone15,2`, `iPad14,1`; a simulator is that of a Mac, which says what it plays.
            let identifier = ProcessInfo.processInfo.environment["SIMULATOR_MODEL_IDENTIFIER"] ?? machine
            let kind = identifier.prefix { $0.isLetter }
            return kind.isEmpty ? nil : String(kind)
        #else
            nil
        #endif
    }

    #if canImport(Darwin)
        private static var machine: String {
            var names = utsname()
            guard uname(&names) == 0 else { return "" }
            return withUnsafeBytes(of: names.machine) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        }
    #endif
}

/// A text as the server takes it: without controls, outer spaces and what is too long; nil when nothing is left.
func sendable(_ text: String?, maximumBytes: Int) -> String? {
    // The joiners of Persian, Indic scripts and emoji are format characters, no controls.
    let scalars = (text ?? "").unicodeScalars.filter { $0.properties.generalCategory != .control }
    var text = String(String.UnicodeScalarView(scalars)).trimmingCharacters(in: .whitespaces)
    while text.utf8.count > maximumBytes { text.removeLast() }
    return text.isEmpty ? nil : text
}
