import Accounts

/// The browser of our own pages, as it stands in the list of devices.
extension Device {
    static let browserPlatform = "web"

    /// - Parameter userAgent: the request's `User-Agent` (RFC 9110 §10.1.5), which a browser fills with the names of others
    ///   that it is compatible with. Of a name that is not among the usual ones nothing is kept.
    static func browser(userAgent: String?) -> Device {
        let userAgent = userAgent ?? ""
        let product = name(in: userAgent, of: products)
        let system = name(in: userAgent, of: systems)
        let name = product.flatMap { product in system.map { "\(product) (\($0))" } } ?? product ?? system
        return Device(name: name, platform: browserPlatform)
    }

    private static func name(in userAgent: String, of names: [(mark: String, name: String)]) -> String? {
        names.first { userAgent.contains($0.mark) }?.name
    }

    /// One whose mark others carry stands behind them.
    private static let products: [(mark: String, name: String)] = [
        ("Edg/", "Edge"), ("EdgA/", "Edge"), ("EdgiOS/", "Edge"), ("OPR/", "Opera"),
        ("SamsungBrowser/", "Samsung Internet"),
        ("Firefox/", "Firefox"), ("FxiOS/", "Firefox"), ("CriOS/", "Chrome"), ("Chrome/", "Chrome"),
        ("Safari/", "Safari"),
    ]

    private static let systems: [(mark: String, name: String)] = [
        ("iPhone", "iPhone"), ("iPad", "iPad"), ("Android", "Android"), ("CrOS", "ChromeOS"), ("Windows", "Windows"),
        ("Macintosh", "macOS"), ("Linux", "Linux"),
    ]
}
