// swift-format-ignore-file: AlwaysUseLowerCamelCase

import Foundation

@MainActor
open class UIWindow: NSObject {
    open var isKeyWindow: Bool { fatalError() }
}

@MainActor
open class UIViewController: NSObject {}

@MainActor
open class UIScene: NSObject {}

@MainActor
open class UIWindowScene: UIScene {
    open var windows: [UIWindow] { fatalError() }
}

@MainActor
open class UIApplication: NSObject {
    public struct OpenExternalURLOptionsKey: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public static let universalLinksOnly = Self(rawValue: "")
    }

    open class var shared: UIApplication { fatalError() }
    open var connectedScenes: Set<UIScene> { fatalError() }
    @discardableResult
    open func open(_ url: URL, options: [OpenExternalURLOptionsKey: Any] = [:]) async -> Bool { fatalError() }
}

/// Foundation's, on Apple's systems, as what follows.
extension NotificationCenter {
    public func notifications(named name: Notification.Name) -> AsyncStream<Notification> { fatalError() }
}

public let NSUserActivityTypeBrowsingWeb = ""

open class NSUserActivity: NSObject {
    open var webpageURL: URL?
}
