import Curl
import OpenSSL
import Postgres
import Version

extension ProgramVersion {
    /// What `--version` prints: this program, how it was built, and the libraries that it found on this machine.
    static var description: String {
        """
        countersign \(number)
        commit \(commit)
        Swift \(swift)
        OpenSSL \(OpenSSLLibrary.version)
        libcurl \(CurlLibrary.version)
        libpq \(Database.libraryVersion)
        """
    }
}
