import AuthenticationServices
import Foundation
import UIKit

@MainActor @preconcurrency
public protocol View {
    associatedtype Body: View
    @ViewBuilder var body: Body { get }
}

extension Never: View {
    public var body: Never { fatalError() }
}

/// A view without a body of its own.
public protocol PrimitiveView: View where Body == Never {}

extension PrimitiveView {
    public var body: Never { fatalError() }
}

public struct EmptyView: PrimitiveView {}
public struct TupleView: PrimitiveView {}
public struct ConditionalView: PrimitiveView {}

extension Optional: View where Wrapped: View {
    public var body: Never { fatalError() }
}

@resultBuilder
public struct ViewBuilder {
    public static func buildExpression<Content: View>(_ content: Content) -> Content { content }
    public static func buildBlock() -> EmptyView { fatalError() }
    public static func buildBlock<Content: View>(_ content: Content) -> Content { content }
    public static func buildBlock<each Content: View>(_ content: repeat each Content) -> TupleView { fatalError() }
    public static func buildIf<Content: View>(_ content: Content?) -> Content? { content }
    public static func buildEither<Content: View>(first: Content) -> ConditionalView { fatalError() }
    public static func buildEither<Content: View>(second: Content) -> ConditionalView { fatalError() }
}

@MainActor @preconcurrency
public protocol Scene {
    associatedtype Body: Scene
    var body: Body { get }
}

extension Never: Scene {}

public struct WindowGroup<Content: View>: Scene {
    nonisolated public init(@ViewBuilder content: @MainActor () -> Content) { fatalError() }
    public var body: Never { fatalError() }
}

@MainActor @preconcurrency
public protocol App {
    associatedtype Body: Scene
    var body: Body { get }
    init()
}

extension App {
    public static func main() { fatalError() }
}

@propertyWrapper
public struct State<Value> {
    public init(wrappedValue: Value) { fatalError() }
    public init() where Value: ExpressibleByNilLiteral { fatalError() }
    public var wrappedValue: Value {
        get { fatalError() }
        nonmutating set { fatalError() }
    }
    public var projectedValue: Binding<Value> { fatalError() }
}

@propertyWrapper
public struct Environment<Value> {
    public init(_ keyPath: KeyPath<EnvironmentValues, Value>) { fatalError() }
    public var wrappedValue: Value { fatalError() }
}

public struct EnvironmentValues {
    public var scenePhase: ScenePhase { fatalError() }
}

public enum ScenePhase: Comparable, Hashable, Sendable {
    case background
    case inactive
    case active
}

@propertyWrapper
public struct Binding<Value> {
    public init(projectedValue: Binding<Value>) { fatalError() }
    public var wrappedValue: Value {
        get { fatalError() }
        nonmutating set { fatalError() }
    }
    public var projectedValue: Binding<Value> { self }
}

public struct Text: PrimitiveView {
    public init(_ content: String) { fatalError() }
}

public struct TextField: PrimitiveView {
    public init(_ title: String, text: Binding<String>) { fatalError() }
}

public struct ProgressView: PrimitiveView {
    public init() { fatalError() }
}

public struct Button: PrimitiveView {
    public init(_ title: String, action: @escaping @MainActor () -> Void) { fatalError() }
}

public struct VStack<Content: View>: PrimitiveView {
    public init(spacing: Double? = nil, @ViewBuilder content: () -> Content) { fatalError() }
}

public struct List<Content: View>: PrimitiveView {
    public init(@ViewBuilder content: () -> Content) { fatalError() }
}

public struct ForEach<Data: RandomAccessCollection, Content: View>: PrimitiveView where Data.Element: Identifiable {
    public init(_ data: Data, @ViewBuilder content: @escaping (Data.Element) -> Content) { fatalError() }
}

public struct SignInWithAppleButton: PrimitiveView {
    public struct Label: Sendable {
        public static let signIn = Self()
    }

    public init(
        _ label: Label, onRequest: @escaping (ASAuthorizationAppleIDRequest) -> Void,
        onCompletion: @escaping (Result<ASAuthorization, any Error>) -> Void
    ) { fatalError() }
}

extension View {
    public func task(@_inheritActorContext _ action: @escaping @isolated(any) @Sendable () async -> Void) -> some View {
        self
    }
    public func task(
        id: some Equatable, @_inheritActorContext _ action: @escaping @isolated(any) @Sendable () async -> Void
    ) -> some View { self }
    public func onChange<V: Equatable>(of value: V, perform action: @escaping (V) -> Void) -> some View { self }
    public func id(_ id: some Hashable) -> some View { self }
    public func frame(height: Double? = nil) -> some View { self }
    public func padding() -> some View { self }
    public func disabled(_ disabled: Bool) -> some View { self }
    public func onOpenURL(perform action: @escaping (URL) -> Void) -> some View { self }
    public func onContinueUserActivity(_ type: String, perform action: @escaping (NSUserActivity) -> Void) -> some View
    {
        self
    }
    public func sheet<Item: Identifiable, Content: View>(
        item: Binding<Item?>, onDismiss: (() -> Void)? = nil, @ViewBuilder content: @escaping (Item) -> Content
    ) -> some View { self }
}
