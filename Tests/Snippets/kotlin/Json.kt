@file:Suppress("UNUSED_PARAMETER", "unused")

package org.json

class JSONObject() {
    constructor(json: String) : this()

    fun put(name: String, value: Any?): JSONObject = TODO()
    fun putOpt(name: String?, value: Any?): JSONObject = TODO()
    fun getString(name: String): String = TODO()
    fun getInt(name: String): Int = TODO()
    fun getJSONObject(name: String): JSONObject = TODO()
    fun getJSONArray(name: String): JSONArray = TODO()
    fun has(name: String?): Boolean = TODO()
    fun optJSONObject(name: String?): JSONObject? = TODO()
    fun optJSONArray(name: String?): JSONArray? = TODO()
}

class JSONException(message: String?) : Exception(message)

class JSONArray {
    fun length(): Int = TODO()
    fun getString(index: Int): String = TODO()
    fun getJSONObject(index: Int): JSONObject = TODO()
}
