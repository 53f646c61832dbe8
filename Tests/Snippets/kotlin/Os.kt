package android.os

class Bundle

class Build {
    companion object {
        @JvmField val MODEL: String = TODO()
    }
}
