#if canImport(AuthenticationServices) && !os(tvOS) && !os(watchOS)
    import AuthenticationServices
    import Foundation

    /// The window over which the browser appears, as the Objective-C protocol asks for it.
    @MainActor
    final class PresentationAnchor: NSObject, ASWebAuthenticationPresentationContextProviding {
        private let anchor: ASPresentationAnchor

        init(_ anchor: ASPresentationAnchor) {
            self.anchor = anchor
            super.init()
        }

        func presentationAnchor(for session: ASWebAuthenticationSession) -> ASPresentationAnchor { anchor }
    }
#endif
