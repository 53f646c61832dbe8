// What the page leaves to the app.
import Foundation
import UIKit

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif
