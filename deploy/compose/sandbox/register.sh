# Registers with the sandbox what Apple's and Google's consoles would know of the service: the key that signs its client
# secrets, its Services ID, its web client. Run by bash in the image of PostgreSQL, which has no curl.
set -euo pipefail

control() { # control PATH JSON
    local status
    exec 3<>/dev/tcp/sandbox/8090
    printf 'POST /control/%s HTTP/1.1\r\nHost: sandbox\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s' \
        "$1" "${#2}" "$2" >&3
    read -r _ status _ <&3
    exec 3>&-
    echo "$1: $status"
    [[ $status == 2* ]]
}

key=$(openssl pkey -in /secrets/service/apple.p8 -pubout)
control apple/teams "{\"teamId\":\"SANDBOX001\",\"keyId\":\"COMPOSE001\",\"publicKey\":\"${key//$'\n'/\\n}\"}"
control apple/clients '{"clientId":"com.example.lamp.web","redirectUris":["http://127.0.0.1:8080/web/callback/apple"]}'
control google/clients '{"clientId":"lamp-web.apps.googleusercontent.com","clientSecret":"sandbox","redirectUris":["http://127.0.0.1:8080/web/callback/google"]}'
