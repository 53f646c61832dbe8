package import HTTPServer
import JSON

/// What the systems of phones fetch to know that an app belongs to this host: Apple's for universal links, Android's for
/// app links (sheet account-linking §11). JSON by a plain 200, without cookies or redirects.
package struct AssociationFiles: Sendable {
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
    let appleAppIDs: [String]
    let androidApps: [AndroidApp]
    /// The path of the links that the apps open.
    let path: String

    package init(appleAppIDs: [String], androidApps: [AndroidApp], path: String) {
        self.appleAppIDs = appleAppIDs
        self.androidApps = androidApps
        self.path = path
    }

    package var routes: [Route] {
        [
            Route(.get, "/.well-known/apple-app-site-association", priority: .observing) { _ in
                .json(caching: .shared(seconds: Self.cachedSeconds)) { writer in
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
                }
            },
            Route(.get, "/.well-known/assetlinks.json", priority: .observing) { _ in
                var writer = JSONWriter()
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
                return Response(
                    .ok, contentType: "application/json", body: writer.bytes,
                    caching: .shared(seconds: Self.cachedSeconds))
            },
        ]
    }
}
