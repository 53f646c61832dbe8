// swift-tools-version: 6.2
import PackageDescription

// A package of its own: no target of ours depends on jwt-kit, which is only compared with.
let package = Package(
    name: "jwtkit-verify",
    platforms: [.macOS(.v13)],
    dependencies: [.package(url: "https://github.com/vapor/jwt-kit", from: "5.7.1")],
    targets: [
        .executableTarget(
            name: "jwtkit-verify", dependencies: [.product(name: "JWTKit", package: "jwt-kit")], path: "Sources")
    ]
)
