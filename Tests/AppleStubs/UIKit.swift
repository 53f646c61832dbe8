// swift-format-ignore-file: AlwaysUseLowerCamelCase

import Foundation

@MainActor
open class UIWindow: NSObject {
    open var isKeyWindow: Bool { fatalError() }
}

@MainActor
open class UIResponder: NSObject {}

@MainActor
open class UIViewController: UIResponder {}

@MainActor
open class UIScene: UIResponder {
    @MainActor
    open class ConnectionOptions: NSObject {
        open var userActivities: Set<NSUserActivity> { fatalError() }
    }
}

@MainActor
open class UISceneSession: NSObject {}

/// Each method is optional.
@MainActor
public protocol UISceneDelegate: NSObjectProtocol {
    func scene(
        _ scene: UIScene, willConnectTo session: UISceneSession, options connectionOptions: UIScene.ConnectionOptions)
    func scene(_ scene: UIScene, continue userActivity: NSUserActivity)
}

extension UISceneDelegate {
    public func scene(
        _ scene: UIScene, willConnectTo session: UISceneSession, options connectionOptions: UIScene.ConnectionOptions
    ) {}
    public func scene(_ scene: UIScene, continue userActivity: NSUserActivity) {}
}

@MainActor
public protocol UIWindowSceneDelegate: UISceneDelegate {}

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
    open var isProtectedDataAvailable: Bool { fatalError() }
    @discardableResult
    open func open(_ url: URL, options: [OpenExternalURLOptionsKey: Any] = [:]) async -> Bool { fatalError() }
}

/// Foundation's, on Apple's systems, as what follows.
extension NotificationCenter {
    public func notifications(named name: Notification.Name) -> AsyncStream<Notification> { fatalError() }
}

public let NSUserActivityTypeBrowsingWeb = ""

open class NSUserActivity: NSObject {
    open var activityType: String { fatalError() }
    open var webpageURL: URL?
}
