package import HTTPServer
import JSON

/// What the systems of phones fetch to know that an app belongs to this host: Apple's for universal links, Android's for
/// app links (docs/account-linking.md, "Setting it up"). JSON by a plain 200, without cookies or redirects.
package struct AssociationFiles: Sendable {
    /// A file; the raw value is its path.
    package enum File: String, CaseIterable, Sendable {
        case apple = "/.well-known/apple-app-site-association"
        case android = "/.well-known/assetlinks.json"
    }

    /// An Android app: its package, and the SHA-256 fingerprint of the certificate that it is signed with.
    package struct AndroidApp: Hashable, Sendable {
        package let package: String
        /// Upper-case hex pairs with colons.
        package let fingerprint: String

        package init(package: String, fingerprint: String) {
            self.package = package
            self.fingerprint = fingerprint
        }
    }

    /// Seconds.
    private static let cachedSeconds = 3_600

    /// `TEAM.bundle`.
    package let appleAppIDs: [String]
    package let androidApps: [AndroidApp]
    /// The path of the links that the apps open.
    package let path: String

    package init(appleAppIDs: [String], androidApps: [AndroidApp], path: String) {
        self.appleAppIDs = appleAppIDs
        self.androidApps = androidApps
        self.path = path
    }

    package var routes: [Route] {
        [
            Route(.get, "/.well-known/apple-app-site-association", priority: .observing) { _ in response(with: .apple)
            },
            Route(.get, "/.well-known/assetlinks.json", priority: .observing) { _ in response(with: .android) },
        ]
    }

    private func response(with file: File) -> Response {
        Response(
            .ok, contentType: "application/json", body: content(of: file),
            caching: .shared(seconds: Self.cachedSeconds))
    }

    /// The JSON of a file.
    package func content(of file: File) -> [UInt8] {
        var writer = JSONWriter()
        switch file {
        case .apple: writer.object { $0.object("applinks", writeApple) }
        case .android: writer.array(writeAndroid)
        }
        return writer.bytes
    }

    private func writeApple(_ writer: inout JSONWriter) {
        writer.objects("details", of: CollectionOfOne(path)) { path, details in
            details.member("appIDs", appleAppIDs)
            details.objects("components", of: CollectionOfOne(path)) { path, component in
                component.member("/", path)
                component.member("comment", "App Flip")
            }
        }
    }

    private func writeAndroid(_ writer: inout JSONWriter) {
        for app in androidApps {
            writer.object { statement in
                statement.member("relation", ["delegate_permission/common.handle_all_urls"])
                statement.object("target") { target in
                    target.member("namespace", "android_app")
                    target.member("package_name", app.package)
                    target.member("sha256_cert_fingerprints", [app.fingerprint])
                }
            }
        }
    }
}
