package import HTTPServer
import JSON

/// What the systems of phones fetch to know that an app belongs to this host: Apple's for universal links, Android's for
/// app links (sheet account-linking §11). JSON by a plain 200, without cookies or redirects.
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
        case .apple: writeApple(&writer)
        case .android: writeAndroid(&writer)
        }
        return writer.bytes
    }

    private func writeApple(_ writer: inout JSONWriter) {
        writer.beginObject()
        writer.name("applinks")
        writer.beginObject()
        writer.name("details")
        writer.beginArray()
        writer.beginObject()
        writer.strings("appIDs", appleAppIDs)
        writer.name("components")
        writer.beginArray()
        writer.beginObject()
        writer.member("/", path)
        writer.member("comment", "App Flip")
        writer.endObject()
        writer.endArray()
        writer.endObject()
        writer.endArray()
        writer.endObject()
        writer.endObject()
    }

    private func writeAndroid(_ writer: inout JSONWriter) {
        writer.beginArray()
        for app in androidApps {
            writer.beginObject()
            writer.strings("relation", ["delegate_permission/common.handle_all_urls"])
            writer.name("target")
            writer.beginObject()
            writer.member("namespace", "android_app")
            writer.member("package_name", app.package)
            writer.strings("sha256_cert_fingerprints", [app.fingerprint])
            writer.endObject()
            writer.endObject()
        }
        writer.endArray()
    }
}
