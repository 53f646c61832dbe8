import CCurl

/// libcurl as the system has it.
package enum CurlLibrary {
    /// The version of the library that is loaded, `7.88.1`.
    package static var version: String { unsafe String(cString: ccurl_version()) }
}
