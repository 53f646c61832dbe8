@file:Suppress("UNUSED_PARAMETER", "unused")

package android.util

object Base64 {
    const val NO_PADDING = 1
    const val NO_WRAP = 2
    const val URL_SAFE = 8

    @JvmStatic fun encodeToString(input: ByteArray, flags: Int): String = TODO()
}
