// swift-tools-version: 6.2
import PackageDescription

// A package of its own: nothing of ours depends on jwt-kit, it is only measured against.
let package = Package(
    name: "jwtkit-verify",
    platforms: [.macOS(.v13)],
    dependencies: [.package(url: "https://github.com/vapor/jwt-kit", from: "5.7.1")],
    targets: [
        .executableTarget(
            name: "jwtkit-verify", dependencies: [.product(name: "JWTKit", package: "jwt-kit")], path: "Sources")
    ]
)
