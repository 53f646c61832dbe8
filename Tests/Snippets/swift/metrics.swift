// What the page leaves to its reader.
import Metrics
