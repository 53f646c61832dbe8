/// The program that calls: kept with the session, named in the log.
package struct Caller: Sendable {
    package let requestID: String
    /// The network address as text.
    package let address: String?
    /// The IPv4 /24 or IPv6 /64 of the address: what one party usually has to itself.
    package let network: Network?
    /// The IPv4 /16 or IPv6 /48 of the address: what one party can have all of.
    package let wideNetwork: Network?
    package let device: Device?
    /// The languages that the client asks for, preferred ones first: tags in lower case (RFC 5646).
    package let languages: [String]

    package init(
        requestID: String, address: String?, network: Network? = nil, wideNetwork: Network? = nil, device: Device?,
        languages: [String] = []
    ) {
        self.requestID = requestID
        self.address = address
        self.network = network
        self.wideNetwork = wideNetwork
        self.device = device
        self.languages = languages
    }

    /// A command or a worker of this machine.
    package static let local = Caller(requestID: "", address: nil, device: nil)

    /// The same caller, who asks for these languages before any other.
    package func preferring(_ languages: [String]) -> Caller {
        Caller(
            requestID: requestID, address: address, network: network, wideNetwork: wideNetwork, device: device,
            languages: languages + self.languages)
    }

    /// The same caller, with the device that an earlier request named.
    func with(_ device: Device?) -> Caller {
        Caller(
            requestID: requestID, address: address, network: network, wideNetwork: wideNetwork,
            device: self.device ?? device, languages: languages)
    }
}
