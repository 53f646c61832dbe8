// What the page leaves to the app.
import AuthenticationServices
import Foundation
import UIKit
